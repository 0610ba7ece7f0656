"""Build the table of words that the pair verifier reads: vectors and lexical relations.

    python -m benchmarks.decide.build_words --wordnet DIR --data DATA --out cachelayer/semantic/weights/words.npz

`DIR` holds WordNet 3.0's data.noun, index.noun, ... (Debian package wordnet-base). Vocabulary: whole words of the
embedder's own tokenizer, words that WordNet counts in text, and those of the
training texts. A word's vector is what the embedder makes of the word alone, reduced by principal
components and kept in int8; relations (senses, kinds, opposites, kin) are WordNet's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.prepare import prepare

from .sources import texts
from .wordnet import WordNet

WIDTH, SENSES = 40, 8


def vocabulary(limit: int, net: WordNet, folder: Path, texts: list[str]) -> list[str]:
    """Words of two letters and more: the tokenizer's most frequent first, then counted and seen ones."""
    table = json.loads(prepare(None).tokenizer.read_text("utf-8"))["model"]["vocab"]
    words = sorted(table, key=table.__getitem__)[: limit + 1000]  # the first thousand are no words
    words = [w for w in words if _word(w)]
    seen = Counter(w for text in texts for w in re.findall("[a-z]+", text.lower()))
    words += [w for w, n in seen.most_common() if n >= 4]
    for line in (folder / "cntlist.rev").read_text("utf-8").splitlines():
        key, _, count = line.split()
        base, kind = key.split("%")
        if int(count) >= 2:
            words += [base, *_inflected(base, kind[0])]
    return list(dict.fromkeys(w for w in words if _word(w)))


def _word(text: str) -> bool:
    return text.isascii() and text.isalpha() and len(text) > 1


def _inflected(base: str, kind: str) -> list[str]:
    """Regular inflections of a verb (kind 2) or noun (kind 1)."""
    stem = base.removesuffix("e")
    return [base + "s", stem + "ed", stem + "ing"] if kind == "2" else [base + "s"] if kind == "1" else []


async def embed(words: list[str]) -> NDArray[np.float32]:
    embedder = OnnxEmbedder()
    await embedder.start()
    try:
        parts = [(await embedder.embed(words[i : i + 64])).vectors for i in range(0, len(words), 64)]
    finally:
        await embedder.aclose()
    return np.concatenate(parts)


def reduce(vectors: NDArray[np.float32], width: int) -> NDArray[np.int8]:
    """Centred principal components, rows of length 127."""
    centred = vectors - vectors.mean(0)
    _, _, axes = np.linalg.svd(centred[:: max(1, len(centred) // 8000)], full_matrices=False)
    small = centred @ axes[:width].T
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    return np.round(small * 127).astype(np.int8)


def relations(net: WordNet, words: list[str]) -> dict[str, NDArray[np.int32]]:
    """`senses` and `kinds` (V, SENSES), numbered from 1, 0 for none; `opposites` and `kin` (n, 2) of word ids."""
    at = {w: i for i, w in enumerate(words)}
    number: dict[str, int] = {}
    senses = np.zeros((len(words), SENSES), np.int32)
    kinds = np.zeros((len(words), SENSES), np.int32)
    opposites: set[tuple[int, int]] = set()
    kin: set[tuple[int, int]] = set()
    forms: dict[str, list[int]] = {}
    for word, i in at.items():
        for part in "nvar":
            for base in net.bases(word, part)[:2]:
                forms.setdefault(base, []).append(i)
    for word, i in at.items():
        for j, key in enumerate(net.senses(word)[:SENSES]):
            senses[i, j] = number.setdefault(key, len(number) + 1)
            parents = net.synsets[key].parents
            if parents:
                kinds[i, j] = number.setdefault(parents[0], len(number) + 1)
    for synset in net.synsets.values():
        for links, out in ((synset.opposites, opposites), (synset.kin, kin)):
            for own, target, theirs in links:
                a = synset.words[own - 1].lower() if own else ""
                b = net.synsets[target].words[theirs - 1].lower() if theirs else ""
                out.update((i, j) for i in forms.get(a, ()) for j in forms.get(b, ()) if i < j)
    return {
        "senses": senses,
        "kinds": kinds,
        "opposites": np.array(sorted(opposites), np.int32),
        "kin": np.array(sorted(kin), np.int32),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun, index.noun, ...")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--words", type=int, default=12000, help="words taken from the tokenizer (default %(default)s)"
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with train/open and dev")
    args = parser.parse_args()
    net = WordNet(args.wordnet)
    words = vocabulary(args.words, net, args.wordnet, [t.text for t in texts(args.data)])
    found = relations(net, words)
    print(f"{len(words)} words, {len(found['opposites'])} opposites, {len(found['kin'])} kin")
    vectors = reduce(asyncio.run(embed(words)), WIDTH)
    text = np.frombuffer(" ".join(words).encode("ascii"), np.uint8)
    np.savez_compressed(args.out, words=text, vectors=vectors, **found)
    print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
