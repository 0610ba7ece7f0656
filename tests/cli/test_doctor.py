"""`cachelayer doctor` says what is there, and gives a remedy for what is not."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from cachelayer.cli import checks, doctor, main
from cachelayer.exact.redis.doctor import _clock


def test_it_reports_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--no-model"])
    told = capsys.readouterr().out
    assert "Python: 3." in told and "shared tier" in told and status in (0, 1)


def test_a_missing_extra_is_advice_with_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert main(["doctor"]) == 0
    assert "pip install 'cachelayer[local]'" in capsys.readouterr().out


def test_a_package_older_than_its_extra_asks_for_is_advice_with_both_versions_and_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, version in (("hiredis", "3.1.9"), ("faiss-cpu", "1.9.0.post1"), ("uvicorn", "0.51")):
        (tmp_path / f"{name.replace('-', '_')}-{version}.dist-info").mkdir()
        told = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (tmp_path / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA").write_text(told, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["doctor", "--no-model"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "shared tier: hiredis 3.1.9 where 3.2 is needed -> pip install 'cachelayer[redis]'" in told
    assert "FAISS: faiss-cpu 1.9.0.post1 where 1.15 is needed -> pip install 'cachelayer[cpu]'" in told
    assert "ok gateway: uvicorn 0.51, " in told


def test_a_faiss_that_does_not_load_is_a_problem_among_the_other_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "faiss.py").write_text('raise ImportError("libcublas.so.12: cannot open")', "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    assert main(["doctor", "--no-model"]) == 1
    told = capsys.readouterr().out
    assert "PROBLEM  FAISS: faiss-cpu cannot be imported: libcublas.so.12" in told and "clock" in told
    assert "cachelayer[cpu]" not in told


def test_a_redis_without_its_extra_is_a_problem_among_the_other_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert main(["doctor", "--redis", "redis://127.0.0.1:1/0"]) == 1
    told = capsys.readouterr().out
    assert "Python: 3." in told and "PROBLEM  Redis: not looked at" in told and "1 problem\n" in told


def test_a_redis_that_is_not_there_is_a_problem_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-model", "--redis", "redis://127.0.0.1:1/0"]) == 1
    told = capsys.readouterr().out
    assert "PROBLEM  Redis: cannot connect" in told and "-> check the URL" in told
    assert main(["doctor", "--no-model", "--redis", "rediss://127.0.0.1:1?ssl_ca_certs=/none"]) == 1
    assert "PROBLEM  Redis: certificates" in capsys.readouterr().out


@pytest.mark.parametrize("url", ["http://x", ""])
def test_a_bad_url_is_one_line_and_no_traceback(capsys: pytest.CaptureFixture[str], url: str) -> None:
    """An empty one, as of a variable that is not set, was passed over in silence."""
    assert main(["doctor", "--no-model", "--redis", url]) == 2
    assert capsys.readouterr().err.startswith("cachelayer: ")


def test_settings_of_the_gateway_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[[upstream]]\nurl = "http://127.0.0.1:1"\n')
    bad.write_text('[[upstream]]\nurl = "http://127.0.0.1:1"\n[server]\nport = "many"\n')
    main(["doctor", "--no-model", "--config", str(good)])
    assert "gateway settings: " in (told := capsys.readouterr().out) and "1 upstream(s)" in told
    assert main(["doctor", "--no-model", "--config", str(bad)]) == 1
    assert "PROBLEM  gateway settings: " in capsys.readouterr().out


def test_clock_limits_and_model_files_are_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--no-model"])
    told = capsys.readouterr().out
    for subject in ("clock: ", "open files: ", "memory: ", "model files: ", "metrics: ", "traces: "):
        assert subject in told


def test_a_memory_limit_below_twice_the_default_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("268435456\n")
    limit = checks.memory_limit(tmp_path)
    assert limit == 2**28
    for room, level in ((limit, "problem"), (2 * limit, "ok")):
        (memory,) = (finding for finding in checks.limits(room) if finding.subject == "memory")
        assert memory.level == level and ("max_bytes" in memory.remedy) == (level == "problem")
    assert [finding.subject for finding in checks.limits(None)] == ["open files"]
    (tmp_path / "memory.max").write_text("max\n")
    assert (checks.memory_limit(tmp_path) or 0) > 2**28


def test_a_gpu_that_faiss_does_not_use_is_advice(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").touch()
    (finding,) = checks.gpu("faiss-cpu", 0, tmp_path)
    assert finding.level == "advice" and "cachelayer[gpu]" in finding.remedy
    (finding,) = checks.gpu("faiss-gpu", 1, tmp_path)
    assert finding.level == "ok"


def test_a_model_directory_that_cannot_be_made_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "none"))
    assert checks.model_files().level == "ok"
    (tmp_path / "file").touch()
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "file" / "none"))
    assert checks.model_files().level == "problem"


def test_the_model_is_loaded_and_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["doctor"])
    assert "ok       embedding model: sentence-transformers/all-MiniLM-L6-v2@" in capsys.readouterr().out
    (tmp_path / "file").touch()
    monkeypatch.setenv("CACHELAYER_CACHE", str(tmp_path / "file" / "none"))
    assert main(["doctor"]) == 1
    assert "PROBLEM  embedding model: ConfigurationError" in capsys.readouterr().out


def test_two_distributions_of_faiss_are_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("faiss-cpu", "faiss-gpu"):
        place = tmp_path / f"{name.replace('-', '_')}-1.15.0.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.15.0\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["doctor", "--no-model"]) == 1
    told = capsys.readouterr().out
    assert "PROBLEM  FAISS: 2 distributions: " in told and "keep one: pip uninstall faiss-" in told


def test_a_wall_clock_that_was_never_set_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [finding.level for finding in checks.clocks()] == ["ok"]
    monkeypatch.setattr(time, "time", lambda: 86_400.0)
    assert [finding.level for finding in checks.clocks()] == ["ok", "problem"]


@pytest.mark.parametrize(("off", "level"), [(0.0, "ok"), (90.0, "problem")])
def test_a_redis_with_another_clock_is_a_problem(off: float, level: str) -> None:
    (finding,) = _clock({"server_time_usec": str(int(1e15))}, 1e9 + off)
    assert finding.level == level
    assert _clock({}, 1e9) == []
