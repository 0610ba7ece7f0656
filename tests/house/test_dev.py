"""dev.py does what its help says: checks by name, and what it does not know is said before any work."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest


def test_checks_that_are_named_are_run_alone(dev: ModuleType, capfd: Any) -> None:
    if sys.prefix != str(dev.VENV):
        pytest.skip("dev.py would make its environment anew, by this Python: run dev.py test")
    assert dev.main(["check", "lint"]) == 0
    out = capfd.readouterr().out
    assert "-- ruff check ." in out and out.endswith("check passed: lint\n")
    assert not any(other in out for other in ("-- ruff format", "-- mypy", "-- python"))


@pytest.mark.parametrize("wrong", [["tpyes"], ["types", "tpyes"], ["types", "-k", "keys"]])
def test_a_check_that_does_not_exist_is_refused_before_any_is_run(
    dev: ModuleType, wrong: list[str], capfd: Any
) -> None:
    with pytest.raises(dev.Failed, match="check does not know") as refused:
        dev.main(["check", *wrong])
    assert refused.value.remedy == "name checks of format, lint, types, house, soak"
    assert capfd.readouterr().out == ""
