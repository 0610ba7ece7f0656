"""Kernels of Triton for one query or a few: every row that is to be compared crosses the device's memory once.

Imported where torch and Triton are (torch brings Triton on Linux); a C compiler is needed once, for the launcher.
Scores are in float32, of rows in float16. Names below zero stand for nothing.
"""

from __future__ import annotations

import subprocess

import triton
import triton.language as tl

INTERPRETED = triton.knobs.runtime.interpret
"""Whether the host runs them (TRITON_INTERPRET=1): slowly, and without graphs."""
UNFIT = (RuntimeError, OSError, subprocess.SubprocessError, triton.TritonError)
"""What is raised where there is no compiler, no memory, or a capture was disturbed."""
_LOWEST = tl.constexpr(float("-inf"))


@triton.jit
def stage(given: tl.tensor, asked: tl.tensor, WIDTH: tl.constexpr, STEP: tl.constexpr) -> None:
    """Copy a query of each program from the host's memory to the device's."""
    given += tl.program_id(0) * WIDTH
    asked += tl.program_id(0) * WIDTH
    for first in tl.static_range(0, WIDTH, STEP):
        column = first + tl.arange(0, STEP)
        tl.store(asked + column, tl.load(given + column, mask=column < WIDTH), mask=column < WIDTH)


@triton.jit
def _scores(
    rows: tl.tensor,
    row: tl.tensor,
    asked: tl.tensor,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    STEP: tl.constexpr,
) -> tl.tensor:
    sums = tl.zeros((TILE, STEP), tl.float32)
    for first in tl.static_range(0, WIDTH, STEP):
        column = first + tl.arange(0, STEP)
        inside = column < WIDTH
        one = tl.load(asked + column, mask=inside, other=0)
        held = tl.load(rows + row[:, None] * WIDTH + column[None, :], mask=inside[None, :], other=0)
        sums += held.to(tl.float32) * one[None, :]
    return tl.sum(sums, 1)


@triton.jit
def compare(
    rows: tl.tensor,
    asked: tl.tensor,
    count: tl.tensor,
    scores: tl.tensor,
    best: tl.tensor,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    TILE: tl.constexpr,
    STEP: tl.constexpr,
) -> None:
    """The scores of a chunk of rows, of which `count` are there, and the best of them."""
    chunk = tl.program_id(0).to(tl.int64)
    known, top = tl.load(count), _LOWEST
    for part in range(CHUNK // TILE):
        row = chunk * CHUNK + part * TILE + tl.arange(0, TILE)
        score = tl.where(row < known, _scores(rows, row, asked, WIDTH, TILE, STEP), _LOWEST)
        tl.store(scores + row, score)
        top = tl.maximum(top, tl.max(score, 0))
    tl.store(best + chunk, top)


@triton.jit(do_not_specialize=["most", "parts"])
def visit(
    rows: tl.tensor,
    names: tl.tensor,
    asked: tl.tensor,
    lists: tl.tensor,
    starts: tl.tensor,
    pages: tl.tensor,
    scores: tl.tensor,
    found: tl.tensor,
    best: tl.tensor,
    most: tl.tensor,
    parts: tl.tensor,
    WIDTH: tl.constexpr,
    LISTS: tl.constexpr,
    PAGE: tl.constexpr,
    STEP: tl.constexpr,
) -> None:
    """The scores and names of the rows in a query's lists, page by page, and the best of each of `most` pages.

    Programs take turns at the pages of all its lists, so that none waits for the longest.
    """
    query, place = tl.program_id(1).to(tl.int64), tl.arange(0, LISTS)
    mine = tl.load(lists + query * LISTS + place)
    first = tl.load(starts + mine, mask=mine >= 0, other=0)
    length = tl.load(starts + mine + 1, mask=mine >= 0, other=0) - first
    ends = tl.cumsum(length, 0)
    total = tl.sum(length, 0)
    for turn in range(tl.program_id(0), most, parts):
        top = tl.full((), _LOWEST, tl.float32)
        if turn < total:
            passed = ends <= turn
            inside = turn - tl.sum(tl.where(passed, length, 0), 0)
            begun = tl.sum(tl.where(place == tl.sum(passed.to(tl.int32), 0), first, 0), 0)
            slot = tl.arange(0, PAGE)
            row = tl.load(pages + begun + inside).to(tl.int64) * PAGE + slot
            name = tl.load(names + row)
            score = tl.where(name >= 0, _scores(rows, row, asked + query * WIDTH, WIDTH, PAGE, STEP), _LOWEST)
            out = (query * most + turn) * PAGE + slot
            tl.store(scores + out, score)
            tl.store(found + out, name)
            top = tl.max(score, 0)
        tl.store(best + query * most + turn, top)


@triton.jit(do_not_specialize=["count"])
def select(
    values: tl.tensor,
    names: tl.tensor,
    count: tl.tensor,
    out_values: tl.tensor,
    out_names: tl.tensor,
    NAMED: tl.constexpr,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """The K best of a block of values, and what they are named or else where they stand."""
    part = tl.program_id(0)
    inside = tl.arange(0, BLOCK)
    place = part * BLOCK + inside
    value = tl.load(values + place, mask=place < count, other=_LOWEST)
    for turn in range(K):
        top, at = tl.max(value, 0, return_indices=True)
        name = part * BLOCK + at
        if NAMED:
            name = tl.load(names + name)
        tl.store(out_values + part * K + turn, top)
        tl.store(out_names + part * K + turn, tl.where(top == _LOWEST, -1, name))
        value = tl.where(inside == at, _LOWEST, value)


@triton.jit
def finish(
    scores: tl.tensor,
    names: tl.tensor,
    chunks: tl.tensor,
    told: tl.tensor,
    NAMED: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
) -> None:
    """The K best of the scores in K chunks, their bits, and then what they are named or else where they stand."""
    place = tl.arange(0, K * CHUNK)
    chunk = tl.load(chunks + place // CHUNK)
    row = chunk * CHUNK + place % CHUNK
    value = tl.load(scores + row, mask=chunk >= 0, other=_LOWEST)
    for turn in range(K):
        top, at = tl.max(value, 0, return_indices=True)
        name = tl.sum(tl.where(place == at, row, 0), 0)
        if NAMED:
            name = tl.load(names + name)
        tl.store(told + turn, top.to(tl.int32, bitcast=True))
        tl.store(told + K + turn, tl.where(top == _LOWEST, -1, name))
        value = tl.where(place == at, _LOWEST, value)


@triton.jit(do_not_specialize=["count"])
def tell(values: tl.tensor, names: tl.tensor, told: tl.tensor, count: tl.tensor, BLOCK: tl.constexpr) -> None:
    """Copy `count` values, as bits, and then their names to the host's memory."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    tl.store(told + place, tl.load(values + place, mask=inside).to(tl.int32, bitcast=True), mask=inside)
    tl.store(told + count + place, tl.load(names + place, mask=inside), mask=inside)
