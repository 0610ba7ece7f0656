"""Builds the parts of a layer from its arguments and from what is installed."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self, get_origin

from .. import checks
from ..errors import ConfigurationError, MissingExtra
from ..exact.wire.codec import Codec
from ..flow.attempt import Faults
from ..flow.background import Background
from ..keep.call import Function
from ..keep.keeper import Keeper
from ..policy import Policy, check_names
from ..protocols import Clock, Decider, Embedder, Feed, Store, VectorIndex, Verifier
from ..semantic.embed.batched import BatchedEmbedder
from ..semantic.embed.cache import CachedEmbedder
from ..semantic.index.packed import PackedIndex
from ..semantic.tier import SimilarTier
from .arrivals import Arrivals
from .elsewhere import Elsewhere
from .feed import FeedFollower
from .hierarchy import Tiers
from .outdated import Outdated
from .persistence import Persistence
from .shared import SharedTier

BY_CHOICE = "semantic=False"
_LOCAL = ("onnxruntime", "tokenizers")


class SystemClock:
    """The machine's clocks, in seconds."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)


class Constructed:
    """Helpful errors for a setting given without its name, outside its policy or too late, and for pickling a layer."""

    def __new__(cls, *args: Any, **arguments: Any) -> Self:
        known = inspect.signature(cls.__init__).parameters
        open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
        if args and all(p.kind is p.KEYWORD_ONLY for p in list(known.values())[1:]):
            remedy = "name each setting, as in CacheLayer(store='redis://host:6379/0')"
            raise ConfigurationError(cls.__name__, checks.unquoted(args[0]), remedy)
        for name, value in ({} if open_ended else arguments).items():
            if name not in known and name in Policy.__dataclass_fields__:
                raise ConfigurationError(
                    name, value, f"it belongs to the policy: policy=Policy({name}={value!r})"
                )
            check_names("argument", {name: checks.unquoted(value)}, list(known)[1:])
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("policy", "tenancy") and name in self.__dict__:
            own = "; for one function, give options: cached(ttl=...)" if name == "policy" else ""
            raise AttributeError(
                f"{name} cannot be changed after a layer is made: CacheLayer({name}=...){own}"
            )
        super().__setattr__(name, value)

    def __copy__(self) -> Self:
        return self

    def __reduce__(self) -> str:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled: make one in each process, with a store= in common")


def check(
    *,
    policy: Any,
    tenancy: Any,
    semantic: Any,
    seed: Any,
    clock: Any,
    embedder: Any,
    index: Any,
    types: Any,
    verifier: Any,
) -> None:
    """Raise ConfigurationError for a layer's first argument that cannot work."""
    checks.semantic(semantic)
    for field, given, holds, remedy in (
        ("policy", policy, policy is None or isinstance(policy, Policy), "give a cachelayer.Policy(...)"),
        ("tenancy", tenancy, tenancy in ("optional", "required"), "give 'optional' or 'required'"),
        ("seed", seed, type(seed) is int, "give a whole number"),
        ("clock", clock, clock is None or isinstance(clock, Clock), "give a cachelayer.protocols.Clock"),
        ("embedder", embedder, not isinstance(embedder, str) or embedder, "name a model or its directory"),
        (
            "index", index, index is None or (isinstance(index, str | Path | VectorIndex) and index != ""),
            "name a directory, or give a cachelayer.VectorIndex",
        ),
        ("index", index, not (isinstance(index, str) and "://" in index), "name a directory; a URL belongs to store="),
        (
            "index", index, index is None or not isinstance(policy, Policy) or policy.max_bytes,
            "max_bytes=0 keeps nothing that it could hold: leave out one of the two",
        ),
        ("types", types, _classes(types), "give a list of classes, or of unions of classes"),
        (
            "verifier", verifier, verifier is None or isinstance(verifier, Verifier | Decider),
            "give a Verifier (identity, judge) or a Decider (decide, observe, ...)",
        ),
    ):  # fmt: skip
        if not holds:
            raise ConfigurationError(field, given, remedy)


def _classes(given: Any) -> bool:
    return isinstance(given, Collection) and all(
        isinstance(one, type) or get_origin(one) is not None for one in given
    )


def shared_tier(
    store: str | Store | None,
    types: Iterable[Any],
    *,
    clock: Clock,
    keeper: Keeper,
    faults: Faults,
    background: Background,
) -> SharedTier | None:
    """The tier behind a Redis URL or the user's own store; None without one. Raises ConfigurationError."""
    if store is None:
        return None
    behind = _redis(store, clock) if isinstance(store, str) else store
    if not isinstance(behind, Store):
        remedy = "give a URL (redis://host:6379/0) or a cachelayer.Store"
        raise ConfigurationError("store", checks.unquoted(store), remedy)
    return SharedTier(behind, Codec(types), clock=clock, keeper=keeper, faults=faults, background=background)


def _redis(url: str, clock: Clock) -> object:
    from ..exact.redis import RedisStore
    from ..exact.redis.url import parse

    if find_spec("hiredis") is None:
        parse(url)  # a bad URL is the first thing to report: installing the extra would not help
        raise MissingExtra(f"store={url.partition('://')[0]}://...", "hiredis", "redis")
    return RedisStore(url, clock=clock)


