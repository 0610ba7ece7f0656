"""The message about an argument that cannot be part of a key: which, why, and what to do. Pure."""

from __future__ import annotations

from typing import Any

from ..answers.kinds import like_array
from .canonical import NotKeyable, is_read

_HOLDERS = (dict, list, tuple, set, frozenset)


def unkeyable(name: str, value: Any, fault: Exception) -> NotKeyable:
    """The fault that names the argument; `fault` names a class, of `value` or of something in it.

    `name` is a parameter's, an option's with `=`, or an attribute's with `self.`.
    """
    kind = fault.kind if isinstance(fault, NotKeyable) else None
    what = fault.args[0] if isinstance(fault, NotKeyable) else "nested too deeply"
    if kind is not None and type(value) in _HOLDERS:
        what = f"a {type(value).__name__} that holds {what}"
    if name.endswith("="):
        return NotKeyable(f"what {name} returns cannot be part of a key ({what}): return plain values")
    if name.startswith("self."):
        return NotKeyable(
            f"{name} cannot be part of a key ({what}): let self_key= name or return plain values"
        )
    ignored = (
        "" if name.startswith("*") else f"name it in ignore=[{name!r}] if it does not change the answer, or "
    )
    return NotKeyable(
        f"argument {name!r} cannot be part of a key ({what}): {_instead(kind)}{ignored}"
        "give key=, a function of all arguments whose result tells calls apart"
    )


def _instead(kind: type | None) -> str:
    """What to pass instead of an object that is often passed by mistake."""
    if hasattr(kind, "__await__"):
        return "await it first and pass the result; else "
    if hasattr(kind, "read") and hasattr(kind, "seek"):
        return "pass its path, or what it reads; else "
    if hasattr(kind, "read") or is_read(kind):
        return (
            "pass the parts on which the answer depends (of a request its path, query and body, say); else "
        )
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        return "pass a list of what it yields; else "
    if like_array(kind):
        return "pass what numpy.asarray makes of it; else "
    return ""
