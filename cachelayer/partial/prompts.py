"""`layer.prompts`: rendered prompts, token ids and counts, each made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128_hexdigest

from ..checks import named
from ..errors import ConfigurationError
from ..keep.parts import prompt_tag
from ..path.engine import Engine
from ..policy import AS_IT_IS
from ..wrap.naming import fields_of
from ..wrap.options import refuse
from ..wrap.redefinition import Origin
from ..wrap.registry import Registry

Render = Callable[..., str]
TTL = "7d"
_EXACT = {"semantic": "prompts are compared exactly: leave it out"}


class Prompts:
    """Templates by name and version, and a tokenizer that stays."""

    def __init__(self, registry: Registry, engine: Engine) -> None:
        self._registry, self._engine = registry, engine
        self._ids: Any = None

    def template(self, name: str, template: str | Render, *, version: str = "", **options: Any) -> Render:
        """A function of the template's variables, by name, that renders it.

        `template`: text for `str.format`, or a function. A new text or `version` is a new identity. Whatever is
        answered with its help depends on it: `layer.invalidate(prompts=[name])`. Raises ConfigurationError for the name
        of another function and for what is no template.
        """
        named("name", name)
        refuse(options, _EXACT)
        if not (isinstance(template, str) or callable(template)):
            raise ConfigurationError("template", template, "give text for str.format, or a function")
        made: Render
        if isinstance(template, str):
            made, version = template.format, f"{version} {_text_id(template)}"
        else:
            made = template

        def render(*variables: Any) -> str:  # names and values in turn: each is an argument of its own
            self._engine.noting.note([prompt_tag(name)])
            names = [one.partition("\0")[0] for one in variables[::2]]
            return made(**dict(zip(names, variables[1::2], strict=True)))

        options = {"ttl": TTL, **options, "semantic": False, "name": f"prompt:{name}", "version": version}
        cached = self._registry.wrap(render, options=options, wire=False, origin=Origin(template, False))

        def rendered(**variables: Any) -> str:
            with self._engine.noting.step(self._engine.keeper.epoch, pure=True):
                text: str = cached(*chain(*map(_told, sorted(variables.items()))))
            return text

        return rendered

    def tokenizer(self, encode: Callable[[str], Sequence[int]], *, name: str, **options: Any) -> None:
        """Use `encode` (text to token ids) from now on; `name` tells model and revision: ids of two never meet.

        Raises ConfigurationError if `encode` is not callable.
        """
        named("name", name)
        refuse(options, _EXACT)
        if not callable(encode):
            raise ConfigurationError("encode", encode, "give a function of a text that returns token ids")

        def ids(text: str) -> NDArray[np.int32]:
            return np.asarray(encode(text), np.int32)

        fixed = {"semantic": False, "name": f"tokens:{name}"}
        options = {"ttl": TTL, "normalize": AS_IT_IS, **options, **fixed}
        self._ids = self._registry.wrap(ids, options=options, wire=False, origin=Origin(encode, False))

    def ids(self, text: str) -> NDArray[np.int32]:
        """(n,) int32 token ids. Raises ConfigurationError before `tokenizer` was given."""
        if self._ids is None:
            raise ConfigurationError("tokenizer", None, "give one: layer.prompts.tokenizer(encode, name=...)")
        if not text:
            return np.zeros(0, np.int32)
        ids: NDArray[np.int32] = self._ids(text)
        return ids

    def count(self, text: str) -> int:
        """How many tokens a text takes."""
        return len(self.ids(text))


def _told(variable: tuple[str, Any]) -> tuple[str, Any]:
    """1 and 1.0 are one in a key, and not in a text; so the name is told with how its value is written."""
    name, value = variable
    return variable if type(value) is str else (f"{name}\0{value!r}", value)


def _text_id(template: str) -> str:
    """Tells a template's text from others. Raises ConfigurationError if its variables cannot be given by name."""
    for field in fields_of("template", template):
        if not field or field[0].isdigit():
            raise ConfigurationError("template", template, "name each variable, as in {question}")
    return xxh3_128_hexdigest(template.encode("utf-8", "surrogatepass"))
