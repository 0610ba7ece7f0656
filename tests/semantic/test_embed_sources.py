"""Where a model's files come from: a directory, what the hub's client kept, the hub; or an error says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tiny_bert

from cachelayer.errors import ConfigurationError
from cachelayer.semantic.embed.onnx import OnnxEmbedder
from cachelayer.semantic.embed.sources import open_source

NAME = "some/model"
LOOK = f"""
from cachelayer.errors import ConfigurationError
from cachelayer.semantic.embed.sources import open_source
try:
    with open_source({NAME!r}, lambda line: None, DOWNLOAD) as found:
        print("found", sorted(path.name for path in found.iterdir() if path.is_file()))
except ConfigurationError as fault:
    print(fault)
"""


def looked_for(home: Path, *, download: bool = True, **env: str) -> str:
    """What a process of its own says: the hub's client reads its settings once."""
    env = {"HF_HOME": str(home), "HF_ENDPOINT": "http://127.0.0.1:9", **env}
    script = LOOK.replace("DOWNLOAD", str(download))
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.stdout


def kept_by_the_hubs_client(home: Path) -> Path:
    """A model as the client keeps what it downloaded."""
    kept = home / "hub" / "models--some--model"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("c0ffee")
    return tiny_bert.save(kept / "snapshots" / "c0ffee")


def test_what_the_hubs_client_has_kept_needs_no_network(tmp_path: Path) -> None:
    kept_by_the_hubs_client(tmp_path)
    for env in ({}, {"HF_HUB_OFFLINE": "1"}):
        assert looked_for(tmp_path, **env).startswith("found ['config.json', 'model.safetensors'")
    assert looked_for(tmp_path, download=False).startswith("found")


def test_a_download_that_broke_off_is_said_where_nothing_can_be_downloaded(tmp_path: Path) -> None:
    (kept_by_the_hubs_client(tmp_path) / "model.safetensors").unlink()
    assert "HF_HUB_OFFLINE is set, and the hub's cache" in looked_for(tmp_path, HF_HUB_OFFLINE="1")
    assert "http://127.0.0.1:9 is not reachable" in looked_for(tmp_path)
    assert "downloads are off" in looked_for(tmp_path, download=False)


@pytest.mark.parametrize(
    "name", ["/opt/models/mini", "./mini", "~/mini", "models/org/mini", r"C:\mini", Path("mini")]
)
async def test_a_directory_that_is_not_there_is_not_looked_for_on_a_hub(name: str | Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="there is no such directory"),
        open_source(name, print, True),
    ):
        pass
    with pytest.raises(ConfigurationError, match="there is no such directory"):
        await OnnxEmbedder(name).start()
