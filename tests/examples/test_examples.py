"""Every example is a whole program that runs, and shows what it says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_quickstart_hits_misses_and_explains() -> None:
    told = run("quickstart.py")
    assert re.search(r"^memory .*How do I return a product\?", told, re.M)
    assert re.search(r"^backend .*How do I not return", told, re.M)
    assert "near:" in told and "compared by meaning" in told


def test_streaming_makes_one_call_for_four_readers() -> None:
    assert run("streaming.py").rstrip().endswith("backend calls: 1")


def test_rag_cites_documents_and_an_edit_reaches_what_was_built_on_them() -> None:
    told = run("rag_citations.py")
    assert re.search(r"^memory .*30 days. \[returns v1\]", told, re.M)
    assert "document help/returns (version 1)" in told and "2 entries were built on it" in told
    assert re.search(r"^backend .*60 days. \[returns v2\]", told, re.M)


def test_a_classifier_sees_each_picture_once_in_each_release() -> None:
    told = run("classifier.py").splitlines()
    assert [line.rpartition(" ")[2] for line in told] == ["100", "10", "memory"] * 2


def test_an_agent_reads_from_the_cache_and_acts_every_time() -> None:
    assert run("agent_tools.py").rstrip().endswith("calls: model 3, stock 3, order 2")


def test_a_fleet_of_four_on_a_cluster_is_warm_after_a_restart() -> None:
    told = run("shared_fleet.py", "--requests", "40")
    fleets = [int(n) for n in re.findall(r"the fleet: (\d+) calls", told)]
    cold, warm, changed = fleets
    assert warm <= cold // 10 and changed > 10 * warm


def test_one_line_in_an_app_of_ones_own_makes_hits() -> None:
    told = run("fastapi_app.py").splitlines()
    assert ["hit" in line.split("cachelayer; ")[1].split(";")[0] for line in told] == [
        False,
        True,
        True,
        False,
    ]


INTERRUPTED = """
import signal, threading, fastapi_app
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def ask(*args, **kwargs):
    print("asking", flush=True)
    threading.Event().wait()
fastapi_app.ask = ask
fastapi_app.main()
"""


def test_an_app_that_is_interrupted_while_it_asks_ends() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT / "examples"
    ) as program:
        try:
            assert program.stdout is not None and program.stdout.readline()
            program.send_signal(signal.SIGINT)
            assert program.wait(30) == -signal.SIGINT
        finally:
            program.kill()


def test_no_client_of_the_gateway_sees_a_replica_die_but_those_whose_stream_had_begun() -> None:
    told = run("gateway/run.py", "--seconds", "5")
    assert "a replica is killed" in told and "and restored" in told
    assert re.search(r"[1-9]\d*  complete, miss", told) and "WORD" not in told
