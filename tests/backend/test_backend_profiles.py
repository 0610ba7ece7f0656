"""Engine profiles: documented fields only, sized to what fits, refused with the sums where nothing does."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import documented
import pytest
import tensorrt_llm_standin as trt
import yaml
from cachelayer.adapters.tensorrt_llm import TensorRTLLM
from cachelayer.adapters.tensorrt_llm.__main__ import main
from cachelayer.adapters.tensorrt_llm.memory import GIB, GPUS, KV_BYTES, WEIGHT_BITS, ModelShape, kv_memory
from cachelayer.adapters.tensorrt_llm.profiles import EngineProfile, make
from cachelayer.adapters.tensorrt_llm.render import (
    config_pbtxt,
    engine_parameters,
    explain,
    model_yaml,
    serve_command,
    serve_yaml,
)
from cachelayer.adapters.tensorrt_llm.settings import KNOBS, Speculation
from hypothesis import given
from hypothesis import strategies as st
from script import prompt
from triton_server import HERE, TritonServer

from cachelayer.errors import ConfigurationError

GUIDE = Path(__file__).parents[2] / "docs" / "serving-misses.md"
LLAMA_8B = ModelShape(
    name="meta-llama/Llama-3.1-8B-Instruct",
    parameters=8.03e9,
    layers=32,
    kv_heads=8,
    head_dim=128,
    hidden=4096,
    context=131072,
)
LLAMA_70B = dataclasses.replace(LLAMA_8B, name="llama-70b", parameters=70.6e9, layers=80, hidden=8192)


def test_kv_bytes_of_a_known_model_are_what_its_documentation_says() -> None:
    """Llama-3.1-8B: 131072 bytes a token in BF16, 4 MiB a block of 32."""
    memory = kv_memory(LLAMA_8B, GPUS["H100-80GB"], context=8192)
    assert memory.bytes_per_token == 131072
    assert 32 * GIB // memory.bytes_per_token == 262144
    half = kv_memory(LLAMA_8B, GPUS["H100-80GB"], context=8192, kv_dtype="fp8")
    assert half.bytes_per_token * 2 == memory.bytes_per_token
    assert (
        kv_memory(LLAMA_8B, GPUS["H100-80GB"], tensor_parallel=4).bytes_per_token * 4
        == memory.bytes_per_token
    )


def test_latent_attention_keeps_one_row_for_all_heads_on_every_gpu() -> None:
    """DeepSeek-V3: 61 layers of 512 + 64 numbers, 70,272 bytes a token; counted as 128 heads it was 1.7 MB."""
    config = {
        "hidden_size": 7168, "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64, "max_position_embeddings": 163840,
    }  # fmt: skip
    model = ModelShape.from_config("deepseek-v3", config, 671e9)
    memory = kv_memory(model, GPUS["H200"], tensor_parallel=8, weights="fp8")
    assert memory.bytes_per_token == 61 * 576 * 2
    with pytest.raises(ConfigurationError, match="not a number"):
        ModelShape.from_config("deepseek-v3", {**config} | {"qk_rope_head_dim": None}, 671e9)
    with pytest.raises(ConfigurationError, match="latent"):
        dataclasses.replace(model, latent=-1)


def test_the_folder_of_the_configuration_names_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--config config.json`, as the documentation has it, named it '.'."""
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text(
        '{"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 512}'
    )
    monkeypatch.chdir(tmp_path / "tiny")
    assert main("profile latency --config config.json --parameters 1e6 --gpu T4".split()) == 0
    assert capsys.readouterr().out.startswith(f"latency profile of {tmp_path}/tiny on T4")


def test_what_cannot_fit_is_refused_with_its_sums_and_a_remedy() -> None:
    with pytest.raises(ConfigurationError, match=r"weights take 131\.\d .*Raise tensor_parallel"):
        make("balanced", LLAMA_70B, GPUS["L40S"], context=8192)
    assert (
        make("balanced", LLAMA_70B, GPUS["H100-80GB"], context=8192).llm_kwargs()["tensor_parallel_size"] == 2
    )


