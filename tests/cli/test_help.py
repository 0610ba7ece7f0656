"""--help of every command."""

from __future__ import annotations

import pytest

from cachelayer.cli import main

COMMANDS = ["", "demo", "serve", "replay", "calibrate", "bench", "doctor", "trtllm", "trtllm profile"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_of_eighty_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    assert not [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]


def test_help_uses_the_width_there_is_and_leaves_examples_as_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for columns in ("50", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            main(["serve", "--help"])
        told.append(capsys.readouterr().out.splitlines())
    narrow, wide = told
    assert len(narrow) > len(wide)
    example = "  CACHELAYER_SERVER__PORT=9000 cachelayer serve --config gateway.toml"
    assert example in narrow and example in wide
