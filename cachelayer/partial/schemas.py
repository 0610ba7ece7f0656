"""Arguments of tool calls in canonical form, by the tool's JSON schema: what means the same becomes the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

_DEFINED = "#/$defs/"
REFERENCES = 16
"""Of one to another, one after the other; those that go round in a ring say nothing."""

EXACT = 2**53
"""Up to here each whole number is a float; beyond it two may be one, and in the end none."""


def canonical(value: Any, schema: Mapping[str, Any] | None, root: Mapping[str, Any] | None = None) -> Any:
    """`value` with defaults filled in, nulls left out that are the default, whole numbers as the schema counts, sets
    sorted.

    Understood are `properties`, `default`, `required`, `type`, `items`, `uniqueItems`, `$ref`, `anyOf` with null (JSON
    Schema 2020-12). What a schema does not describe is taken as it is.
    """
    root = schema if root is None else root
    schema = _resolved(schema or {}, root or {})
    kinds = schema.get("type")
    if isinstance(value, Mapping) and "properties" in schema:
        return _object(value, schema, root)
    if isinstance(value, list | tuple) and kinds == "array":
        items = [canonical(one, schema.get("items"), root) for one in value]
        return sorted(items, key=_order) if schema.get("uniqueItems") else items
    if isinstance(value, bool):
        return value
    if kinds == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kinds == "number" and isinstance(value, int) and abs(value) <= EXACT:
        return float(value)
    return value


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Any) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    out = {}
    for name, given in value.items():
        if (
            given is None
            and name not in required
            and name in properties
            and not _null_matters(properties[name], root)
        ):
            continue
        out[name] = canonical(given, properties.get(name), root)
    for name, property_schema in properties.items():
        property_schema = _resolved(property_schema, root or {})
        if name not in out and property_schema.get("default") is not None:
            out[name] = canonical(property_schema["default"], property_schema, root)
    return out


def _null_matters(schema: Any, root: Any) -> bool:
    """Whether null may say something that leaving the property out does not.

    So it does where it is not the default, and may stand there. A schema without a default says nothing of what the
    tool takes for one.
    """
    steps = list(_steps(schema, root or {}))
    given = [step["default"] for step in (*steps, _resolved(schema, root or {})) if "default" in step]
    allowed = [
        one for step in steps for field in ("anyOf", "type", "enum") for one in _listed(step.get(field))
    ]
    if not given:
        return True
    return given[0] is not None and any(one in ("null", {"type": "null"}, None) for one in allowed)


def _steps(schema: Any, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and what it refers to, which keeps what stands beside its reference: a default, say."""
    for _ in range(REFERENCES):
        if not isinstance(schema, Mapping):
            return
        yield schema
        schema = _referred(schema, root)


def _referred(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """What its `$ref` into `$defs` leads to, {} if to nothing; None without one."""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith(_DEFINED):
        return None
    return root.get("$defs", {}).get(ref.removeprefix(_DEFINED)) or {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without indirection: `$ref` into `$defs`, and the one choice beside null."""
    for _ in range(REFERENCES):
        if not isinstance(schema, Mapping):
            break
        referred, choices = _referred(schema, root), schema.get("anyOf")
        if referred is not None:
            schema = referred
        elif isinstance(choices, list):
            some = [one for one in choices if isinstance(one, Mapping) and one.get("type") != "null"]
            if len(some) != 1:
                return schema
            schema = {**{k: v for k, v in schema.items() if k != "anyOf"}, **some[0]}
        else:
            return schema
    return {}


def _order(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
