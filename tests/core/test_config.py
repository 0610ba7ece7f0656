"""Bad configuration is found at construction and names field, value and remedy; nothing happens before it must."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm.errors import Shed

from cachelayer import Budgets, CacheLayer, ConfigurationError, MissingExtra, Normalize, Policy, Source, Trace
from cachelayer.testing import Gate
from cachelayer.tiers import wiring


async def _later(*given: Any) -> bool:
    return False


def _twice(layer: CacheLayer) -> Any:
    return layer.cached(layer.cached(_later))


@pytest.mark.parametrize(
    ("make", "field", "remedy"),
    [
        (lambda: Policy(ttl=-1), "ttl=-1", "0 or more"),
        (lambda: Policy(ttl="soon"), "ttl='soon'", "1h30m"),
        (lambda: Policy(ttl=float("nan")), "ttl=nan", "1h30m"),
        (lambda: Policy(tttl=1), "tttl=1", "did you mean 'ttl'"),  # type: ignore[call-arg]
        (lambda: Policy("1h"), "Policy='1h'", "as in Policy(ttl='1h')"),  # type: ignore[misc]
        (lambda: Trace(path=3), "record.path=3", "name a directory"),  # type: ignore[arg-type]
        (lambda: Trace("traffic"), "Trace='traffic'", "as in Trace(path='traffic')"),  # type: ignore[misc]
        (lambda: Policy(max_error_rate=2), "max_error_rate=2", "0 to 1"),
        (lambda: Policy(ttl_jitter="lots"), "ttl_jitter='lots'", "0 to 1"),  # type: ignore[arg-type]
        (lambda: Policy(max_bytes=10), "max_bytes=10", "at least 65536"),
        (lambda: Policy(variants=0), "variants=0", "at least 1"),
        (lambda: Policy(variants=2**70), "variants=11805", "1000 at most"),
        (lambda: Policy(ttl=2**70), "ttl=11805", "a hundred years at most"),
        (lambda: Policy(rider_wait=1e300), "rider_wait=1e+300", "a hundred years at most"),
        (lambda: Budgets(backend="999999d"), "budgets.backend='999999d'", "a hundred years at most"),
        (lambda: Policy(semantic="yes"), "semantic='yes'", "True, False or 'auto'"),  # type: ignore[arg-type]
        (lambda: Policy(pure=1), "pure=1", "True or False"),  # type: ignore[arg-type]
        (lambda: Policy(cache_if=3), "cache_if=3", "function of the answer"),  # type: ignore[arg-type]
        (lambda: Policy(budgets={"embed": 1}), "budgets=", "Budgets"),  # type: ignore[arg-type]
        (lambda: Policy(normalize="nfc"), "normalize='nfc'", "Normalize"),  # type: ignore[arg-type]
        (lambda: Budgets(embed=0), "budgets.embed=0", "above 0"),
        (lambda: Budgets(store=None), "budgets.store=None", "backend"),  # type: ignore[arg-type]
        (lambda: CacheLayer(policy={"ttl": 1}), "policy=", "Policy"),  # type: ignore[arg-type]
        (lambda: CacheLayer(tenancy="maybe"), "tenancy='maybe'", "required"),  # type: ignore[arg-type]
        (lambda: CacheLayer(ttl="1h"), "ttl='1h'", "policy=Policy(ttl='1h')"),  # type: ignore[call-arg]
        (lambda: CacheLayer(semantic=3), "semantic=3", "True, False or 'auto'"),  # type: ignore[arg-type]
        (lambda: CacheLayer(embedder=3), "embedder=3", "Embedder"),  # type: ignore[arg-type]
        (lambda: CacheLayer(semantic=False).cached(tags=["kb:{"])(len), "tags='kb:{'", "{{ or }}"),
        (lambda: CacheLayer(semantic=False).tools(len, keep="often"), "keep='often'", "'pure', or a time"),
        (lambda: CacheLayer(semantic=False).scope(principal="").__enter__(), "principal=''", "non-empty"),
        (lambda: asyncio.run(CacheLayer(semantic=False).report_wrong(5)), "outcome=5", "an Outcome"),  # type: ignore[arg-type]
        (lambda: asyncio.run(CacheLayer(semantic=False).invalidate(scope="acme")), "scope='acme'", "mapping"),  # type: ignore[arg-type]
        (lambda: CacheLayer(semantic=False).cached(ttl=-5)(len), "ttl=-5", "0 or more"),
        (lambda: CacheLayer(semantic=False).cached(tll=5)(len), "tll=5", "did you mean 'ttl'"),
        (lambda: CacheLayer(semantic=False).cached(tags="kb")(len), "tags='kb'", "list"),
        (
            lambda: CacheLayer(semantic=False).cached(tags=["kb:{x}"])(len),
            "tags='kb:{x}'",
            "no parameter 'x'",
        ),
        (lambda: CacheLayer(semantic=False).cached(ignore=["db"])(len), "ignore='db'", "no such parameter"),
        (lambda: CacheLayer(semantic=False).cached(text="words")(len), "text='words'", "no such parameter"),
        (lambda: CacheLayer(semantic=False).wrap(3), "fn=3", "callable"),
        (lambda: Policy(ttl=10**400), "ttl=1000", "1h30m"),
        (lambda: Policy(cache_if=_later), "cache_if=", "plain function"),  # type: ignore[arg-type]
        (lambda: Policy(ttl=_later), "ttl=", "plain function"),  # type: ignore[arg-type]
        (lambda: Normalize(case="no"), "normalize.case='no'", "True or False"),  # type: ignore[arg-type]
        (lambda: CacheLayer(seed="eu"), "seed='eu'", "whole number"),  # type: ignore[arg-type]
        (lambda: CacheLayer(clock=3), "clock=3", "Clock"),  # type: ignore[arg-type]
        (lambda: CacheLayer(index=3), "index=3", "directory"),  # type: ignore[arg-type]
        (lambda: CacheLayer(index=""), "index=''", "name a directory"),
        (lambda: CacheLayer(types=dict), "types=", "list of classes"),  # type: ignore[arg-type]
        (lambda: CacheLayer(types=[dict, "Page"]), "types=", "list of classes"),  # type: ignore[list-item]
        (lambda: CacheLayer(semantic=False).cached(property(len)), "fn=", "put property above"),  # type: ignore[arg-type]
        (lambda: CacheLayer(semantic=False).cached(Budgets), "fn=<class", "decorate its methods"),
        (lambda: CacheLayer(semantic=False).cached(Policy(ttl=5)), "fn='Policy'", "cached(ttl='10m')"),  # type: ignore[arg-type]
        (lambda: _twice(CacheLayer(semantic=False)), "fn=<function", "decorate it once"),
        (
            lambda: CacheLayer(semantic=False).wrap(_later, tags=["x:{given"]),
            "tags='x:{given'",
            "not a template",
        ),
        (
            lambda: CacheLayer(semantic=False).wrap(lambda given: given, tags=["{given:{n}}"]),
            "{given:{n}}",
            "no parameter 'n'",
        ),
        *[
            (
                lambda name=name, value=value: CacheLayer(semantic=False).cached(**{name: value})(len),
                name + "=",
                remedy,
            )
            for name, value, remedy in (
                ("name", 3, "non-empty string"),
                ("version", [2], "a string or a number"),
                ("ignore", 3, "list"),
                ("key", "obj", "plain function"),
                ("key", _later, "plain function"),
                ("vary", "user", "ContextVars"),
                ("vary", len, "ContextVars"),
                ("vary", [_later], "ContextVars"),
                ("self_key", 3, "attribute"),
                ("share", "no", "True or False"),
                ("share_self", 1, "True or False"),
                ("view", "text", "plain function"),
                ("judge", "same", "function of two"),
                ("codec", "json", "codec"),
            )
        ],
    ],
)
def test_bad_settings_name_field_value_and_remedy(make: Any, field: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as fault:
        make()
    assert field in str(fault.value) and remedy in str(fault.value)


def test_durations_are_seconds_timedeltas_or_texts() -> None:
    for given, seconds in (
        ("1h30m", 5400),
        (90, 90),
        (timedelta(minutes=2), 120),
        ("250ms", 0.25),
        ("1.5 h", 5400),
    ):
        assert Policy(ttl=given).ttl == seconds


def test_semantic_true_without_its_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"cachelayer\[local\]"):
        CacheLayer(semantic=True)
    layer = CacheLayer()  # auto: off, and says so
    assert "onnxruntime" in layer.stats()["similar"]["why"]
    with pytest.raises(MissingExtra, match=r"cachelayer\[local\]"):
        layer.cached(semantic=True)(Gate.__call__)


def test_a_url_that_no_extra_mends_is_told_before_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"store='localhost:6379': begin with one of redis://"):
        CacheLayer(store="localhost:6379", semantic=False)
    with pytest.raises(MissingExtra, match=r"cachelayer\[redis\]"):
        CacheLayer(store="redis://localhost:6379", semantic=False)


def test_an_embedder_that_cannot_be_loaded_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who names a model wants it: nothing was compared by meaning, and only the log said so."""
    monkeypatch.setattr(wiring, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"embedder='bge' needs the package 'onnxruntime'"):
        CacheLayer(embedder="bge")


