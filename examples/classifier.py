"""A classifier of your own: arrays in, arrays out, batches picture by picture, releases apart. Runs offline:

python examples/classifier.py
"""

from __future__ import annotations

import numpy as np

from cachelayer import CacheLayer

layer = CacheLayer(semantic=False)


class Classifier:
    """Stands in for a network: scores of ten classes for pictures of 64 x 64 pixels."""

    def __init__(self, release: str) -> None:
        self.release, self.seen = release, 0
        self.weights = np.random.default_rng(len(release)).normal(size=(64 * 64, 10))

    def forward(self, pictures: np.ndarray) -> np.ndarray:
        """The model itself, which is best asked for many at once."""
        self.seen += len(pictures)
        return pictures.reshape(len(pictures), -1) @ self.weights

    @layer.cached(self_key="release", ignore=["made"])
    def scores(self, picture: np.ndarray, made: np.ndarray | None = None) -> np.ndarray:
        """The scores of one picture: those that were `made` in a batch, or a batch of one."""
        return self.forward(picture[np.newaxis])[0] if made is None else made

    def batch(self, pictures: np.ndarray) -> np.ndarray:
        """The scores of many, of which the model sees those that are new."""
        new = [i for i, picture in enumerate(pictures) if self.scores.explain(picture).verdict != "exact hit"]
        made = dict(zip(new, self.forward(pictures[new]), strict=True)) if new else {}
        return np.stack([self.scores(picture, made.get(i)) for i, picture in enumerate(pictures)])


def main() -> None:
    """A batch, one that overlaps it, a picture alone, and the next release of the model."""
    pictures = np.random.default_rng(0).integers(0, 256, size=(110, 64, 64), dtype=np.uint8)
    for model in Classifier("2026-11"), Classifier("2026-12b"):
        for name, asked in ("a batch of 100", pictures[:100]), ("90 of them, 10 new ones", pictures[10:]):
            before, scores = model.seen, model.batch(asked)
            assert np.allclose(scores, asked.reshape(len(asked), -1) @ model.weights)
            print(f"release {model.release}: {name}: the model saw {model.seen - before}")
        scores = model.scores(pictures[0])
        scores[:] = 0  # a copy of its caller's own
        print(f"release {model.release}: one alone: {model.scores.outcome(pictures[0]).source}")


if __name__ == "__main__":
    main()