def elsewhere(
    index: VectorIndex | str | Path | None,
    types: Iterable[Any],
    tiers: Tiers,
    functions: Mapping[str, Function],
) -> Elsewhere:
    """Where entries come from beside this process: a store's feed or a directory. ConfigurationError for both."""
    directory = Path(index) if isinstance(index, str | Path) else None
    shared, similar = tiers.shared, tiers.similar
    if similar is None:
        return Elsewhere()
    if directory is not None and shared is not None:
        remedy = "leave it out: with store=, entries are read back from the store after a restart"
        raise ConfigurationError("index", str(directory), remedy)
    feed: object = shared.store if shared is not None else None
    if directory is None and not isinstance(feed, Feed):
        return Elsewhere()
    arrivals = Arrivals(
        keeper=tiers.keeper, similar=similar, faults=tiers.faults, clock=tiers.clock, functions=functions,
        background=tiers.background, codec=shared.codec if shared is not None else Codec(types),
    )  # fmt: skip
    if directory is None:
        assert shared is not None and isinstance(feed, Feed)
        return FeedFollower(arrivals, shared, feed)
    persistence = Persistence(directory, arrivals)
    similar.restore, similar.leave = persistence.restore, persistence.leave
    similar.outdated = Outdated(arrivals, persistence.log, persistence.write)
    return persistence


def require_similar(feature: str = "semantic=True") -> None:
    """Raise MissingExtra if the packages of the embedding model, which `feature` needs, are not installed."""
    for package in _LOCAL:
        if find_spec(package) is None:
            raise MissingExtra(feature, package, "local")


def similar_tier(
    semantic: bool | Literal["auto"],
    *,
    embedder: Embedder | str | Path | None,
    index: VectorIndex | str | Path | None,
    verifier: Verifier | Decider | None,
    faults: Faults,
    background: Background,
    random: Callable[[], float],
    shadow: float | Literal["auto"] = "auto",
) -> tuple[SimilarTier | None, str]:
    """(the tier, '') or (None, why there is none). Raises MissingExtra if the tier is demanded and cannot be made."""
    if semantic is False:
        if index is not None:
            remedy = (
                "semantic=False turns off what opens it; give it to single functions: cached(semantic=False)"
            )
            raise ConfigurationError("index", index, remedy)
        return None, BY_CHOICE
    if embedder is None or isinstance(embedder, str | Path):
        missing = next((package for package in _LOCAL if find_spec(package) is None), None)
        if missing is not None:
            if semantic is True:
                require_similar()
            for name, given in (("embedder", embedder), ("index", index)):
                if given is not None:
                    require_similar(f"{name}={str(given)!r}")
            return None, f"{missing} is not installed (pip install 'cachelayer[cpu,local]')"
        embedder = _model(embedder)
    tier = SimilarTier(
        embedder=remembering(embedder),
        index=None if isinstance(index, str | Path) else index,
        decider=decider_of(verifier, shadow, random),
        faults=faults,
        background=background,
        make_index=_make_index if not isinstance(index, str | Path) else partial(_persistent, Path(index)),
    )
    return tier, ""


def own_tiers(
    shadow: float | str, random: Callable[[], float], faults: Faults, background: Background
) -> Callable[[object, str], SimilarTier]:
    """Makes similar tiers for functions with their own vectors, given what makes the vectors and the function's name.

    It raises ConfigurationError for what cannot make vectors.
    """

    def make(vector: object, name: str) -> SimilarTier:
        from ..semantic.embed.own import OwnEmbedder
        from ..semantic.evidence.nearness import NearnessDecider

        return SimilarTier(
            embedder=OwnEmbedder(vector, name),
            index=None,
            decider=NearnessDecider(random=random, shadow=shadow),
            faults=faults,
            background=background,
            make_index=_make_index,
        )

    return make


def _model(named: str | Path | None) -> Embedder:
    from ..semantic.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(named)


def remembering(embedder: object) -> CachedEmbedder:
    """An embedder that remembers texts, and batches if that pays. Raises ConfigurationError for anything else."""
    if isinstance(embedder, str | Path):
        require_similar(f"embedder={str(embedder)!r}")
        embedder = _model(embedder)
    if not isinstance(embedder, Embedder):
        raise ConfigurationError(
            "embedder",
            embedder,
            "give a model's name or directory, or an Embedder; for an async function, "
            "cachelayer.semantic.embed.from_callable.CallableEmbedder(function)",
        )
    lanes: int = getattr(embedder, "lanes", 0)
    return CachedEmbedder(BatchedEmbedder(embedder, concurrency=lanes) if lanes else embedder)


def decider_of(
    verifier: Verifier | Decider | None, shadow: float | str, random: Callable[[], float]
) -> Decider:
    if verifier is None or isinstance(verifier, Verifier):
        from ..semantic.evidence.decide import EvidenceDecider
        from ..semantic.pairs.verifier import PairVerifier

        return EvidenceDecider(verifier or PairVerifier(), random=random, shadow=shadow)
    return verifier


def _persistent(directory: Path, dimension: int, identity: str) -> VectorIndex:
    from ..semantic.index.persistent import PersistentIndex

    setting = "index", str(directory)
    return PersistentIndex(_make_index(dimension), directory / "vectors", identity, setting)


def _make_index(dimension: int, identity: str = "") -> PackedIndex:
    """The index for the installed FAISS, if any; whether there is a GPU shows once a partition is large enough."""
    if find_spec("faiss") is None:
        return PackedIndex(dimension)
    from ..semantic.index.faiss_cpu import FaissIndex
    from ..semantic.index.faiss_gpu import FaissGpuIndex, for_gpus

    return FaissGpuIndex(dimension) if for_gpus() else FaissIndex(dimension)
