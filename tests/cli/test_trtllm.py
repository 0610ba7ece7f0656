"""`cachelayer trtllm` is the adapter's own command, reached from the command line that all others share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cachelayer.cli import main

LLAMA = {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
}


def test_profile_writes_settings_with_their_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA))
    asked = ["trtllm", "profile", "latency", "--config", str(config), "--parameters", "8.03e9", "--gpu"]
    assert main([*asked, "H100-80GB", "--context", "8192"]) == 0
    assert "enable_block_reuse" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["trtllm", "profile", "latency", "--config", "/nowhere.json", "--parameters", "8e9", "--gpu"]
    assert main([*asked, "H200"]) == 2
    told = capsys.readouterr().err
    assert "--config='/nowhere.json': cannot be read" in told and told.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("", [], "not JSON"),
        ("[]", [], "not a JSON object"),
        (json.dumps(LLAMA | {"hidden_size": "4096"}), [], "not a number"),
        (json.dumps(LLAMA | {"num_hidden_layers": 0}), [], "layers=0"),
        (json.dumps(LLAMA), ["--pp", "0"], "pipeline_parallel=0"),
        (json.dumps(LLAMA), ["--pp", "999"], "pipeline_parallel=999: give at most the model's"),
        (json.dumps(LLAMA), ["--draft", "d"], "--draft='d': name by --speculation what it is for"),
        (json.dumps(LLAMA), ["--host-cache", "1e300"], "host_cache=1e+300: give GiB, at most 1,048,576"),
        (json.dumps(LLAMA), ["--parameters", "1e308"], "parameters=1e+308"),
        ("[" * 100_000, [], "not JSON"),
        (json.dumps(LLAMA), ["--tp", "0"], "tensor_parallel=0"),
        (json.dumps(LLAMA), ["--parameters", "nan"], "parameters=nan"),
    ],
)
def test_what_makes_no_profile_is_one_line_that_names_it(
    tmp_path: Path, text: str, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(text)
    asked = ["trtllm", "profile", "latency", "--config", str(tmp_path / "config.json"), "--parameters", "8e9"]
    assert main([*asked, "--gpu", "H200", *options]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


def test_its_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trtllm", "profile", "--help"])
    assert ended.value.code == 0 and "--form" in capsys.readouterr().out
