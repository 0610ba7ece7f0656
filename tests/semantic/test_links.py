"""A cache's directory is its owner's alone, and nothing is written to where links lead that somebody left there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cachelayer import CacheLayer
from cachelayer.exact.wire.entry_log import EntryLog
from cachelayer.semantic.index.snapshot import write_snapshot
from cachelayer.testing import WordEmbedder


@pytest.fixture
def precious(tmp_path: Path) -> Iterator[Path]:
    """Is as it was when the test is over."""
    file = tmp_path / "precious"
    file.write_text("precious")
    yield file
    assert file.read_text() == "precious"


async def test_the_folders_made_for_a_directory_are_its_owner_s_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with CacheLayer(index=str(tmp_path / "caches" / "index"), embedder=WordEmbedder()):
            pass
    finally:
        os.umask(before)
    for folder in (tmp_path / "caches" / "index", tmp_path / "caches" / "index" / "vectors"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_what_a_lock_links_to_is_as_it_was(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "index" / "vectors").mkdir(parents=True)
    (tmp_path / "index" / "vectors" / "lock").symlink_to(precious)
    async with CacheLayer(index=str(tmp_path / "index"), embedder=WordEmbedder()):
        pass


def test_what_a_file_in_the_making_links_to_is_as_it_was(tmp_path: Path, precious: Path) -> None:
    log = EntryLog(tmp_path / "entries")
    log.load()
    (tmp_path / "entries.new").symlink_to(precious)
    log.rewrite()
    log.close()
    assert not (tmp_path / "entries").is_symlink()


def test_what_a_snapshot_in_the_making_links_to_is_as_it_was(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "snapshot.new").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        write_snapshot(tmp_path / "snapshot", [], 4)
    write_snapshot(tmp_path / "snapshot", [], 4)  # it was taken away
