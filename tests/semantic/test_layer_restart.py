"""A layer with a directory answers after a restart as if it had never stopped, and never wrongly."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from full_disk import full_disk
from verifiers import SameWords

from cachelayer import CacheLayer, ConfigurationError, Policy, Source
from cachelayer.exact.wire.entry_log import EntryLog
from cachelayer.testing import WordEmbedder
from cachelayer.types import Findable, Record

TOPICS = ("parcel", "refund", "invoice", "password", "garden", "engine", "violin", "harbour")


def layer_in(directory: Path, **options: Any) -> CacheLayer:
    options = {"embedder": WordEmbedder(), "verifier": SameWords(), **options}
    return CacheLayer(index=directory, policy=Policy(max_error_rate=0.05, shadow=0), **options)


class Backend:
    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, question: str) -> str:
        self.calls.append(question)
        return f"all about {question.split()[-1]}"


async def asked(layer: CacheLayer, *questions: str) -> tuple[Backend, list[Any]]:
    backend = Backend()
    ask = layer.wrap(backend, name="ask", tags=["kb:{question}"])
    async with layer:
        outcomes = [await ask.outcome(question) for question in questions]
        await layer.flush()
    return backend, outcomes


async def test_what_was_answered_survives_a_restart_word_for_word_and_by_meaning(tmp_path: Path) -> None:
    await asked(layer_in(tmp_path), *(f"please tell me everything about my {topic}" for topic in TOPICS))
    backend, (same, near) = await asked(
        layer_in(tmp_path),
        "please tell me everything about my refund",
        "tell me everything please about my violin",
    )
    assert same.source is Source.MEMORY and same.answer == "all about refund"
    assert near.source is Source.INDEX and near.answer == "all about violin"
    assert backend.calls == []


async def test_a_large_scope_gets_its_codes_again_though_nothing_new_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_cpu import FaissIndex

    monkeypatch.setattr(FaissIndex.__init__, "__kwdefaults__", {"promote_at": 1024})
    questions = [f"number {i}" for i in range(1030)]
    await asked(layer_in(tmp_path), *questions)
    layer = layer_in(tmp_path)
    backend, outcomes = await asked(layer, questions[7])
    assert outcomes[0].source is Source.MEMORY and backend.calls == []
    (home,) = layer._similar.index.inner._partitions.values()  # type: ignore[union-attr]
    assert home.view.sieve.rows >= 1024


async def test_what_was_invalidated_or_erased_never_comes_back(tmp_path: Path) -> None:
    backend = Backend()
    layer = layer_in(tmp_path)
    ask = layer.wrap(backend, name="ask", tags=["{question}"])
    await layer.start()
    for question in ("the red garden", "the blue garden"):
        await ask(question)
    await layer.flush()
    await layer.invalidate(tags=["the red garden"])
    log = (tmp_path / "entries").read_bytes()
    backend, (red, blue) = await asked(layer_in_copy(tmp_path), "the red garden", "the blue garden")
    assert (red.source, blue.source) == (Source.BACKEND, Source.MEMORY)
    await layer.erase()
    assert b"red garden" in log
    assert b"garden" not in contents(tmp_path)
    await layer.aclose()


def contents(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def layer_in_copy(directory: Path) -> CacheLayer:
    """A layer on what a crash at this moment would leave."""
    copy = directory.with_name(directory.name + " copy")
    subprocess.run(["cp", "-r", str(directory), str(copy)], check=True)
    return layer_in(copy)


async def test_another_model_embeds_what_it_finds_again_and_answers_go_on(tmp_path: Path) -> None:
    questions = [f"please tell me everything about my {topic}" for topic in TOPICS]
    await asked(layer_in(tmp_path), *questions)
    layer, backend = layer_in(tmp_path, embedder=WordEmbedder(96)), Backend()
    ask = layer.wrap(backend, name="ask")
    async with layer:
        async with asyncio.timeout(30):
            while layer.stats()["elsewhere"]["restored"] < len(TOPICS):
                await asyncio.sleep(0)
        near = await ask.outcome("tell me everything please about my violin")
    assert (near.source, near.answer, backend.calls) == (Source.INDEX, "all about violin", [])


async def test_a_damaged_log_costs_what_was_damaged_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    questions = [f"please tell me everything about my {topic}" for topic in TOPICS]
    await asked(layer_in(tmp_path), *questions)
    log = tmp_path / "entries"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    backend, outcomes = await asked(layer := layer_in(tmp_path), *questions)
    assert [outcome.answer for outcome in outcomes] == [f"all about {topic}" for topic in TOPICS]
    assert len(backend.calls) == 1 and layer.stats()["elsewhere"]["lost"] > 0
    assert "bytes are torn or damaged, and nothing of them is served" in caplog.text


async def test_a_file_that_is_not_ours_or_newer_than_we_goes_aside_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for n, other in enumerate((b"somebody's own list of entries", b"CLENTR99 of a version to come"), start=1):
        (tmp_path / "entries").write_bytes(other)
        await asked(layer_in(tmp_path), "please tell me everything about my parcel")
        assert (tmp_path / f"entries.unread-{n}").read_bytes() == other
        assert f"it was renamed to entries.unread-{n}, and nothing of it is served" in caplog.text
    _, (again,) = await asked(layer_in(tmp_path), "please tell me everything about my parcel")
    assert again.source is Source.MEMORY


async def test_an_erasure_takes_what_another_version_left_and_nothing_of_anybody_elses(
    tmp_path: Path,
) -> None:
    """After a rollback the newer version's answers lay there for ever, whoever was erased."""
    for other in (b"somebody's own list of gardens", b"CLENTR99 a tenant's answer about violins"):
        (tmp_path / "entries").write_bytes(other)
        await asked(layer_in(tmp_path), "please tell me everything about my parcel")
    async with layer_in(tmp_path) as layer:
        await layer.erase(tenant="acme")
    left = contents(tmp_path)
    assert b"violins" not in left and b"list of gardens" in left


