"""Whether a request asks for an answer that is sampled, wherever its client wants that said. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..answers.fields import Fields, fields
from .parameters import says_nothing

_OF_MODELS = ({"messages"}, {"contents"}, {"prompt", "model"})
"""Parameters that models are asked with, which sample where they are told nothing."""


def sampled(asked: Fields, fn: Any) -> bool:
    """Whether the answer to `asked`, arguments by name, is sampled at a temperature above 0, as far as they say.

    They say it themselves or one level down, as Gemini's `config`, Ollama's `options` and Bedrock's `inferenceConfig`
    do; or else `fn` does, or the object whose method it is. Where none says a temperature, `top_p` counts, and what
    could have said it and does not is left to the provider, who samples. Embeddings are not sampled. A function whose
    arguments say it in words of their own reads them itself (`cachelayer_sampled`).
    """
    if (reads := getattr(fn, "cachelayer_sampled", None)) is not None:
        return bool(reads(asked))
    own = [fields(fn), fields(getattr(fn, "__self__", None))]
    places = [place for outer in (asked, *own) for place in (outer, *map(fields, outer.values()))]
    for names in (("temperature",), ("top_p", "topP")):
        said = [place[name] for place in places for name in names if name in place]
        numbers = [one for one in said if isinstance(one, int | float | np.floating | np.integer)]
        if numbers:
            return any(one > 0 for one in numbers)
        if any(one is None or says_nothing(one) for one in said):
            return True
    return any(names <= asked.keys() for names in _OF_MODELS) and "embed" not in getattr(fn, "__name__", "")
