"""Distil the tables by which a text's vector is guessed from its words: cachelayer.semantic.embed.guess.

    python -m benchmarks.decide.train_guess --data DATA --vectors FILE.npz --out cachelayer/semantic/weights/guess.npz

Wants torch. Begins with the model's own vectors of single tokens, quantized; taught is its vector of each text (1 -
cosine): of the open sets but those whose streams fit what a guess is worth (train_glance), and of a sentence with each
word of the vocabulary. No text of Banking77, CLINC150, HWU64, DSTC11 or Advising is used, but 3 and 16 of the first two
that other sets have in other case or punctuation. Vectors are kept in --vectors: making them takes most of the time.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from corpus import embedded, rows_of
from numpy.typing import NDArray
from record import parser_of
from torch.nn import functional

from cachelayer.semantic.embed.prepare import prepare
from cachelayer.semantic.embed.session import open_session, open_tokenizer

from .weights import write

APART: Final = ("hwu64", "dstc11", "advising")
"""Sources of streams to which other weights are fitted."""
REQUESTS, LONGEST, BATCH, RATE, PART = 70_000, 64, 512, 3e-3, 4
KNOWN: Final = r"(##)?[a-z0-9]+|[!-~\xa3\xa5\xa7\xb0\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2026]"
"""Tokens of which a guess may be made: English words, their pieces, numbers and signs."""


def strings(value: Any) -> Iterator[str]:
    """Every text of a row but those that come from APART."""
    if isinstance(value, str):
        if 6 <= len(value) <= 200 and " " in value:
            yield value.strip()
    elif isinstance(value, dict):
        if value.get("src") not in APART:
            for one in value.values():
                yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def requests(data: Path) -> list[str]:
    """Texts of the open sets, in random order."""
    kept = {
        str(row["q"]).strip() for path in sorted((data / "dev").glob("stream_*.gz")) for row in rows_of(path)
    }
    paths = sorted((data / "train/open").rglob("*.jsonl.gz"))
    found = {
        text
        for path in paths
        if not set(APART) & set(path.parts)
        for row in rows_of(path)
        for text in strings(row)
    }
    out = sorted(found - kept)
    random.Random(1).shuffle(out)
    return out[:REQUESTS]


def spoken(words: list[str], among: list[str]) -> list[str]:
    """Each word in a sentence, in the place of another."""
    rng, out = random.Random(3), []
    for word in words:
        sentence = rng.choice(among).split()
        sentence[rng.randrange(len(sentence))] = word
        out.append(" ".join(sentence[:25]))
    return out


def quantized(rows: torch.Tensor) -> tuple[NDArray[np.uint8], torch.Tensor]:
    """Product quantization (Jegou, Douze & Schmid 2011): (n, d / 4) codes and (d / 4, 256, 4) centroids."""
    parts = rows.view(len(rows), -1, PART).transpose(0, 1)
    codes, centroids = [], []
    for part in parts:
        found = part[torch.randperm(len(part))[:256]].clone()
        for _ in range(12):
            nearest = torch.cdist(part, found).argmin(1)
            sums = torch.zeros_like(found).index_add_(0, nearest, part)
            counts = torch.bincount(nearest, minlength=256).clamp(min=1)[:, None]
            found = torch.where(counts > 1, sums / counts, found)
        codes.append(torch.cdist(part, found).argmin(1).numpy().astype(np.uint8))
        centroids.append(found)
    return np.stack(codes, axis=1), torch.stack(centroids)


class Net(torch.nn.Module):  # type: ignore[misc]
    """What `Guess` computes, as torch learns it. `rows`: (n, d), the tokens' vectors, which stay as they are."""

    rows: torch.Tensor

    def __init__(self, rows: torch.Tensor, hidden: int) -> None:
        super().__init__()
        width = rows.shape[1]
        self.register_buffer("rows", rows)
        self.weight = torch.nn.Parameter(torch.zeros(len(rows)))
        self.hidden = torch.nn.Linear(width, hidden)
        self.out = torch.nn.Linear(width + hidden, width)
        self.hidden.weight.data *= 6.0
        self.out.weight.data.zero_()
        self.out.weight.data[:, :width] = torch.eye(width)
        self.out.bias.data.zero_()

    def forward(self, ids: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        weights = torch.exp(self.weight[ids])
        total = functional.embedding_bag(ids, self.rows, starts, mode="sum", per_sample_weights=weights)
        total = functional.normalize(total, dim=-1)
        made = self.out(torch.cat([total, functional.relu(self.hidden(total))], 1))
        return functional.normalize(made, dim=-1)


def fit(net: Net, ids: list[NDArray[np.int64]], vectors: torch.Tensor, epochs: int) -> None:
    """Learns for so many epochs, ever more slowly."""
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    for epoch in range(epochs):
        total = 0.0
        optimizer.param_groups[0]["lr"] = RATE * (1.0 - epoch / epochs)
        order = np.random.default_rng(epoch).permutation(len(ids))
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            starts = torch.tensor(np.cumsum([0, *(len(ids[row]) for row in rows[:-1])]))
            made = net(torch.tensor(np.concatenate([ids[row] for row in rows])), starts)
            loss = (1.0 - (made * vectors[rows]).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        print(f"epoch {epoch}: {total / len(ids):.4f}", flush=True)


def export(
    net: Net, codes: NDArray[np.uint8], centroids: torch.Tensor, known: NDArray[np.bool_], out: Path
) -> None:
    """As `Guess` reads it; a token that is not `known` has the weight 0."""
    half = {
        "centroids": centroids,
        "weights": torch.exp(net.weight.detach()) * torch.tensor(known),
        "inner": net.hidden.weight.detach().T,
        "bias": net.hidden.bias.detach(),
        "outer": net.out.weight.detach().T,
        "shift": net.out.bias.detach(),
    }
    write(
        out,
        codes=codes * known[:, None],
        **{name: one.numpy().astype(np.float16) for name, one in half.items()},
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with dev/ and train/open/")
    parser.add_argument("--vectors", type=Path, required=True, help="file where vectors are kept (.npz)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hidden", type=int, default=512, help="units of the network (default 512)")
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = open_tokenizer(prepare(None).tokenizer.read_bytes())
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda one: one[1])
    known = np.array([re.fullmatch(KNOWN, token) is not None for token, _ in vocabulary])
    texts, vectors, alone = kept(args.vectors, args.data, [token for token, _ in vocabulary])
    rows = torch.tensor(alone)
    rows -= rows[known].mean(0)
    rows /= rows[known].norm(dim=1).mean()
    codes, centroids = quantized(rows)
    near = torch.cat([centroids[part][codes[:, part].astype(np.int64)] for part in range(codes.shape[1])], 1)
    print(
        f"lost by quantization: {float((near - rows)[known].square().sum() / rows[known].square().sum()):.3f}"
    )
    ids = [np.array(tokenizer.encode(text).ids[1:-1], np.int64) for text in texts]
    short = [row for row, of in enumerate(ids) if 0 < len(of) <= LONGEST]
    net = Net(near, args.hidden)
    fit(net, [ids[row] for row in short], torch.tensor(vectors[short]), args.epochs)
    export(net, codes, centroids, known, args.out)


def kept(
    path: Path, data: Path, vocabulary: list[str]
) -> tuple[list[str], NDArray[np.float32], NDArray[np.float32]]:
    """The texts, (n, d) their vectors, (m, d) those of tokens alone; made once."""
    if not path.exists():
        asked = requests(data)
        texts = [
            *asked,
            *spoken([word for word in vocabulary if re.fullmatch(r"[a-z]{2,}|[0-9]+", word)], asked),
        ]
        session = open_session(str(prepare(None).model))
        first, last = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
        alone = [
            session.run(["vector"], {"ids": np.array([[first, token, last]])})[0][0]
            for token in range(len(vocabulary))
        ]
        made = asyncio.run(embedded(texts)).astype(np.float16)
        np.savez(path, texts=np.array(texts), vectors=made, alone=np.array(alone))
    with np.load(path, allow_pickle=False) as found:
        return found["texts"].tolist(), found["vectors"].astype(np.float32), found["alone"]


if __name__ == "__main__":
    main()
