"""`cachelayer doctor` says what is there, and gives a remedy for what is not."""

from __future__ import annotations

import pytest

from cachelayer.cli import doctor, main


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


def test_a_redis_that_is_not_there_is_a_problem_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-model", "--redis", "redis://127.0.0.1:1/0"]) == 1
    told = capsys.readouterr().out
    assert "PROBLEM  Redis: cannot connect" in told and "-> check the URL" in told


def test_a_bad_url_is_one_line_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-model", "--redis", "http://x"]) == 2
    assert capsys.readouterr().err.startswith("cachelayer: ")
