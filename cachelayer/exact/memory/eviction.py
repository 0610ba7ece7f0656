"""The eviction policy of the in-process tier. Pure; weights in bytes, times in seconds.

Two queues as in ARC (Megiddo and Modha, FAST 2003): entries used once wait in the window, entries used again in the
main queue, and fingerprints of what was evicted, when it is asked for again, tell which of the two was cut too short.
Different from ARC:

* What adapts is not a size but a ratio of ages: the front of the window goes before the front of the main queue once
  its age is at least `patience` times the other's. At 1, where it starts, that is LRU; near 0 a policy of frequency.
  Small deviations from 1 are not acted upon.
* Nothing moves on a hit (lazy promotion, as in CLOCK, SIEVE and S3-FIFO). A hit leaves its time in the slot, and the
  slot is put where it belongs when it comes to the front; which makes the order that of LRU all the same.
* Entries are of unequal worth: the worth w being cost / weight over the same of a mean entry, clipped, an entry comes
  to the front at w times the age of a mean one. So the least cost / (weight * age) goes first, as in hyperbolic
  caching (Blankstein et al., ATC 2017) and GreedyDual-Size (Cao and Irani, USITS 1997).
* Where most misses come back later than any entry lives (a loop over more than fits), recency has nothing to offer:
  newcomers then pass through a short probation and what is held stays, as with the bimodal insertion of Qureshi et
  al. (ISCA 2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .calendar import Calendar
from .ghosts import Ghost, Ghosts
from .slot import Slot

WINDOW, MAIN, PROBATION = 1, 2, 3
_SETTLE = 128
"""Slots that were hit and are put where they belong per eviction, at most. Of a longer run of hits at the front one is
lost."""
_SMALL = 100
"""The window and the probation keep at least this part of the budget."""
_PRESSURE = 7.0
"""How often `patience` doubles or halves where as many evicted entries return as are held; more where the other
queue lost more."""
_HORIZON = 1.5
"""An entry's return counts within this many evictions, in slots held."""
_MIN_PATIENCE = 0.01
_PLAY = 0.7
"""Down to here `patience` acts as 1, plain LRU: returns by chance move it, and what they say is not worth a detour."""
_FREQUENCY = 0.1
"""Below this patience a slot of the main queue that was hit has a second round."""
_CLIP, _LEAST = 8.0, 1.0 / 8.0
"""A slot is worth between 1/8 and 8 mean ones."""
_CELLS = 3
"""Ghosts remembered per slot held, at least."""


