"""Prepares a sentence encoder once: from weights to an int8 ONNX file in the user's cache directory."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigurationError
from .bert import Peaks, Precision, Shape, Weights, fingerprint, read_shape, read_weights, write, write_peaks
from .session import open_session, open_tokenizer
from .sources import DEFAULT_MODEL, DEFAULT_WEIGHTS, Report, open_source

_log = logging.getLogger("cachelayer")
_FORMAT = 3
"""Part of the identity: a change of the graph or of the quantization counts up."""
_LEAST_COSINE = 0.98
_SAMPLE = (
    "How do I return a product that I bought last week?",
    "What is the exchange rate from US dollars to euros today?",
    "cancel my order please",
    "Why was my card payment declined in the shop?",
    "Set an alarm for 6:30 tomorrow morning.",
    "Who wrote the novel that the film of 1994 is based on?",
    "Is it safe to take ibuprofen together with paracetamol?",
    "python: list index out of range in a loop",
    "Summarize the second chapter in three sentences, then list every person named in it.",
    "I never received the refund of 49.90 that you promised me on the 3rd of May.",
    "Wie wird das Wetter morgen in Hamburg?",
    "hello",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model ready to load. `model` and `tokenizer` are paths; `identity` goes into the index's identity."""

    directory: Path
    identity: str
    dimension: int
    window: int
    cosine: float
    """Smallest cosine between this model's and the float32 model's vectors over a few texts; 1.0 for fp32."""
    default: bool
    """Whether its vectors are the default model's, by the weights: what was fitted to that holds for this."""

    @property
    def model(self) -> Path:
        return self.directory / "model.onnx"

    @property
    def tokenizer(self) -> Path:
        return self.directory / "tokenizer.json"