@given(
    kind=st.sampled_from(sorted(KNOBS)),
    model=st.sampled_from([LLAMA_8B, LLAMA_70B]),
    gpu=st.sampled_from(sorted(GPUS)),
    version=st.sampled_from(documented.VERSIONS),
    weights=st.sampled_from(sorted(WEIGHT_BITS)),
    kv_dtype=st.sampled_from(sorted(KV_BYTES)),
    context=st.sampled_from([2048, 16384, 131072]),
    concurrency=st.sampled_from([None, 1, 7, 100, 5000]),
    host_cache=st.sampled_from([0.0, 32.0]),
    speculation=st.sampled_from([None, Speculation(method="NGram"), Speculation(method="Eagle", draft="/d")]),
    kv_events=st.booleans(),
)
def test_every_profile_is_documented_typed_and_fits_or_is_refused(**options: Any) -> None:
    kind, model, gpu = options.pop("kind"), options.pop("model"), GPUS[options.pop("gpu")]
    try:
        profile = make(kind, model, gpu, **options)
    except ConfigurationError as refusal:
        assert refusal.field in ("weights", "kv_dtype", "context", "speculation")
        return
    body = profile.llm_kwargs()
    assert documented.faults(body, options["version"]) == []
    assert yaml.safe_load(serve_yaml(profile)) == body
    assert body["max_batch_size"] == body["cuda_graph_config"]["max_batch_size"]
    assert profile.memory.sequences >= 1
    used = profile.memory.weights + profile.memory.reserve + profile.memory.kv
    assert used <= gpu.memory * GIB
    assert all(s.reason and s.source for s in profile.settings)


def test_the_kinds_differ_as_their_names_say() -> None:
    latency, throughput = (
        EngineProfile.latency(LLAMA_8B, GPUS["H100-80GB"], context=8192),
        EngineProfile.throughput(LLAMA_8B, GPUS["H100-80GB"], context=8192),
    )
    fast, wide = latency.llm_kwargs(), throughput.llm_kwargs()
    assert fast["max_batch_size"] < wide["max_batch_size"]
    assert fast["max_num_tokens"] < wide["max_num_tokens"]
    assert fast["stream_interval"] == 1 < wide["stream_interval"]
    assert fast["scheduler_config"]["capacity_scheduler_policy"] == "GUARANTEED_NO_EVICT"
    large = EngineProfile.latency(LLAMA_70B, GPUS["H200"], context=8192, weights="fp8")
    assert large.llm_kwargs()["tensor_parallel_size"] == 4


