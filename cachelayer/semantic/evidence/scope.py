"""What the decider remembers of one scope: entries, answers and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...types import Candidate
from ..answers import normalize
from .budget import Alarm
from .changes import Novelty, Shift
from .neighbours import Known, Neighbourhood, Shared
from .principals import Caution
from .prose import ProseAnswers, read_prose

Vector = NDArray[np.float32]

MAX_ANSWERS: Final = 4096


def digest(answer: str) -> bytes:
    """16 bytes of BLAKE2b over the normalized answer: equal digests mean equal answers."""
    return blake2b(normalize(answer).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Scope:
    """Entries of one scope and the answers they hold. An answer has an id (an int) within its scope."""

    def __init__(self, dimension: int, shared: Shared) -> None:
        self.hood = Neighbourhood(dimension, shared)
        self.entries: dict[int, int] = {}
        """The id of each entry's answer."""
        self.retired: set[int] = set()
        """Entries that must not be served or counted again."""
        self.leaving: list[int] = []
        """Those of them that the index still has to drop."""
        self.alarm: Alarm | None = None
        self.caution = Caution()
        self.shift = Shift()
        self.changed = 0
        """The function's number of labels when answers last changed here."""
        self.stopped = False
        self.regained = 1.0
        """Wealth of the bet that a stopped scope is right again; starts at 1."""
        self._ids: dict[bytes, int] = {}
        self._digests: dict[int, set[bytes]] = {}
        self._members: dict[int, set[int]] = {}
        self._said: dict[int, bytes] = {}
        """The digest of each entry's own wording; it stays when the answer is evicted."""
        self._prose = ProseAnswers(dimension)

    def known(self, candidates: Sequence[Candidate]) -> list[Known]:
        """Candidates with the ids of their answers, without those whose answer was evicted and not seen since."""
        known = []
        for place, c in enumerate(candidates):
            answer = self.entries.get(c.entry)
            if answer is None:
                answer = self._held(c)
            if answer is not None:
                known.append(Known(c.similarity, answer, place, c.text))
        return known

    def _held(self, c: Candidate) -> int | None:
        """The id of an answer that was evicted, if it was seen since."""
        if c.answer is None or c.entry in self.retired:
            return None
        said = self._said.get(c.entry)
        return self.find(c.answer) if said is None else self._ids.get(said)

    def answer(
        self, text: str, vector: Vector | None = None, predicted: int = -1, likely: bool = True
    ) -> tuple[int, bool]:
        """The id of an answer, and whether it is new.

        `vector`: (d,) of a prose answer, which is then compared by meaning. `predicted`: the id that the neighbours
        predicted, -1 for none; `likely`: they did so with little risk.
        """
        key = digest(text)
        found = self._ids.get(key)
        if found is not None:
            return self._placed(key, found, predicted, likely) if vector is not None else found, False
        while len(self._ids) >= MAX_ANSWERS:
            self._evict()
        new = read_prose(key, text, vector) if vector is not None else None
        same = self._prose.taken_for(new, predicted, likely) if new is not None else None
        answer = self._fresh() if same is None else same
        self._name(key, answer)
        if new is not None:
            for apart in self._prose.add(new, answer):
                self._part(apart)
        return self._ids[key], same is None

    def _fresh(self) -> int:
        answer = self.hood.answers.new()
        self._digests[answer], self._members[answer] = set(), set()
        return answer

    def _name(self, key: bytes, answer: int) -> None:
        self._ids[key] = answer
        self._digests[answer].add(key)

    def _joined(self, answer: int, predicted: int, likely: bool) -> int:
        """Merge an answer into the one the neighbours predicted if their wordings agree; returns the id to use."""
        if (
            predicted in (-1, answer)
            or predicted not in self._digests
            or not self._prose.agree(predicted, answer, likely)
        ):
            return answer
        self.hood.merge(predicted, answer)
        self._prose.merge(predicted, answer)
        for key in self._digests.pop(answer):
            self._name(key, predicted)
        for entry in self._members.pop(answer):
            self.entries[entry] = predicted
            self._members[predicted].add(entry)
        return predicted

    def _placed(self, key: bytes, answer: int, predicted: int, likely: bool) -> int:
        """The answer of a known wording, moved if what the neighbours predicted says so."""
        joined = self._joined(answer, predicted, likely)
        if not likely or predicted not in self._digests or not self._prose.misplaced(key, predicted):
            return joined
        self._move(key, predicted)
        return predicted

    def _part(self, key: bytes) -> None:
        """A wording differs from the answer it was taken for: give it and its entries an answer of their own."""
        self._move(key, self._fresh())

    def _move(self, key: bytes, answer: int) -> None:
        old = self._ids[key]
        self._digests[old].discard(key)
        self._name(key, answer)
        self._prose.move(key, answer)
        for entry in [e for e in self._members[old] if self._said.get(e) == key]:
            self._members[old].discard(entry)
            self._members[answer].add(entry)
            self.entries[entry] = answer

    def find(self, text: str) -> int | None:
        """The id of an answer, or None if it was never seen."""
        return self._ids.get(digest(text))

    def keep(self, entry: int, text: str, vector: Vector | None = None) -> int:
        """Add an entry with this answer; returns the answer's id."""
        self.drop(entry)
        answer, _ = self.answer(text, vector)
        self.entries[entry] = answer
        self._said[entry] = digest(text)
        self._members[answer].add(entry)
        return answer

    def drop(self, entry: int) -> None:
        """Remove an entry, and its answer if nothing else supports it."""
        answer = self.entries.pop(entry, None)
        self.retired.discard(entry)
        self._said.pop(entry, None)
        if answer is None:
            return
        members = self._members[answer]
        members.discard(entry)
        if not members and self.hood.answers.count[answer] <= 1:
            self._forget_answer(answer)

    def retire(self, entry: int) -> None:
        """Never serve or count this entry again."""
        self.drop(entry)
        if len(self.retired) < 10 * MAX_ANSWERS:
            self.retired.add(entry)
            self.leaving.append(entry)

    def restart(self) -> None:
        """Forget all evidence, and never serve the present entries again."""
        for entry in list(self.entries):
            self.retire(entry)
        shared = self.hood.shared
        self.hood = Neighbourhood(shared.metric.inverse.shape[0], shared)
        self.caution.novelty = Novelty()
        self._ids.clear()
        self._digests.clear()
        self._members.clear()
        self._said.clear()
        self._prose = ProseAnswers(shared.metric.inverse.shape[0])

    def _evict(self) -> None:
        """Evict the least supported of the oldest 64 answers."""
        count = self.hood.answers.count
        oldest = list(self._digests)[:64]
        victim = min(oldest, key=lambda a: (count[a] > 1, count[a]))
        for entry in list(self._members[victim]):
            del self.entries[entry]
        self._forget_answer(victim)

    def _forget_answer(self, answer: int) -> None:
        for key in self._digests.pop(answer):
            del self._ids[key]
        self._prose.forget(answer)
        del self._members[answer]
        self.hood.answers.drop(answer)
        self.hood.word_counts.drop(answer)
