"""Settings in the environment: CACHELAYER_SERVER__PORT=9000 and the like; two underscores stand for the dot."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from .parts import LISTS, SECTIONS

PREFIX = "CACHELAYER_"
_NEIGHBOURS = ("tcp://", "udp://", "sctp://")
"""What begins so tells of a service called as we are: Kubernetes sets CACHELAYER_SERVER_PORT=tcp://10.0.0.1:80."""


def toml(text: str) -> dict[str, Any]:
    """What TOML says. Raises ValueError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("holds too long a number, or lists too deep in others, to be read") from None


def known(environment: Mapping[str, str]) -> Iterator[tuple[str, list[str], Any]]:
    """The settings in the environment: variable, name, value."""
    for variable, text in sorted(environment.items(), key=_counted):
        if variable == f"{PREFIX}SECRET":
            yield variable, ["cache", "secret"], text
        elif variable.startswith(PREFIX) and "__" in (name := variable.removeprefix(PREFIX).lower()):
            parts = name.split("__")
            yield variable, parts, _value(parts, text)


def _counted(item: tuple[str, str]) -> list[tuple[int, str]]:
    """In the order in which lists grow: 10 after 9."""
    return [(len(part) if part.isdecimal() else 0, part) for part in item[0].split("__")]


def _value(name: list[str], text: str) -> Any:
    """What a variable says, as TOML has it; what is to be a text may stand there bare, whatever it looks like."""
    try:
        value = toml(f"x = {text}")["x"]
    except ValueError:
        return text
    part: Any = SECTIONS.get(name[0]) or LISTS.get(name[0])
    wants_text = part is not None and any(f.name == name[-1] and f.type == "str" for f in fields(part))
    return text if wants_text and not isinstance(value, str) else value


def meant(variable: str, text: str) -> str:
    """The setting that a variable almost names: CACHELAYER_SERVER__PORT for CACHELAYER_SERVER_PORT; "" for none."""
    name = variable.removeprefix(PREFIX).lower()
    if name in ("secret", variable.lower()) or "__" in name or text.startswith(_NEIGHBOURS):
        return ""
    name = name.lstrip("_").removesuffix("_file")  # of a file that holds it, as images of databases have it
    for section, part in SECTIONS.items():
        for field in fields(part):
            if name in (field.name, f"{section}_{field.name}"):
                return f"{PREFIX}{section}__{field.name}".upper()
    for section, part in LISTS.items():
        names = [field.name for field in fields(part)]
        if found := re.fullmatch(rf"{section}(?:_?(\d+))?(?:_({'|'.join(names)}))?", name):
            return f"{PREFIX}{section}__{found[1] or 0}__{found[2] or names[0]}".upper()
    return ""