def test_a_missing_extra_is_an_import_error_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'cachelayer\[local\]'") as raised:
        CacheLayer(semantic=True)
    assert isinstance(raised.value, ConfigurationError) and raised.value.name == "onnxruntime"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_directory_to_record_to_may_be_a_path(tmp_path: Path) -> None:
    assert (
        Policy(record=tmp_path).record == Trace(path=tmp_path) == Policy(record=Trace(path=tmp_path)).record
    )


def test_a_directory_that_would_stay_empty_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for options in ({"semantic": False}, {"policy": Policy(semantic=False)}):
        with pytest.raises(ConfigurationError, match="give it to single functions"):
            CacheLayer(index=tmp_path, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(wiring, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"index=.* needs the package 'onnxruntime'"):
        CacheLayer(index=tmp_path)


def test_what_is_compared_by_meaning_is_settled_at_decoration() -> None:
    layer = CacheLayer(embedder=_words())

    async def by_id(user_id: int) -> str:
        return ""

    async def two(a: str, b: str) -> str:
        return ""

    async def one(user: int, sentence: str) -> str:
        return ""

    async def named(sentence: str, question: str) -> str:
        return ""

    async def chat(messages: list[Any], question: str = "") -> str:
        return ""

    async def beside(server: str, **body: Any) -> str:
        return ""

    async def generate(model_id: str, contents: list[Any] | str) -> str:
        return ""  # as Gemini's client does: 'flash lite' was compared with 'flash'

    for unclear in (by_id, two, beside, generate):
        with pytest.raises(ConfigurationError, match=r"give text='name'.*semantic=False"):
            layer.cached(unclear)
        layer.cached(semantic=False)(unclear)
    texts = {f.__name__: layer.cached(f).function.identifier.text for f in (one, named, chat)}
    assert texts == {"one": "sentence", "named": "question", "chat": "messages"}


def _words() -> Any:
    from cachelayer.testing import WordEmbedder

    return WordEmbedder()


def test_constructing_starts_no_thread_and_binds_no_loop() -> None:
    before = threading.active_count()
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def ask(question: str) -> str:
        return question

    assert threading.active_count() == before
    assert asyncio.run(ask("a")) == "a"
    assert asyncio.run(ask.outcome("a")).source is Source.MEMORY  # another loop


def test_a_fork_goes_on_with_what_was_kept_and_waits_for_nobody() -> None:
    layer, calls = CacheLayer(semantic=False), []

    @layer.cached
    def ask(question: str) -> str:
        calls.append(question)
        return question

    ask("a")
    fork = multiprocessing.get_context("fork")
    inbox = fork.Queue()

    def child() -> None:
        inbox.put((ask.outcome("a").source, ask("b"), len(calls)))

    with layer._keeper.lock:  # as another thread might at that moment
        process = fork.Process(target=child)
        process.start()
    assert inbox.get(timeout=20) == (Source.MEMORY, "b", 2)
    process.join()
    assert len(calls) == 1


def test_a_layer_of_ones_own_may_have_arguments_of_its_own() -> None:
    class Mine(CacheLayer):
        def __init__(self, ttl: str, **rest: Any) -> None:
            super().__init__(policy=Policy(ttl=ttl), **rest)

    assert Mine(ttl="1h", semantic=False).policy.ttl == Mine("1h", semantic=False).policy.ttl == 3600


def test_equal_normalize_settings_are_equal() -> None:
    assert Normalize(case=True) == Normalize(case=True) != Normalize()


@pytest.mark.parametrize("what", [{"tags": "kb"}, {"scope": "acme"}, {"scope": {}}], ids=str)
async def test_what_names_nothing_invalidates_nothing_in_silence_it_is_refused(what: Any) -> None:
    async with CacheLayer(semantic=False) as layer:
        await layer.wrap(_later, name="later")(1)
        with pytest.raises(ConfigurationError, match=f"{next(iter(what))}="):
            await layer.invalidate(**what)
        assert layer.stats()["entries"] == 1


@pytest.mark.parametrize(
    "error",
    [ConfigurationError("ttl", -1, "more"), MissingExtra("x", "y", "z", "no"), Shed("full", "later")],
    ids=str,
)
def test_errors_cross_processes_whole(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(("given", "meant"), [("tag", "tags"), ("document", "documents"), ("scop", "scope")])
async def test_a_mistyped_part_is_refused_with_the_nearest_name(given: str, meant: str) -> None:
    layer = CacheLayer(semantic=False)
    with pytest.raises(ConfigurationError, match=f"unknown argument; did you mean '{meant}'"):
        await layer.invalidate(**{given: ["kb"]})  # type: ignore[call-overload]
