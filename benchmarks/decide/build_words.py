"""Build the table of words that the pair verifier reads: vectors and lexical relations.

    python -m benchmarks.decide.build_words --wordnet DIR --common FILE FILE --rare FILE FILE --data DATA --out OUT

`DIR` holds WordNet 3.0's data.noun, index.noun, ... (Debian package wordnet-base), the files common and rare words of
English by American and by British spelling, one a line, which are kept for spelling alone (SCOWL's up to size 60 and
up to 70: /usr/share/dict of Debian's wamerican, wbritish, wamerican-large and wbritish-large). Vocabulary: whole
words of the embedder's own tokenizer, words that WordNet counts in text, and those of the training texts. A word's
vector is what the embedder makes of the word alone, reduced by principal components and kept in int8; relations
(senses, kinds, opposites, kin) are WordNet's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from corpus import embedded
from numpy.typing import NDArray
from record import parser_of

from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.text.spelling import LEAST, Rare

from .sources import texts
from .weights import write
from .wordnet import WordNet

WIDTH, SENSES = 40, 8
RARE = 240_000
"""Bytes of the filter of all words."""
FORMS = {
    "our": "or", "is": "iz", "ys": "yz", "re": "er", "ll": "l", "l": "ll", "ogue": "og", "enc": "ens", "ae": "e",
    "oe": "e", "pp": "p", "e": "", "que": "ck", "gramme": "gram", "ough": "ow", "xion": "ction", "grey": "gray",
    "mould": "mold",
}  # fmt: skip
"""What is written in British, and what in American English."""


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


def reduce(vectors: NDArray[np.float32], width: int) -> NDArray[np.int8]:
    """Centred principal components, rows of length 127."""
    centred = vectors - vectors.mean(0)
    _, _, axes = np.linalg.svd(centred[:: max(1, len(centred) // 8000)], full_matrices=False)
    small: NDArray[np.float32] = centred @ axes[:width].T
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


def spelled(args: argparse.Namespace, net: WordNet) -> dict[str, NDArray[np.uint8]]:
    """`common`: words that may be meant by others; `british`, `american`: forms of one word; `rare`: which words there
    are, from LEAST letters on, names too.
    """
    american, british = (
        {w for w in file.read_text("utf-8").split() if _word(w) and w.islower()} for file in args.common
    )
    pairs = forms(british, american - british)
    table = json.loads(prepare(None).tokenizer.read_text("utf-8"))["model"]["vocab"]
    files = (*args.rare, Path(__file__).with_name("names.txt"))
    every = {w.lower() for file in files for w in file.read_text("utf-8").split()}
    every |= {lemma for lemma, _ in net.index} | set(table)
    return {
        "common": _text(sorted(american | british)),
        "british": _text(list(pairs)),
        "american": _text(list(pairs.values())),
        "rare": Rare.of((w for w in every if _word(w) and len(w) >= LEAST), RARE),
    }


def forms(british: set[str], american: set[str]) -> dict[str, str]:
    """`american` forms, that British English has not, by British ones: where one change leads to one word."""
    found: dict[str, str] = {}
    for word in sorted(british):
        others = {
            word[: at.start()] + there + word[at.end() :]
            for here, there in FORMS.items()
            for at in re.finditer(here, word)
        } & american
        if len(others) == 1 and len(word) >= LEAST <= len(other := others.pop()):
            found[word] = other
    return found


def _text(words: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer(" ".join(words).encode("ascii"), np.uint8)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun, index.noun, ...")
    parser.add_argument(
        "--common",
        type=Path,
        nargs=2,
        required=True,
        help="files of common words, one a line: American, British",
    )
    parser.add_argument("--rare", type=Path, nargs="+", required=True, help="files of all words there are")
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
    vectors = reduce(asyncio.run(embedded(words)), WIDTH)
    write(args.out, words=_text(words), vectors=vectors, **found, **spelled(args, net))


if __name__ == "__main__":
    main()
