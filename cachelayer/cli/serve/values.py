"""One value of the kind that its field in `parts` has."""

from __future__ import annotations

import json
import re
from typing import Any

from ...durations import seconds
from ...errors import ConfigurationError

_KINDS = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false",
    "list[str]": 'a list of strings, such as ["a", "b"]',
}  # fmt: skip


def checked(name: str, spec: Any, value: Any) -> Any:
    """What a setting becomes. Raises ConfigurationError."""
    meta, kind = spec.metadata, str(spec.type)
    if meta.get("duration"):
        return seconds(name, value, zero=meta.get("zero", True))
    plain: Any = {"int": int, "float": float, "str": str, "bool": bool, "list[str]": list}[kind]
    if "one_of" in meta and value not in meta["one_of"]:
        raise ConfigurationError(name, value, f"give one of {', '.join(map(json.dumps, meta['one_of']))}")
    if plain is float and type(value) is int:
        plain = int
    if type(value) is not plain or (kind == "list[str]" and not _texts(value)):
        shown = "..." if meta.get("secret") else value
        raise ConfigurationError(name, shown, f"give {_KINDS[kind]}")
    least, most = meta.get("least"), meta.get("most")
    if not ((least is None or value >= least) and (most is None or value <= most)):
        limits = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise ConfigurationError(name, value, f"give a number {limits}")
    texts: Any = value if plain is list else [value] if plain is str else []
    for one in texts:
        _check_text(name, spec, one)
    return float(value) if kind == "float" else value


def _check_text(name: str, spec: Any, one: str) -> None:
    """Whether it has the form that it must have; the default need have none."""
    meta = spec.metadata
    if re.search("[\ud800-\udfff]", one):  # as bytes of a variable or a flag are read that are no UTF-8
        raise ConfigurationError(name, "...", "give text in UTF-8")
    if "match" in meta and one != spec.default and not re.fullmatch(meta["match"], one):
        raise ConfigurationError(name, "..." if meta.get("secret") else one, f"give {meta['form']}")


def _texts(value: Any) -> bool:
    return all(isinstance(one, str) for one in value)