def test_the_guide_lists_every_value_in_which_the_kinds_differ() -> None:
    kinds = ("latency", "balanced", "throughput")
    rows = dict(re.findall(r"^\| `(\w+)` (\|.*?\|.*?\|.*?)\|", GUIDE.read_text(), re.MULTILINE))
    profiles = [make(kind, LLAMA_8B, GPUS["B200"], context=2048) for kind in kinds]
    values = [{s.name.split(".")[-1]: s.value for s in profile.settings} for profile in profiles]
    differ = {name for name in values[2] if len({one.get(name) for one in values}) > 1}
    assert differ <= rows.keys()
    assert len(differ) == 6 and "differ in six values" in GUIDE.read_text()
    for name in differ - {"max_batch_size", "capacity_scheduler_policy"}:
        told = [int(cell) for cell in rows[name].split("|")[1:4]]
        assert told == [one.get(name, 0) for one in values], name


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"weights": "int3"}, "weights"),
        ({"kv_dtype": "fp8", "gpu": "A100-80GB"}, "kv_dtype"),
        ({"weights": "nvfp4"}, "weights"),
        ({"context": 10**6}, "context"),
        ({"concurrency": 0}, "concurrency"),
        ({"host_cache": -1}, "host_cache"),
        ({"tensor_parallel": 3}, "tensor_parallel"),
        ({"version": "0.9"}, "version"),
        ({"kind": "throughput", "speculation": Speculation(method="MTP")}, "speculation"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(options: dict[str, Any], field: str) -> None:
    kind, gpu = options.pop("kind", "latency"), GPUS[options.pop("gpu", "H100-80GB")]
    with pytest.raises(ConfigurationError) as refusal:
        make(kind, LLAMA_8B, gpu, **({"context": 8192} | options))
    assert refusal.value.field == field


def test_speculation_keeps_tenants_apart_and_names_a_draft_exactly_where_one_is_needed() -> None:
    assert Speculation(method="NGram").config()["is_public_pool"] is False
    for wrong, told in (
        ({"method": "Eagle"}, "draft=None: Eagle needs a draft model: give its directory"),
        ({"method": "MTP", "draft": "/d"}, "draft='/d': MTP drafts without a model: leave it out"),
        ({"method": "MTP", "max_draft_len": 0}, "max_draft_len=0: give 1 to 16"),
        ({"method": "MTP", "max_draft_len": 17}, "max_draft_len=17: give 1 to 16"),
    ):
        with pytest.raises(ConfigurationError, match=re.escape(told)):
            Speculation(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("concurrency", "batch"), [(1, 1), (8, 16), (12, 16), (13, 16), (14, 32), (100, 128)]
)
def test_a_batch_is_a_power_of_two_a_quarter_above_what_is_expected(concurrency: int, batch: int) -> None:
    profile = make("throughput", LLAMA_8B, GPUS["H200"], context=2048, concurrency=concurrency)
    assert profile.llm_kwargs()["max_batch_size"] == batch


def test_gpus_that_share_a_layer_divide_its_kv_heads_or_each_head_is_on_several() -> None:
    for degree in (1, 2, 4, 8, 16):
        profile = make("latency", LLAMA_8B, GPUS["H100-80GB"], context=8192, tensor_parallel=degree)
        assert profile.settings[0].value == degree
    with pytest.raises(
        ConfigurationError, match=r"tensor_parallel=12: give a divisor or a multiple of .* 8 KV heads"
    ):
        make("latency", LLAMA_8B, GPUS["H100-80GB"], context=8192, tensor_parallel=12)


async def test_the_in_process_engine_takes_the_arguments() -> None:
    profile = EngineProfile.balanced(LLAMA_8B, GPUS["H100-80GB"], context=8192, host_cache=16)
    llm = TensorRTLLM.connect("local:tiny", module="tensorrt_llm_standin", **profile.llm_kwargs())
    await llm.start()
    with pytest.raises(ValueError, match="not permitted"):
        trt.LLM("tiny", kv_cache_config={"enable_block_reus": True})


def test_each_value_stands_in_one_place() -> None:
    """Release lines differ in whether the command line or the YAML wins."""
    profile = EngineProfile.latency(LLAMA_8B, GPUS["H100-80GB"], context=8192)
    command = serve_command(profile, "engine.yaml")
    assert command.endswith("--extra_llm_api_options engine.yaml")
    assert not any(f"--{name}" in command for name in profile.llm_kwargs())
    newest = dataclasses.replace(profile, version="1.3")
    assert serve_command(newest, "e.yaml").endswith("--config e.yaml")


def test_the_model_yaml_streams() -> None:
    body = yaml.safe_load(model_yaml(EngineProfile.latency(LLAMA_8B, GPUS["H100-80GB"], context=8192)))
    assert body["triton_config"]["decoupled"] is True
    assert body["model"] == LLAMA_8B.name


def test_template_variables_of_the_engine_model_are_documented_ones() -> None:
    known = set(
        "triton_max_batch_size decoupled_mode batching_strategy batch_scheduler_policy enable_kv_cache_reuse"
        " enable_chunked_context kv_cache_free_gpu_mem_fraction exclude_input_in_output max_queue_size"
        " max_queue_delay_microseconds cancellation_check_period_ms cuda_graph_mode kv_cache_host_memory_bytes".split()
    )
    profile = EngineProfile.throughput(LLAMA_8B, GPUS["H100-80GB"], context=8192, host_cache=8)
    parameters = engine_parameters(profile)
    assert parameters.keys() <= known
    assert parameters["batch_scheduler_policy"] == "max_utilization"
    assert parameters["kv_cache_host_memory_bytes"] == str(8 * GIB)
    assert parameters["max_queue_delay_microseconds"] == "10000", "of ten milliseconds"


@pytest.mark.usefixtures("triton_runs")
async def test_triton_itself_takes_the_config_and_the_adapter_its_tensors(tmp_path: Path) -> None:
    models = tmp_path / "repository"
    shutil.copytree(HERE / "triton_models" / "llmapi", models / "tensorrt_llm")
    text = config_pbtxt(EngineProfile.latency(LLAMA_8B, GPUS["H100-80GB"], context=8192))
    (models / "tensorrt_llm" / "config.pbtxt").write_text(text)
    server = TritonServer(tmp_path, models)
    try:
        server.start()
        llm = TensorRTLLM.connect(f"triton://{server.address}")
        assert (await llm.start()).kind == "triton-llmapi"
        answer = await llm(prompt=prompt("abc"), temperature=0.5, seed=1, stop=["x"])
        assert answer["choices"][0]["text"] == "abc"
        await llm.aclose()
    finally:
        server.stop()


def test_the_command_line_explains_writes_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "max_position_embeddings": 131072,
            }
        )
    )
    base = ["profile", "latency", "--config", str(config), "--parameters", "8.03e9", "--context", "8192"]
    assert main([*base, "--gpu", "H100-80GB"]) == 0
    assert "| kv_cache_config.enable_block_reuse | true | prefix caching" in capsys.readouterr().out
    for form in ("yaml", "command", "model.yaml", "config.pbtxt", "parameters", "kwargs"):
        assert main([*base, "--gpu", "H100-80GB", "--form", form]) == 0
    assert main([*base, "--gpu", "T4"]) == 2
    assert "does not fit" in capsys.readouterr().err


def test_the_explanation_names_the_memory_it_was_sized_for() -> None:
    text = explain(EngineProfile.balanced(LLAMA_8B, GPUS["H100-80GB"], context=8192))
    assert "131072 bytes" in text and "sequences of full context fit" in text
