"""Policy and Budgets take durations in every form, and a type checker knows a wrong one."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from cachelayer.policy import Policy, Tightening

assert_type(Policy(ttl="1h", max_error_rate=0.01), Policy)
assert_type(Policy(ttl=timedelta(hours=1)).override(ttl=60), Policy)
assert_type(Tightening().and_(no_store=True), Tightening)

Policy(ttl=b"1h")  # type: ignore[arg-type]
Policy("1h")  # type: ignore[call-arg]
Policy(time_to_live=1)  # type: ignore[call-arg]
Policy().ttl = 5  # type: ignore[misc]
