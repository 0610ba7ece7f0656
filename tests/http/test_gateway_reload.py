"""Workers that are restarted serve by the settings as they stand then, if those work."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from upstream import Server, Upstream

KEY = """
[[key]]
tenant = "{0}"
sha256 = "{1}"
"""


def _settings(url: str, *tenants: str, more: str = "") -> str:
    keys = [KEY.format(one, hashlib.sha256(one.encode()).hexdigest()) for one in tenants]
    return f'{more}[server]\nport = 0\nworkers = 2\n[[upstream]]\nurl = "{url}"\n{"".join(keys)}'


def test_keys_are_taken_in_and_away_without_a_pause(
    serving: Callable[..., Server], upstream: Upstream, tmp_path: Path
) -> None:
    file, url = tmp_path / "gateway.toml", serving(upstream).url
    file.write_text(_settings(url, "old"))
    command = [sys.executable, "-m", "cachelayer", "serve", "--semantic", "off", "--config", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None

        def told(**counts: int) -> list[str]:
            """Read on until there were so many of each event; the addresses that were told."""
            bases = []
            while any(counts.values()):
                line = json.loads(process.stdout.readline())  # type: ignore[union-attr]
                if line["event"] in counts:
                    counts[line["event"]] -= 1
                    bases += [line["base_url"].removesuffix("/v1")] if "base_url" in line else []
            return bases

        def asked(key: str) -> int:
            headers = {"authorization": f"Bearer {key}"}
            return httpx.post(f"{base}/echo", headers=headers, content=b"x", timeout=30).status_code

        try:
            base = told(started=2)[0]
            assert (asked("old"), asked("new")) == (200, 401)

            file.write_text(_settings(url, "new").replace("port = 0", "port = 1"))
            process.send_signal(signal.SIGHUP)
            assert told(started=2, stopped=2) == [base, base]
            assert (asked("old"), asked("new")) == (401, 200)

            file.write_text(_settings(url, "old", "new", more="[serve]\n"))
            process.send_signal(signal.SIGHUP)
            assert process.stderr.readline() == (
                f"cachelayer: {file}:1: unknown section 'serve'; known are [server], [cache], [callers], [retry], "
                "[[upstream]], [[key]]; nothing was restarted\n"
            )
            assert (asked("old"), asked("new")) == (401, 200)
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert process.returncode == 0


def test_settings_of_any_size_reach_the_workers(
    serving: Callable[..., Server], upstream: Upstream, tmp_path: Path
) -> None:
    """They went by a variable of the environment: beyond 128 KiB worker after worker died without a word, and of a
    number beyond 64 bits none was started, with a traceback."""
    file, names = tmp_path / "gateway.toml", [f"client-{i}" for i in range(1500)]
    text = _settings(serving(upstream).url, *names)
    file.write_text(text.replace("[server]", "[server]\nmax_body = 18446744073709551616"))
    command = [sys.executable, "-m", "cachelayer", "serve", "--semantic", "off", "--config", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            (base,) = {json.loads(process.stdout.readline())["base_url"] for _ in range(2)}
            headers = {"authorization": f"Bearer {names[-1]}"}
            echo = base.removesuffix("/v1") + "/echo"
            assert httpx.post(echo, headers=headers, content=b"x", timeout=30).status_code == 200
        finally:
            process.terminate()