class Eviction:
    """Chooses what to evict: `add` what came, `remove` what went; `evict` says which slot goes next.

    Every call does a bounded amount of work.
    """

    def __init__(self, max_bytes: int) -> None:
        self.patience = 1.0
        """Age of the window's front, relative to the main queue's, at which it goes first; 0.01 to 1, see `_PLAY`."""
        self.stubbornness = -1.0
        """Above 0 newcomers are put on probation; -1 to 1."""
        self._small = max_bytes // _SMALL
        self._ghosts = Ghosts()
        self._gone = [1.0, 1.0]  # recent evictions from the window and from the main queue
        self._reach = 0.0  # age of the oldest slot at the last eviction
        self._room = 0  # slots that there are enough ghosts for
        self._density = 0.0  # seconds per byte of a mean newcomer
        self.clear()

    def clear(self) -> None:
        """Nothing is held any more; what was learnt stays."""
        self._window, self._main, self._probation = Calendar(WINDOW), Calendar(MAIN), Calendar(PROBATION)
        self._queues = (self._window, self._window, self._main, self._probation)
        self._count = 0

    def add(self, slot: Slot, now: float, again: bool = False) -> None:
        """`slot` came at `now`; `again` where it took the place of an older answer to the same request."""
        slot.seen = slot.hits
        slot.used = 0.0
        slot.spare = False
        ghosts, queue = self._ghosts, self._window
        self._count = count = self._count + 1
        if count > self._room:
            if count * _CELLS > len(ghosts):
                ghosts.grow()
            self._room = len(ghosts) // _CELLS
        if ghosts.number:
            ghost = ghosts.pop(slot.digest, now)
            if not again and (ghost is not None or self.stubbornness != -1.0):
                queue = self._learn(ghost)
        if again:
            queue = self._main
        slot.worth = worth = self._worth(slot.cost / slot.weight) if slot.cost > 0.0 else 1.0
        queue.add(slot, now + queue.life * (worth - 1.0) if queue.life else now)

    def remove(self, slot: Slot) -> None:
        """`slot` went for another reason than eviction."""
        self._queues[slot.home].discard(slot)
        self._count -= 1

    def reweigh(self, slot: Slot, by: int) -> None:
        """`slot` grew by `by` bytes (negative: shrank)."""
        slot.weight += by
        self._queues[slot.home].bytes += by

    def evict(self, now: float) -> Slot | None:
        """The slot to evict next, taken out of its queue; None if there is none."""
        probation = self._probation
        if probation.count > 1 and (self.stubbornness <= 0.0 or probation.bytes > self._small):
            slot, queue = self._settle(probation, now), probation
        else:
            slot = None
        if slot is None:
            slot, queue = self._older(now)
            if slot is None:
                return None
        queue.discard(slot)
        queue.life += (now - slot.turn - queue.life) * (0.01 if queue.life else 1.0)
        where = 1 if queue is self._main else 0
        gone = self._gone
        gone[where] += 1.0
        if gone[0] + gone[1] > self._count:
            self._gone = [0.5 * gone[0], 0.5 * gone[1]]
        self._count -= 1
        self._ghosts.add(slot.digest, where, slot.turn)
        return slot

    def _older(self, now: float) -> tuple[Slot | None, Calendar]:
        """Which of the fronts of the window and the main queue is to go, and its queue."""
        window, main = self._window, self._main
        once, again = window.front(), main.front()
        if once is not None and once.hits != once.seen:
            once = self._settle(window, now)
            again = main.front()
        if again is not None and (again.hits != again.seen or again.spare):
            again = self._settle(main, now)
        once_age = now - once.turn if once is not None else 0.0
        again_age = now - again.turn if again is not None else 0.0
        self._reach = once_age if once_age > again_age else again_age
        if again is None:
            return (once, window) if once is not None else (self._probation.front(), self._probation)
        patience = self.patience if self.patience < _PLAY else 1.0
        if once is None or window.bytes <= self._small or once_age < patience * again_age:
            return again, main
        return once, window

    def _learn(self, ghost: Ghost | None) -> Calendar:
        """The queue that a new entry goes to. An entry that returns (`ghost`) also adjusts the policy."""
        # Two returns too late for any recency outweigh one other miss.
        if ghost is not None and ghost.idle > self._reach:
            self.stubbornness = min(1.0, self.stubbornness + 2.0 / self._count)
        else:
            self.stubbornness = max(-1.0, self.stubbornness - 4.0 / self._count)
        if self.stubbornness > 0.0:
            return self._probation
        if ghost is None or ghost.evictions > _HORIZON * self._count:
            return self._window
        where, gone = ghost.where, self._gone
        factor = 2.0 ** min(1.0, _PRESSURE / self._count * max(1.0, gone[1 - where] / gone[where]))
        if where == 0:
            self.patience = min(1.0, self.patience * factor)
        else:
            self.patience = max(_MIN_PATIENCE, self.patience / factor)
        return self._main

    def _settle(self, queue: Calendar, now: float) -> Slot | None:
        """The front of `queue`, once slots that were hit have been put where they belong."""
        main = self._main
        for _ in range(_SETTLE):
            slot = queue.front()
            if slot is None:
                return None
            if slot.hits != slot.seen:
                used = slot.used or now
                slot.spare = queue is main or slot.hits - slot.seen > 1
                slot.seen = slot.hits
                slot.used = 0.0
            elif slot.spare and self.patience < _FREQUENCY and queue is main:
                slot.spare = False
                used = now
            else:
                return slot
            queue.discard(slot)
            main.add(slot, used + main.life * (slot.worth - 1.0))
        return queue.front()

    def _worth(self, density: float) -> float:
        """Cost per byte relative to a mean newcomer's, which is learnt with this."""
        mean = self._density or density or 1.0  # what costs next to nothing divides to 0
        worth = density / mean
        if worth > _CLIP:
            worth = _CLIP
        elif worth < _LEAST:
            worth = _LEAST
        self._density = mean * (1.0 + (worth - 1.0) * 0.01)
        return worth

    def invariants(self, slots: Sequence[Slot]) -> Iterator[tuple[str, bool]]:
        """What must hold where exactly `slots` are in memory, and whether it does; O(n), for tests."""
        queues = (self._window, self._main, self._probation)
        yield "queued", {slot for queue in queues for slot in queue} == set(slots)
        yield "queued once", sum(queue.count for queue in queues) == self._count == len(slots)
        for queue in queues:
            yield "home", all(slot.home == queue.home for slot in queue)
            yield "count", queue.count == sum(1 for _ in queue)
            yield "queue bytes", queue.bytes == sum(slot.weight for slot in queue)
        yield "patience", _MIN_PATIENCE <= self.patience <= 1.0 and -1.0 <= self.stubbornness <= 1.0
