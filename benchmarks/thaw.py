"""What it costs to hand out a kept answer that the caller may change, beside the usual ways of copying one.

    python benchmarks/thaw.py --out benchmarks/results/thaw.md

Every figure is the median (p99 in brackets) of many short runs, in microseconds; all ways of one answer are measured
in turn within one run, so that a busy machine slows all alike. pickle is here for reference only: cachelayer has none.
"""

from __future__ import annotations

import copy
import pathlib
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
from record import heading, page, parser_of

from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.wire.codec import Codec

Way = Callable[[], Any]


def response(text: str) -> dict[str, Any]:
    """A chat completion as an OpenAI-style API returns it."""
    return {
        "id": "chatcmpl-AbCdEf0123456789",
        "object": "chat.completion",
        "created": 1763712000,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 150,
            "total_tokens": 270,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_abc",
    }


def answers() -> dict[str, Any]:
    """Name -> answer."""
    rng = np.random.default_rng(0)
    vector = rng.standard_normal(1536)
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    row = {"object": "embedding", "index": 0, "embedding": vector.tolist()}
    whole = response("A product may be returned within thirty days. " * 15)
    docs = [
        {"id": i, "text": "t" * 200, "score": 0.5, "metadata": {"source": "a", "page": i}} for i in range(20)
    ]
    made = {
        "str, 690 characters": whole["choices"][0]["message"]["content"],
        "response dict, 1.2 KB": whole,
        "embedding response, 1536 floats": {"object": "list", "data": [row], "model": "m", "usage": usage},
        "20 documents": docs,
        "numpy array, 1536 float32": vector.astype(np.float32),
    }
    try:
        from openai.types.chat import ChatCompletion
    except ImportError:
        print("openai is not installed: no ChatCompletion", file=sys.stderr)
    else:
        made["ChatCompletion (pydantic)"] = ChatCompletion.model_validate(whole)
    return made


def ways(answer: Any, freezer: Freezer) -> dict[str, Way]:
    """Name -> a call that makes one answer for a caller."""
    for _ in range(3):
        kept = freezer.freeze(answer)
    value, thaw = kept.value, kept.thaw
    pickled = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    codec = Codec([type(answer)] if hasattr(answer, "model_fields_set") else [])
    payload = codec.encode(answer)
    made: dict[str, Way] = {
        "thaw": (lambda: value) if thaw is None else (lambda: thaw(value)),
        "copy.deepcopy": lambda: copy.deepcopy(answer),
        "pickle.loads": lambda: pickle.loads(pickled),
        "freeze": lambda: freezer.freeze(answer),
        "codec.encode": lambda: codec.encode(answer),
        "codec.decode": lambda: codec.decode(payload),
    }
    if isinstance(answer, dict | list):
        text = orjson.dumps(answer)
        made["orjson.loads"] = lambda: orjson.loads(text)
    elif hasattr(answer, "model_dump_json"):
        json = answer.model_dump_json()
        made["orjson.loads"] = lambda: type(answer).model_validate_json(json)
    return made


def timed(way: Way, calls: int) -> float:
    """Microseconds a call."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        way()
    return (time.perf_counter_ns() - start) / calls / 1000


def measure(answer: Any, freezer: Freezer, rounds: int) -> dict[str, tuple[float, float]]:
    """Way -> (median, p99) in microseconds over `rounds` rounds in which the ways take turns."""
    made = ways(answer, freezer)
    empty = [timed(lambda: None, 1000) for _ in range(50)]
    calls = {name: max(1, min(1000, int(200 / max(timed(way, 5), 0.01)))) for name, way in made.items()}
    samples: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, way in made.items():
            samples[name].append(timed(way, calls[name]))
    floor = statistics.median(empty)
    return {
        name: (max(0.0, statistics.median(s) - floor), sorted(s)[int(len(s) * 0.99)] - floor)
        for name, s in samples.items()
    }


COLUMNS = ["thaw", "copy.deepcopy", "orjson.loads", "pickle.loads", "freeze", "codec.encode", "codec.decode"]


def table(rounds: int) -> list[str]:
    """The result as lines of markdown."""
    freezer = Freezer()
    lines = ["| answer | bytes kept | " + " | ".join(COLUMNS) + " | deepcopy / thaw |"]
    lines.append("|---" * (len(COLUMNS) + 3) + "|")
    for name, answer in answers().items():
        figures = measure(answer, freezer, rounds)
        cells = [f"{figures[c][0]:.2f} ({figures[c][1]:.2f})" if c in figures else "" for c in COLUMNS]
        ratio = figures["copy.deepcopy"][0] / figures["thaw"][0] if figures["thaw"][0] >= 0.01 else None
        kept = f"{freezer.freeze(answer).nbytes:,}"
        lines.append(f"| {name} | {kept} | {' | '.join(cells)} | {f'{ratio:.1f}' if ratio else ''} |")
    return lines


NOTE = """\
Microseconds, median (p99); the cost of an empty call is subtracted. `thaw` is what an in-process hit
pays for an answer of its own, `copy.deepcopy` the floor beside it; `freeze` is what a miss pays
to keep it; `orjson.loads` of a pydantic model is `model_validate_json`; `codec` is for Redis."""


def main() -> None:
    """Measure, print, and write where asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=400, help="rounds in which the ways take turns (400)")
    parser.add_argument("--out", type=pathlib.Path, help="markdown file to write")
    given = parser.parse_args()
    told = heading(f"python benchmarks/thaw.py --rounds {given.rounds}")
    text = page("Handing out kept answers", told, NOTE, "\n".join(table(given.rounds)))
    print(text)
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
