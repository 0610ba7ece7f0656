"""Arguments of tool calls in canonical form, by the tool's JSON schema: what means the same becomes the same. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson


def canonical(value: Any, schema: Mapping[str, Any] | None, root: Mapping[str, Any] | None = None) -> Any:
    """`value` with defaults filled in, absent optionals left out, whole numbers as the schema counts, sets sorted.

    Understood are `properties`, `default`, `required`, `type`, `items`, `uniqueItems`, `$ref`, `anyOf` with null (JSON
    Schema 2020-12). What a schema does not describe is taken as it is.
    """
    root = schema if root is None else root
    schema = _resolved(schema or {}, root or {})
    kinds = schema.get("type")
    if isinstance(value, Mapping) and (kinds == "object" or "properties" in schema):
        return _object(value, schema, root)
    if isinstance(value, list | tuple) and kinds == "array":
        items = [canonical(one, schema.get("items"), root) for one in value]
        return sorted(items, key=_order) if schema.get("uniqueItems") else items
    if isinstance(value, bool):
        return value
    if kinds == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kinds == "number" and isinstance(value, int):
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
    """Whether null says something that leaving the property out does not: it may be null, but is not by default."""
    default = _resolved(schema, root or {}).get("default")
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    choices = schema.get("anyOf") if isinstance(schema, Mapping) else None
    allowed = choices if isinstance(choices, list) else kinds if isinstance(kinds, list) else ()
    return default is not None and ("null" in allowed or {"type": "null"} in allowed)


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without indirection: `$ref` into `$defs`, and the one choice beside null."""
    seen = 0
    while isinstance(schema, Mapping) and seen < 16:
        seen += 1
        ref, choices = schema.get("$ref"), schema.get("anyOf")
        if isinstance(ref, str) and ref.startswith("#/$defs/"):
            schema = root.get("$defs", {}).get(ref.removeprefix("#/$defs/"), {})
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
