"""What of a function's arguments is compared by meaning: settled at decoration, never by value. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from ...errors import ConfigurationError

MEANINGFUL = ("question", "query", "prompt", "text", "input")
"""Parameter names that are compared by meaning, in this order, after `messages`."""


def compared(
    function: str,
    candidates: list[str],
    named: Mapping[str, inspect.Parameter],
    text: str | Callable[..., str] | None,
    extra: bool,
    required: bool,
) -> str | Callable[..., str] | None:
    """The parameter, or the function of the arguments, that gives the text; None if nothing is.

    `candidates` are the parameters that count, `named` all that have names, `extra` whether others are taken, too.
    Raises ConfigurationError for a parameter that is not there, and where `required` and the parameters do not say.
    """
    if text is not None:
        if isinstance(text, str) and text not in candidates and not extra:
            raise ConfigurationError(
                "text", text, f"{function} has no such parameter; it has {', '.join(named)}"
            )
        return text
    if "messages" in candidates or (extra and not candidates):
        return "messages"
    for name in MEANINGFUL:
        if name in candidates:
            other = next((n for n in ("text", "input") if name == "prompt" and n in candidates), None)
            if required and other:  # an instruction reworded must not be answered with the old one's answers
                remedy = f"{function} has prompt and {other}: say by text='{other}' which one is compared by meaning"
                raise ConfigurationError("text", None, remedy)
            return name
    strings = [n for n in candidates if named[n].annotation in (str, "str") and "model" not in n.lower()]
    if len(strings) == 1 and not extra:  # where other keywords are taken, the text may be one of them
        return strings[0]
    if required and candidates:
        raise ConfigurationError(
            "text", None,
            f"{function}({', '.join(candidates)}) does not say what is compared by meaning: give text='name' "
            "(or a function of the arguments), or semantic=False for exact caching only",
        )  # fmt: skip
    return None
