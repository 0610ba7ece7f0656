"""The gateway's settings: TOML, environment over it, flags over both; a mistake is named with its file and line."""

from __future__ import annotations

import hashlib
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...errors import CacheLayerError, ConfigurationError
from ...exact.redis.url import parse, redacted, shown
from ...flow.certificates import locked
from ..chats import KEY
from .parts import LISTS, SECTIONS, Config, ServerPart, UpstreamPart
from .places import Places
from .values import checked
from .variables import PREFIX, known, meant, toml

T = TypeVar("T")


class ConfigFault(CacheLayerError):
    """A setting that cannot work: where it stands, its value, and the remedy."""


def load(path: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """The settings of a file (None: defaults), the environment and the flags. Raises ConfigFault."""
    text, where = "", "flags"
    raw: dict[str, Any] = {}
    if path is not None:
        where = str(path)
        try:
            text = path.read_text("utf-8-sig")
            raw = toml(text)
        except OSError as fault:
            raise ConfigFault(f"{path}: {fault.strerror}; give --config a file that can be read") from None
        except UnicodeDecodeError as fault:
            raise ConfigFault(f"{path}: not UTF-8 at byte {fault.start}; write it as UTF-8") from None
        except ValueError as fault:
            raise ConfigFault(f"{path}: {fault}") from None
    places = Places(where, text)
    for variable, value in environment.items():
        if meant_setting := meant(variable, value):
            raise ConfigFault(f"{variable}: there is no such setting; write {meant_setting}")
    for variable, name, value in known(environment):
        _put(raw, name, value, variable, places)
    for dotted, value in flags.items():
        _put(raw, dotted.split("."), value, f"--{dotted.split('.')[-1].replace('_', '-')}", places)
    return build(raw, places)


def _put(raw: dict[str, Any], name: list[str], value: Any, source: str, places: Places) -> None:
    if len(name) == 1:  # a whole list, from a flag
        raw[name[0]] = value
        places.named |= {f"{name[0]}.{i}.{key}": source for i, part in enumerate(value) for key in part}
        return
    places.named[".".join(name)] = source
    here: Any = raw
    for at, part in enumerate(name[:-1]):
        if isinstance(here, list):
            if part not in map(str, range(len(here) + 1)):
                raise ConfigFault(
                    f"{source}: there is no {'.'.join(name[: at + 1])}; {_listed(name, len(here))}"
                )
            if int(part) == len(here):
                here.append({})
            here = here[int(part)]
        elif isinstance(here, dict):
            here = here.setdefault(part, [] if part in LISTS else {})
    if isinstance(here, list):
        raise ConfigFault(f"{source}: which {name[0]}? {_listed(name, 0)}")
    if not isinstance(here, dict):
        raise ConfigFault(f"{source}: {'.'.join(name[:-1])} is not a section")
    here[name[-1]] = value


def _listed(name: list[str], at: int) -> str:
    last = fields(LISTS[name[0]])[0].name if name[-1].isdecimal() else name[-1]
    return f"write {PREFIX}{name[0].upper()}__{at}__{last.upper()}"


def build(raw: Mapping[str, Any], places: Places) -> Config:
    """Check everything. Raises ConfigFault naming place, value and remedy."""
    made: dict[str, Any] = {}
    for name, value in raw.items():
        if name in SECTIONS and isinstance(value, dict):
            made[name] = _part(SECTIONS[name], value, name, places)
        elif name in LISTS and isinstance(value, list):
            made[name] = [_part(LISTS[name], v, f"{name}.{i}", places) for i, v in enumerate(value)]
        else:
            forms = {**{n: f"[{n}]" for n in SECTIONS}, **{n: f"[[{n}]]" for n in LISTS}}
            remedy = f"write {forms[name]}" if name in forms else f"known are {', '.join(forms.values())}"
            within = [f"[{n}]" for n, part in SECTIONS.items() if name in (f.name for f in fields(part))]
            if within and not isinstance(value, dict):
                raise ConfigFault(
                    f"{places.of(name)}: {name} stands in no section; write it below {within[0]}"
                )
            raise ConfigFault(f"{places.of(name)}: unknown section {name!r}; {remedy}")
    config = Config(**made)
    _check_whole(config, places)
    return config


def _part(cls: type[T], given: Any, path: str, places: Places) -> T:
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(given, dict):
        whole = path.partition(".")[0]
        raise ConfigFault(
            f"{places.of(path)}: {path} is not a table; write [[{whole}]] and its settings below it"
        )
    made = {}
    for name, value in given.items():
        if name not in known:
            raise ConfigFault(
                f"{places.of(f'{path}.{name}')}: unknown setting {path}.{name}; known are {', '.join(known)}"
            )
        try:
            made[name] = checked(f"{path}.{name}", known[name], value)
        except ConfigurationError as fault:
            raise ConfigFault(f"{places.of(f'{path}.{name}')}: {fault}") from None
    for name, spec in known.items():
        if name not in made and spec.default is MISSING and spec.default_factory is MISSING:
            raise ConfigFault(f"{places.of(path)}: {path} lacks {name}")
    return cls(**made)


def _check_whole(config: Config, places: Places) -> None:
    """What only several settings together tell."""
    if not config.upstream:
        raise ConfigFault(
            f"{places.of('upstream')}: no upstream; give --upstream URL, or --config FILE with [[upstream]] url = ..."
        )
    for i, one in enumerate(config.upstream):
        _check_upstream(f"upstream.{i}", one, config.upstream[0], places)
    if len({one.url.partition(":")[0] in ("http", "https") for one in config.upstream}) > 1:
        raise ConfigFault(f"{places.of('upstream')}: http and model-server upstreams cannot be mixed")
    _check_tls(config.server, places)
    _check_keys(config, places)
    _check_sharing(config, places)


def _check_sharing(config: Config, places: Places) -> None:
    """Redis, and the secret that all who share it need."""
    secret, redis = config.cache.secret, config.cache.redis
    if secret and len(secret.encode()) < 16:
        raise ConfigFault(
            f"{places.of('cache.secret')}: cache.secret is too short; give 16 characters or more"
        )
    if not redis:
        return
    try:
        parse(redis)
    except ConfigurationError as fault:
        raise ConfigFault(f"{places.of('cache.redis')}: cache.redis: {fault}") from None
    if not (secret or config.key or config.callers.principal_header):
        raise ConfigFault(
            f"{places.of('cache.redis')}: processes that share a Redis need one cache.secret (or CACHELAYER_SECRET) of "
            "16 characters or more"
        )


_FOR = {
    "models": "http", "key_env": "http", "key_header": "http", "connect_timeout": "http", "read_timeout": "http",
    "tls_ca": "https", "template": "triton", "unknown_finish": "triton",
}  # fmt: skip
"""How the URLs begin for which a setting means something."""
_PLAIN = UpstreamPart(url="")


def _check_upstream(path: str, one: UpstreamPart, first: UpstreamPart, places: Places) -> None:
    if not _is_server(one.url):
        raise ConfigFault(
            f"{places.of(f'{path}.url')}: {path}.url={shown(one.url).partition('?')[0]!r}: give http(s)://host:port, "
            "trtllm://host:port or triton://host:port/model, and nothing behind ? or #"
        )
    if re.fullmatch("https?://.*/(completions|embeddings)/*", one.url):
        raise ConfigFault(
            f"{places.of(f'{path}.url')}: {path}.url={redacted(one.url)!r} is one route's; give the server's, as "
            "https://api.openai.com or https://NAME.openai.azure.com"
        )
    for name, scheme in _FOR.items():
        where, value = places.of(f"{path}.{name}"), getattr(one, name)
        if value != getattr(_PLAIN, name) and not one.url.startswith(scheme):
            raise ConfigFault(f"{where}: {path}.{name} means nothing for {redacted(one.url)}")
        if scheme == "triton" and value != getattr(first, name):
            raise ConfigFault(f"{where}: {path}.{name} is not upstream.0's; replicas of one model have one")
    if one.key_header != _PLAIN.key_header and not one.key_env:
        raise ConfigFault(
            f"{places.of(f'{path}.key_header')}: {path}.key_header means nothing without key_env"
        )
    if one.key_env:
        _check_variable(one.key_env, places.of(f"{path}.key_env"))
    if one.tls_ca:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(one.tls_ca)
        except OSError as fault:
            raise ConfigFault(
                f"{places.of(f'{path}.tls_ca')}: {path}.tls_ca={one.tls_ca!r} cannot be used "
                f"({fault.strerror or fault}); give a PEM file of certificates"
            ) from None


def _check_variable(variable: str, where: str) -> None:
    """Whether it holds a key. What is not spelt as variables are may be the key itself, and is not said again."""
    shown = variable if re.fullmatch("[A-Z_][A-Z0-9_]*", variable) else "'...'"
    if not (key := os.environ.get(variable)):
        raise ConfigFault(
            f"{where}: the variable {shown} is not set; give the name of one that holds the key"
        )
    if not KEY.fullmatch(key):
        remedy = "give plain ASCII, with no line break or space at either end"
        raise ConfigFault(f"{where}: what the variable {shown} holds cannot be sent as a key; {remedy}")


def _is_server(url: str) -> bool:
    """Whether a URL names a server, and nothing that would be passed over in silence."""
    if not re.fullmatch(r"(https?|trtllms?|tritons?)://[^/\s]\S*", url):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:
        return False


def _check_tls(server: ServerPart, places: Places) -> None:
    if bool(server.tls_cert) != bool(server.tls_key):
        raise ConfigFault(f"{places.of('server.tls_cert')}: server.tls_cert and server.tls_key go together")
    if server.tls_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(server.tls_cert, server.tls_key, locked)
        except (OSError, ValueError) as fault:
            raise ConfigFault(
                f"{places.of('server.tls_cert')}: server.tls_cert={server.tls_cert!r} and server.tls_key="
                f"{server.tls_key!r} cannot be used ({getattr(fault, 'strerror', None) or fault}); give PEM files that "
                "belong together"
            ) from None


def _check_keys(config: Config, places: Places) -> None:
    seen: dict[str, int] = {}
    for i, key in enumerate(config.key):
        if bool(key.sha256) == bool(key.env):
            raise ConfigFault(f"{places.of(f'key.{i}')}: key.{i} needs either sha256 or env")
        if key.env:
            _check_variable(key.env, places.of(f"key.{i}.env"))
        if not key.tenant:
            raise ConfigFault(f"{places.of(f'key.{i}.tenant')}: key.{i}.tenant is empty; give a name")
        digest = key.sha256 or hashlib.sha256(os.environ[key.env].encode()).hexdigest()
        first = seen.setdefault(digest, i)
        if first != i:
            raise ConfigFault(f"{places.of(f'key.{i}')}: key.{i} is the same key as key.{first}")
    for name in ("principal_header", "public", "trust") if config.key else ():
        if getattr(config.callers, name):
            raise ConfigFault(f"{places.of(f'callers.{name}')}: callers.{name} means nothing beside [[key]]")
