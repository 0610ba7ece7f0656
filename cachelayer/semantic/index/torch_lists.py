"""Rows on a GPU in lists by nearest centroid, by torch and kernels of Triton, of which a query reads the nearest."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from ...types import Vectors
from .packed import Found
from .replayed import STEP, TILE, Replayed
from .topk import padded, widened
from .torch_flat import TorchFlat, give_back, leave

_PAGE = 32
"""Rows of one list that lie side by side."""
_ROUNDS = 12
_PARTINGS = (2, 4, 6)
"""Rounds of k-means after which crowded lists are given more centroids."""
_CROWDED = 2
_SCORES = 2**26
"""Scores at once."""
_PROGRAMS = 4096
_ONE_PROGRAMS = 528
"""Four for each multiprocessor of an H100 or H200."""
_FEW = 64
"""Queries up to which, and lists, there are graphs; many take longer on the device than in Python."""
_GROWTH = 1.25


class TorchLists:
    """Inverted file (Jegou et al. 2011) of float16 rows (n, d); `search` as FAISS's, among the `nprobe` nearest lists.

    Rows lie in pages of their list, in the order in which they came, and the programs of a search share its pages
    evenly, so that a long list takes no longer than short ones with as many rows. Once a quarter of the pages is new
    those of a list are laid side by side: a search that touches hundreds of places far apart in memory waits for
    their addresses to be looked up. About `count` lists by spherical k-means over `sample` (m, d); where they are
    crowded there are more.
    """

    def __init__(
        self, torch: ModuleType, kernels: ModuleType, device: Any, sample: Vectors, count: int, room: int = 0
    ) -> None:
        self._torch, self._kernels, self._device = torch, kernels, device
        self._centroids = TorchFlat(torch, sample.shape[1], device)
        with torch.inference_mode():
            self._centroids.add(self._learnt(sample, count).cpu().numpy())
            self.nlist = self._centroids.ntotal
            self._used = torch.zeros(self.nlist, dtype=torch.int64, device=device)
            self._last = torch.zeros_like(self._used)
            self._rows = torch.empty((0, sample.shape[1]), dtype=torch.float16, device=device)
            self._names = torch.empty(0, dtype=torch.int32, device=device)
            self._owner = torch.empty(0, dtype=torch.int64, device=device)
            self._pages, self._in_order, self.ntotal, self._nprobe = 0, 0, 0, 8
            self._grow(-(-room // _PAGE) + self.nlist)
        self._reach: _Reach | None = None
        self._few: _AmongLists | None = None

    def __del__(self) -> None:
        if self.__dict__:
            torch, device = self._torch, self._device
            self.__dict__.clear()
            give_back(torch, device)

    def abandon(self) -> None:
        """As TorchFlat's."""
        self._centroids.abandon()
        leave(self)

    @property
    def nprobe(self) -> int:
        return self._nprobe

    @nprobe.setter
    def nprobe(self, lists: int) -> None:
        self._nprobe, self._reach, self._few = lists, None, None

    def add(self, rows: Vectors) -> None:
        torch = self._torch
        with torch.inference_mode():
            fresh = torch.from_numpy(rows).to(self._device, torch.float16)
            lists, order = self._nearest(fresh, self._centroids.rows[: self.nlist]).sort(stable=True)
            count = torch.bincount(lists, minlength=self.nlist)
            rank = torch.arange(len(lists), device=self._device) - (count.cumsum(0) - count)[lists]
            place, had = self._used[lists] + rank, (self._used + _PAGE - 1) // _PAGE
            used = self._used + count
            more = (used + _PAGE - 1) // _PAGE - had
            ends = self._pages + more.cumsum(0)
            pages = int(ends[-1])
            if pages > len(self._owner):
                self._grow(pages)
            fresh_page = (ends - more)[lists] + place // _PAGE - had[lists]
            page = torch.where(place // _PAGE >= had[lists], fresh_page, self._last[lists])
            slot = page * _PAGE + place % _PAGE
            self._rows[slot], self._names[slot] = fresh[order], (order + self.ntotal).int()
            numbers = torch.arange(self.nlist, device=self._device)
            self._owner[self._pages : pages] = numbers.repeat_interleave(more)
            self._used, self._last = used, torch.where(more > 0, ends - 1, self._last)
        self._pages, self.ntotal = pages, self.ntotal + len(rows)
        self._reach = self._few = None

    def search(self, queries: Vectors, k: int) -> Found:
        """Scores (n, k) float32 descending and positions (n, k) int64, padded with -inf and -1."""
        if not self.ntotal:
            return padded(len(queries), k)
        found = self._few.search(queries, k) if self._few else None
        if found is None:
            with self._torch.inference_mode(), self._current():
                reach = self._reach = self._reach or self._reached()
                found = self._by_graph(queries, k, reach) or self._together(queries, k, reach)
        return found if found[0].shape[1] == k else widened(*found, k)

    def _current(self) -> AbstractContextManager[Any]:
        """Triton launches on the current device."""
        on_gpu = self._device.type == "cuda"
        return self._torch.cuda.device(self._device) if on_gpu else nullcontext()

    def _reached(self) -> _Reach:
        if self._pages > _GROWTH * self._in_order:
            self._lay_in_order()
        return _Reach(self)

    def _by_graph(self, queries: Vectors, k: int, reach: _Reach) -> Found | None:
        if reach.probes > _FEW or self._few is not None:
            return None
        self._few = _AmongLists(self._torch, self._kernels, self._centroids, reach)
        return self._few.search(queries, k)

    def _together(self, queries: Vectors, k: int, reach: _Reach) -> Found:
        torch = self._torch
        asked = torch.from_numpy(queries.copy()).to(self._device)
        step = max(1, _SCORES // (reach.most * _PAGE))
        parts = [reach.among(asked[at : at + step], k, self._centroids) for at in range(0, len(asked), step)]
        scores, positions = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
        return scores, positions

    def _nearest(self, rows: Any, centroids: Any) -> Any:
        """The nearest centroid of each row."""
        step = max(1, 4 * _SCORES // len(centroids))
        parts = (rows[at : at + step] @ centroids.T for at in range(0, len(rows), step))
        return self._torch.cat([part.argmax(1) for part in parts])

    def _learnt(self, sample: Vectors, count: int) -> Any:
        torch = self._torch
        rows = torch.from_numpy(sample).to(self._device, torch.float16)
        chance = torch.Generator(self._device).manual_seed(0)
        count, mean = min(count, len(rows)), len(rows) / count
        centroids = rows[torch.randperm(len(rows), generator=chance, device=self._device)[:count]].float()
        for turn in range(_ROUNDS):
            nearest = self._nearest(rows, centroids.half())
            sums = torch.zeros_like(centroids).index_add_(0, nearest, rows.float())
            length = sums.norm(dim=1, keepdim=True)
            centroids = torch.where(length > 0, sums / length.clamp(min=1e-12), centroids)
            if turn in _PARTINGS:
                mixed = torch.randperm(len(rows), generator=chance, device=self._device)
                centroids = torch.cat([centroids, rows[self._crowded(nearest, mixed, len(centroids), mean)]])
        return centroids

    def _crowded(self, nearest: Any, mixed: Any, count: int, mean: float) -> Any:
        """Of each list that is twice as long as the mean as many rows, by chance, as it lacks centroids."""
        torch = self._torch
        size = torch.bincount(nearest, minlength=count)
        more = torch.where(size > _CROWDED * mean, (size / mean).long() - 1, 0)
        lists, order = nearest[mixed].sort(stable=True)
        rank = torch.arange(len(lists), device=self._device) - (size.cumsum(0) - size)[lists]
        return mixed[order[rank < more[lists]]]

    def _lay_in_order(self) -> None:
        """Where there is no room for that, they stay as they are."""
        torch, pages, all_pages = self._torch, self._pages, len(self._owner)
        self._in_order = pages
        owner, order = self._owner[:pages].sort(stable=True)
        try:
            laid = torch.zeros_like(self._rows), torch.full_like(self._names, -1)
        except torch.cuda.OutOfMemoryError:
            return
        for held, fresh in zip((self._rows, self._names), laid, strict=True):
            out = fresh.view(all_pages, -1)[:pages]
            torch.index_select(held.view(all_pages, -1)[:pages], 0, order, out=out)
        self._rows, self._names = laid
        self._owner[:pages] = owner
        self._last = torch.bincount(owner, minlength=self.nlist).cumsum(0) - 1
        give_back(self._torch, self._device)

    def _grow(self, needed: int) -> None:
        torch, held = self._torch, len(self._owner)
        pages = max(needed, int(_GROWTH * held))
        rows = torch.zeros((pages * _PAGE, self._rows.shape[1]), dtype=torch.float16, device=self._device)
        names = torch.full((pages * _PAGE,), -1, dtype=torch.int32, device=self._device)
        owner = torch.zeros(pages, dtype=torch.int64, device=self._device)
        rows[: held * _PAGE], names[: held * _PAGE], owner[:held] = self._rows, self._names, self._owner
        self._rows, self._names, self._owner = rows, names, owner
        give_back(self._torch, self._device)


class _Reach:
    """The pages of each list, and how many of them `nprobe` lists have at most."""

    def __init__(self, lists: TorchLists) -> None:
        torch, owner = lists._torch, lists._owner[: lists._pages]
        self._torch, self._kernels = torch, lists._kernels
        self._rows, self._names = lists._rows, lists._names
        length = torch.bincount(owner, minlength=lists.nlist)
        self._pages = owner.argsort(stable=True).int()
        self._starts = torch.cat([length.new_zeros(1), length.cumsum(0)]).int()
        self.near = min(lists.nprobe, lists.nlist)
        self.probes = 1 << max(3, (self.near - 1).bit_length())
        self.most = int(length.topk(min(self.probes, lists.nlist))[0].sum())

    def room(self, queries: int) -> tuple[Any, Any, Any]:
        """For what is visited: scores and names (n, most, page), and the best of each page (n, most)."""
        torch, shape, device = self._torch, (queries, self.most), self._rows.device
        scores = torch.empty((*shape, _PAGE), device=device)
        return scores, torch.empty_like(scores, dtype=torch.int32), torch.empty(shape, device=device)

    def visited(self, asked: Any, lists: Any, parts: int, room: tuple[Any, Any, Any]) -> None:
        """Fill `room` with what is in the `lists` (n, probes) of queries (n, d)."""
        where = self._rows, self._names, asked, lists, self._starts, self._pages
        shape = self._rows.shape[1], self.probes, _PAGE, STEP
        grid = min(parts, self.most), len(lists)
        self._kernels.visit[grid](*where, *room, self.most, grid[0], *shape, num_warps=4)

    def among(self, asked: Any, k: int, centroids: TorchFlat) -> tuple[Any, Any]:
        """Scores (n, k or fewer) float32 and positions int32 of those nearest to queries (n, d), on the device."""
        torch, count = self._torch, len(asked)
        lists = torch.full((count, self.probes), -1, dtype=torch.int32, device=asked.device)
        lists[:, : self.near] = centroids.nearest(asked, self.near)[1]
        scores, found, best = room = self.room(count)
        self.visited(asked, lists, _PROGRAMS // count + 1, room)
        top, chosen = best.topk(min(k, self.most), sorted=False)
        wide = chosen[:, :, None].expand(-1, -1, _PAGE)
        inside = scores.gather(1, wide).masked_fill_((top == -torch.inf)[:, :, None], -torch.inf).flatten(1)
        values, places = inside.topk(min(k, inside.shape[1]))
        names = found.gather(1, wide).flatten(1).gather(1, places)
        return values, names.masked_fill_(values == -torch.inf, -1)


class _AmongLists(Replayed):
    def __init__(self, torch: ModuleType, kernels: ModuleType, centroids: TorchFlat, reach: _Reach) -> None:
        rows, device = centroids.rows, centroids.rows.device
        super().__init__(torch, kernels, rows.shape[1], device, _FEW)
        self._centroids, self._reach = centroids, reach
        self._near = torch.empty(len(rows), device=device)
        self._nearest = torch.empty(len(rows) // TILE, device=device)
        self._lists = torch.empty(2 * reach.probes, dtype=torch.int32, device=device)
        self._room = reach.room(1)

    def _run(self, count: int, size: int, told: Any) -> None:
        if count == 1:
            self._alone(size, told)
            return
        values, names = self._reach.among(self.asked[:count], size, self._centroids)
        self._kernels.tell[(-(-count * size // 256),)](values, names, told, count * size, 256)

    def _alone(self, size: int, told: Any) -> None:
        centroids, reach = self._centroids, self._reach
        self._compare(centroids.rows, centroids.count, self._near, self._nearest)
        self._choose(self._near, self._nearest, None, reach.probes, self._lists, TILE)
        lists = self._lists[None, reach.probes :]
        reach.visited(self.asked, lists, _ONE_PROGRAMS, self._room)
        scores, found, best = self._room
        self._choose(scores, best[0], found, size, told, _PAGE)