def cache_directory() -> Path:
    """`$CACHELAYER_CACHE`, else `$XDG_CACHE_HOME/cachelayer`, else `~/.cache/cachelayer`."""
    own = os.environ.get("CACHELAYER_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cachelayer"


def prepare(
    model: str | Path | None = None,
    *,
    precision: Precision = "int8",
    download: bool = True,
    report: Report = _log.info,
) -> Prepared:
    """The prepared model, made now where it is not there yet (blocking: call it off the loop).

    `model` is a directory in the layout of sentence-transformers, a name on the hub, or None for
    all-MiniLM-L6-v2. Several processes may prepare at once: one does the work, the others wait for it.
    Raises ConfigurationError naming the remedy, MissingExtra without onnxruntime and tokenizers.
    """
    directory = cache_directory() / "models" / _folder(model, precision)
    origin = _origin(model)
    found = _load(directory, origin)
    if found is not None:
        return found
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with _lock(directory.parent / ".lock"):
            found = _load(directory, origin)
            return (
                found if found is not None else _make(directory, model, precision, origin, download, report)
            )
    except OSError as fault:
        remedy = f"could not be written ({fault.strerror or fault}): make room or set CACHELAYER_CACHE"
        raise ConfigurationError("embedder", str(directory), remedy) from fault


def _make(
    directory: Path,
    model: str | Path | None,
    precision: Precision,
    origin: str,
    download: bool,
    report: Report,
) -> Prepared:
    with open_source(model, report, download) as source:
        shape, weights = read_shape(source), read_weights(source / "model.safetensors")
        tokenizer = (source / "tokenizer.json").read_bytes()
        digest = _digest(source / "model.safetensors")
        graph, cosine = _quantized(weights, shape, tokenizer, precision, report)
        default = shape.pooling == "mean" and fingerprint(weights) == DEFAULT_WEIGHTS
    name = DEFAULT_MODEL if model is None else Path(model).name if Path(model).is_dir() else str(model)
    identity = f"{name}@{digest[:12]}/{shape.pooling}/{shape.window}/{precision}.{_FORMAT}"
    prepared = Prepared(directory, identity, shape.hidden, shape.window, round(cosine, 4), default)
    _publish(prepared, {"model.onnx": graph, "tokenizer.json": tokenizer}, origin)
    report(f"prepared {identity} in {directory} ({len(graph) / 1e6:.0f} MB)")
    return prepared


def _quantized(
    weights: Weights, shape: Shape, tokenizer: bytes, precision: Precision, report: Report
) -> tuple[bytes, float]:
    """The model, and what quantization costs: measured here, because it depends on this processor.

    Without VNNI the int8 kernels add pairs of products in 16 bits, which saturate: 7-bit weights avoid it.
    """
    if precision == "fp32":
        return write(weights, shape, "fp32"), 1.0
    samples = _samples(tokenizer, shape.window)
    exact = _vectors(write(weights, shape, "fp32"), samples)
    peaks = _peaks(weights, shape, samples)
    for bits in (8, 7):
        graph = write(weights, shape, "int8", bits, peaks=peaks)
        cosines = np.sum(exact * _vectors(graph, samples), axis=1)
        least = float(cosines.min())
        report(f"int8 against float32: least cosine {least:.4f}, mean {cosines.mean():.4f} ({bits} bits)")
        if least >= _LEAST_COSINE:
            return graph, least
    raise ConfigurationError("embedder", "int8", f"loses too much (cosine {least:.3f}): use precision='fp32'")


def _samples(tokenizer: bytes, window: int) -> list[NDArray[np.int64]]:
    encoder = open_tokenizer(tokenizer)
    return [np.array([encoder.encode(text).ids[:window]]) for text in _SAMPLE]


def _vectors(graph: bytes, samples: list[NDArray[np.int64]]) -> NDArray[np.float32]:
    session = open_session(graph)
    return np.stack([session.run(["vector"], {"ids": ids})[0][0] for ids in samples])


def _peaks(weights: Weights, shape: Shape, samples: list[NDArray[np.int64]]) -> Peaks:
    """The largest activations over the samples; twelve texts give what 500 give (mean cosine .9992 with either)."""
    graph, places = write_peaks(weights, shape)
    session = open_session(graph)
    tops = [session.run(places, {"ids": ids}) for ids in samples]
    return {
        place: np.max(found, axis=0) for place, found in zip(places, zip(*tops, strict=True), strict=True)
    }


def _publish(prepared: Prepared, files: dict[str, bytes], origin: str) -> None:
    """Put the model into place, all or nothing: written aside, synced, then renamed."""
    manifest: dict[str, Any] = {key: value for key, value in asdict(prepared).items() if key != "directory"}
    manifest["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest["origin"] = origin
    content = json.dumps(manifest, indent=1).encode()
    parent = prepared.directory.parent
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
    try:
        for name, data in {**files, "manifest.json": content}.items():
            with (aside / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        shutil.rmtree(prepared.directory, ignore_errors=True)
        aside.rename(prepared.directory)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _load(directory: Path, origin: str) -> Prepared | None:
    """The prepared model, or None if it is absent, damaged or made from another source."""
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
        whole = all(_digest(directory / name) == digest for name, digest in manifest["files"].items())
        if not whole or manifest["origin"] != origin:
            return None
        manifest.setdefault("default", origin == DEFAULT_MODEL)  # of an earlier version
        kept = (manifest[key] for key in ("identity", "dimension", "window", "cosine", "default"))
        return Prepared(directory, *kept)
    except (FileNotFoundError, ValueError, KeyError, TypeError, NotADirectoryError):
        return None


def _folder(model: str | Path | None, precision: Precision) -> str:
    name = DEFAULT_MODEL if model is None else str(model)
    if Path(name).is_dir():
        name = str(Path(name).resolve())
    tag = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', Path(name).name)}-{tag}-{precision}.{_FORMAT}"


def _origin(model: str | Path | None) -> str:
    """Changes when a model directory's weights do, without reading them at every start."""
    weights = Path(model or "") / "model.safetensors"
    if model is None or not weights.is_file():
        return DEFAULT_MODEL if model is None else str(model)
    status = weights.stat()
    return f"{weights.resolve()}:{status.st_size}:{status.st_mtime_ns}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