async def test_functions_wrapped_after_the_start_get_their_entries(tmp_path: Path) -> None:
    await asked(layer_in(tmp_path), "please tell me everything about my parcel")
    layer, backend = layer_in(tmp_path), Backend()
    async with layer:
        ask = layer.wrap(backend, name="ask")
        await ask("something else")
        await layer.flush()
        assert (await ask.outcome("please tell me everything about my parcel")).source is Source.MEMORY


async def test_a_full_disk_costs_persistence_not_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backend = Backend()
    layer = layer_in(tmp_path)
    ask = layer.wrap(backend, name="ask", tags=["{question}"])
    async with layer:
        await ask("the red garden")
        await layer.flush()
        with full_disk((tmp_path / "entries").stat().st_size):
            assert await ask("the blue garden") == "all about garden"
            await layer.flush()
            assert layer.stats()["elsewhere"]["failure"]
            assert "stage persist failed with OSError (File too large)" in caplog.text
            await layer.invalidate(tags=["the red garden"])
            await layer.flush()
    _, outcomes = await asked(layer_in(tmp_path), "the red garden", "the blue garden")
    assert outcomes[0].source is Source.BACKEND


def test_of_entries_that_a_full_disk_refused_nothing_waits(tmp_path: Path) -> None:
    log, key = EntryLog(tmp_path / "entries"), b"k" * 16
    log.load()
    with full_disk((tmp_path / "entries").stat().st_size):
        log.put(1, Findable(key, b"", b"", "f", "t", 1.0), Record(key, b"", b"", 0.0, 1.0, 1.0))
        log.drop(1)
        log.put(2, Findable(key, b"", b"", "f", "t", 1.0), Record(key, b"", b"", 0.0, 1.0, 1.0))
        with pytest.raises(OSError):
            log.flush()
    assert not log.due


def test_one_directory_serves_one_process_and_no_shared_store(tmp_path: Path) -> None:
    pytest.importorskip("hiredis")
    with pytest.raises(ConfigurationError, match="leave it out"):
        layer_in(tmp_path, store="redis://127.0.0.1:1/0")


async def test_a_second_layer_in_the_same_directory_is_told_so(tmp_path: Path) -> None:
    async with layer_in(tmp_path):
        with pytest.raises(ConfigurationError, match="another process"):
            await layer_in(tmp_path).start()


CHILD = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [sys.argv[2], sys.argv[2] + "/../kit"]
from test_layer_restart import Backend, layer_in, question
async def main():
    layer = layer_in(Path(sys.argv[1]))
    ask = layer.wrap(Backend(), name="ask", tags=["{question}"])
    await layer.start()
    print("ready", flush=True)
    start = int(sys.argv[3])
    for number in range(start, start + 100_000):
        await ask(question(number))
        if number % 5 == 0:
            await layer.flush()
            print(number, flush=True)
        if number % 7 == 0:
            await layer.invalidate(tags=[question(number - 3)])
            print("gone", number - 3, flush=True)
asyncio.run(main())
"""


def question(number: int) -> str:
    return f"number {number} of the {TOPICS[number % 8]} what is w{number % 97} and x{number // 97}"


async def killed(directory: Path, seed: int) -> None:
    """One life that ends by kill -9; then everything that is left is asked for, and every neighbour looked at."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        str(directory),
        str(Path(__file__).parent),
        str(seed * 100_000),
        stdout=-1,
    )
    assert child.stdout is not None and await child.stdout.readline() == b"ready\n"
    await asyncio.sleep(random.Random(seed).uniform(0.0, 0.3))  # the moment of death is the variable
    child.send_signal(signal.SIGKILL)
    told = (await child.stdout.read()).decode().split("\n")[:-1]
    await child.wait()
    flushed = max([int(line) for line in told if not line.startswith("gone")], default=-1)
    gone = {int(line.split()[1]) for line in told if line.startswith("gone")}
    layer = layer_in(directory)
    backend = Backend()
    ask = layer.wrap(backend, name="ask")
    async with layer:
        for number in range(seed * 100_000, flushed + 1):
            with layer.tighten(no_similar=True):
                outcome = await ask.outcome(question(number))
            own = outcome.source is Source.MEMORY
            assert outcome.answer == f"all about {question(number).split()[-1]}"
            assert number not in gone or not own, "an invalidated answer came back"
        tier = layer._similar
        assert tier is not None and tier.index is not None
        for key in tier.index.ids().tolist():  # type: ignore[attr-defined]
            entry = tier.entries[key]  # a vector without an entry would be a dangling neighbour
            assert entry.answer == f"all about {entry.text.split()[-1]}"
            vector = (await tier.embedder.embed([entry.text])).vectors[0]
            assert float(vector @ tier.index.vector(key)) > 0.999  # type: ignore[attr-defined]


async def test_kill_9_leaves_no_wrong_and_no_dangling_neighbour(tmp_path: Path) -> None:
    for seed in range(3):
        await killed(tmp_path, seed)


@pytest.mark.soak
async def test_kill_9_two_hundred_times(tmp_path: Path) -> None:
    started = time.monotonic()
    for seed in range(200):
        await killed(tmp_path / str(seed // 20), seed)
        print(f"{seed + 1} of 200 after {time.monotonic() - started:.0f} s", flush=True)
