"""Recorded traffic: off by default, what a line holds, who can read it, and that nobody waits or fails for it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError, Policy, Trace
from cachelayer.observe.traffic import MAX_TEXT, Seen, TrafficLog, line_of, row
from cachelayer.testing import Gate, ManualClock, WordEmbedder


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("*")) for line in path.read_text().splitlines()]


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def recording(folder: Path, **fields: Any) -> CacheLayer:
    trace = Trace(path=str(folder), **fields)
    return CacheLayer(policy=Policy(record=trace), semantic=False, clock=ManualClock())


async def test_nothing_is_recorded_unless_asked_for(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    layer = CacheLayer(semantic=False)
    ask = layer.wrap(Gate(opened=True), name="ask")
    await ask("q")
    await layer.flush()
    assert lines(tmp_path) == [] and layer.stats()["recorded"]["written"] == 0


async def test_every_request_has_a_line_hits_included(tmp_path: Path) -> None:
    layer = recording(tmp_path, answers="text")
    ask = layer.wrap(Gate(lambda q: f"about {q}", opened=True), name="ask")
    for question in ("a", "a", "b", "a"):
        await ask(question)
    await layer.flush()
    told = lines(tmp_path)
    assert [(t["question"], t["answer"], t["tier"], t["match"]) for t in told] == [
        ("a", "about a", "backend", None), ("a", "about a", "memory", "exact"),
        ("b", "about b", "backend", None), ("a", "about a", "memory", "exact"),
    ]  # fmt: skip
    assert all(t["v"] == 1 and t["at"] == 1_000_000.0 and t["latency"] >= 0 for t in told)
    assert len({t["scope"] for t in told}) == 1


async def test_once_closed_each_functions_requests_are_in_its_own_directory(tmp_path: Path) -> None:
    async with CacheLayer(semantic=False) as layer:
        for name in ("one", "two"):
            await layer.wrap(Gate(opened=True), name=name, record=Trace(path=str(tmp_path / name)))(name)
    assert [[t["question"] for t in lines(tmp_path / name)] for name in ("one", "two")] == [["one"], ["two"]]


async def test_a_text_that_no_file_can_hold_takes_no_other_request_along(tmp_path: Path) -> None:
    layer = recording(tmp_path)
    ask = layer.wrap(Gate(opened=True), name="ask")
    for question in ("a", "half a pair: \ud83d", "b"):
        await ask(question)
    await layer.flush()
    assert [told["question"] for told in lines(tmp_path)] == ["a", "b"]
    recorded = layer.stats()["recorded"]
    assert (recorded["written"], recorded["lost"]) == (2, 1)


async def test_tenants_have_scopes_of_their_own_that_name_nobody(tmp_path: Path) -> None:
    layer = recording(tmp_path)
    ask = layer.wrap(Gate(opened=True), name="ask")
    for tenant in ("acme-corp", "wickley"):
        with layer.scope(tenant=tenant):
            await ask("q")
    await layer.flush()
    told = lines(tmp_path)
    assert told[0]["scope"] != told[1]["scope"]
    assert "acme" not in json.dumps(told)


async def test_answers_are_digests_unless_their_text_is_wanted(tmp_path: Path) -> None:
    kept = {}
    for answers in ("text", "digest", "none"):
        layer = recording(tmp_path / answers, answers=answers)
        ask = layer.wrap(Gate(lambda q: "a secret answer", opened=True), name="ask")
        await ask("q")
        await layer.flush()
        (kept[answers],) = lines(tmp_path / answers)
    assert kept["text"]["answer"] == "a secret answer"
    assert "answer" not in kept["digest"] and kept["digest"]["answer_digest"] == kept["text"]["answer_digest"]
    assert not {"answer", "answer_digest"} & kept["none"].keys()


async def test_redaction_sees_every_text_and_a_failing_one_records_nothing(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        if "unspeakable" in text:
            raise ValueError(text)
        return text.replace("Ann", "[name]")

    layer = recording(tmp_path, answers="text", redact=redact)
    ask = layer.wrap(Gate(lambda q: "Hello Ann", opened=True), name="ask")
    assert await ask("I am Ann") == "Hello Ann"
    assert await ask("unspeakable") == "Hello Ann"
    await layer.flush()
    (told,) = lines(tmp_path)
    assert (told["question"], told["answer"]) == ("I am [name]", "Hello [name]")
    assert layer.stats()["recorded"]["lost"] == 1


async def test_earlier_turns_are_recorded_and_redacted(tmp_path: Path) -> None:
    layer = CacheLayer(
        policy=Policy(record=Trace(path=str(tmp_path), redact=str.upper)), embedder=WordEmbedder()
    )

    @layer.cached
    async def chat(messages: list[dict[str, str]]) -> str:
        return "cancelled"

    said = (("user", "book a table"), ("assistant", "booked"), ("user", "cancel it"))
    async with layer:
        await chat([{"role": role, "content": text} for role, text in said])
    (told,) = lines(tmp_path)
    assert told["question"] == "CANCEL IT"
    assert told["turns"] == [["user", "BOOK A TABLE"], ["assistant", "BOOKED"]]


async def test_a_stream_is_one_line_at_its_end(tmp_path: Path) -> None:
    layer = recording(tmp_path, answers="text")

    @layer.cached
    async def tell(question: str) -> AsyncIterator[str]:
        for piece in ("one ", "two"):
            yield piece

    for _ in range(2):
        assert [piece async for piece in tell("q")] == ["one ", "two"]
    await layer.flush()
    assert [(t["answer"], t["tier"]) for t in lines(tmp_path)] == [
        ("one two", "backend"),
        ("one two", "memory"),
    ]


def test_plain_functions_are_recorded_too(tmp_path: Path) -> None:
    layer = recording(tmp_path, answers="text")
    ask = layer.wrap(lambda question: "plain", name="ask")
    assert ask("q") == ask("q") == "plain"
    asyncio.run(layer.flush())
    asyncio.run(layer.aclose())
    assert [t["tier"] for t in lines(tmp_path)] == ["backend", "memory"]


async def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "traffic"
    before = os.umask(0)
    try:
        layer = recording(folder)
        await layer.wrap(Gate(opened=True), name="ask")("q")
        await layer.flush()
    finally:
        os.umask(before)
    (path,) = files_of(folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("failing", ["file", "device"])
async def test_a_log_that_cannot_be_written_costs_no_caller_anything(tmp_path: Path, failing: str) -> None:
    folder = tmp_path / "f"
    if failing == "file":
        folder.write_text("in the way")
    else:
        folder = Path("/dev/full/x")
    layer = recording(folder)
    ask = layer.wrap(Gate(opened=True), name="ask")
    assert await ask("q") == "answer 1"
    await layer.flush()
    stats = layer.stats()
    assert stats["recorded"]["lost"] == 1 and any(name.startswith("traffic:") for name in stats["faults"])


async def test_redaction_and_disk_hold_no_caller(tmp_path: Path) -> None:
    """The writing thread is held: callers are served all the same."""
    held = threading.Event()

    def redact(text: str) -> str:
        assert held.wait(10)
        return text

    layer = recording(tmp_path, redact=redact)
    ask = layer.wrap(Gate(opened=True), name="ask")
    assert [await ask(q) for q in "abab"] == ["answer 1", "answer 2", "answer 1", "answer 2"]
    assert lines(tmp_path) == []
    held.set()
    await layer.flush()
    assert len(lines(tmp_path)) == 4


def seen(question: str, answer: str = "a") -> Seen:
    return Seen(1.0, "f", b"scope", question, [], answer, "backend", None, 0.5)


def test_texts_too_long_to_be_whole_are_not_recorded(tmp_path: Path) -> None:
    trace = Trace(path=str(tmp_path))
    assert row(seen("x" * MAX_TEXT), trace) is not None
    assert row(seen("x" * (MAX_TEXT + 1)), trace) is None


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=60), st.integers(1, 4))
def test_files_are_bounded_in_size_and_number_and_keep_the_newest(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], files: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = TrafficLog(Trace(path=str(folder), max_bytes=64 * 1024, files=files))
    for i, size in enumerate(sizes):
        log.write([line_of({"i": i, "x": "y" * size})])
    log.close()
    paths = sorted(folder.iterdir())
    assert 1 <= len(paths) <= files and all(p.stat().st_size <= 64 * 1024 for p in paths)
    kept = [told["i"] for told in lines(folder)]
    assert sorted(kept) == list(range(len(sizes) - len(kept), len(sizes)))


@pytest.mark.parametrize("step", [0, -3600, 3600], ids=["within a moment", "set back", "set forward"])
def test_the_newest_is_kept_whatever_the_clock_tells(tmp_path: Path, step: float) -> None:
    times = iter([1e9, *[1e9 + step] * 24])
    log = TrafficLog(Trace(path=str(tmp_path), max_bytes=64 * 1024, files=3), now=lambda: next(times))
    own = tmp_path / "traffic-of-march.jsonl"
    own.write_text("")
    opened = len(os.listdir("/dev/fd"))
    for i in range(25):
        log.write([line_of({"i": i, "x": "y" * 40_000})])
    assert len(os.listdir("/dev/fd")) <= opened + 1
    log.close()
    own.unlink()  # which the owner laid there
    assert [told["i"] for told in lines(tmp_path)] == [22, 23, 24]


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "log").mkdir()
    log = TrafficLog(Trace(path=str(tmp_path / "log")), now=lambda: 1.0)
    (tmp_path / "log" / f"traffic-{1000:015d}-{os.getpid()}-000001.jsonl").symlink_to(target)
    with pytest.raises(FileExistsError):
        log.write([line_of({"i": 1})])
    assert not target.exists()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"path": ""}, "record.path"),
        ({"path": "x", "answers": "all"}, "record.answers"),
        ({"path": "x", "files": 0}, "record.files"),
        ({"path": "x", "max_bytes": 1}, "record.max_bytes"),
        ({"path": "x", "redact": "me"}, "record.redact"),
        ({"path": "x", "file": 1}, "did you mean 'files'"),
    ],
)
def test_bad_settings_name_field_and_remedy(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Trace(**fields)


def test_a_directory_alone_is_enough_and_anything_else_is_refused() -> None:
    assert Policy(record="traffic").record == Trace(path="traffic")
    with pytest.raises(ConfigurationError, match="record="):
        Policy(record=7)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_each_process_writes_to_a_file_of_its_own(tmp_path: Path) -> None:
    layer = recording(tmp_path)
    ask = layer.wrap(Gate(opened=True), name="ask")

    async def once(question: str) -> None:
        await ask(question)
        await layer.flush()

    asyncio.run(once("parent"))
    child = os.fork()
    if not child:
        asyncio.run(once("child"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    asyncio.run(once("parent again"))
    by_file = [
        [json.loads(x)["question"] for x in path.read_text().splitlines()] for path in files_of(tmp_path)
    ]
    assert sorted(by_file) == [["child"], ["parent", "parent again"]]
