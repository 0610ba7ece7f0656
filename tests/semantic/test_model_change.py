"""Another embedding model: both serve while entries are embedded anew, and their vectors never meet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from held_model import Slow
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, ConfigurationError, Policy, Reason, Source
from cachelayer.testing import Gate, WordEmbedder
from cachelayer.types import Embedded


def make(shadow: float = 0) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=shadow, budgets=Budgets(embed=20, search=20, verify=20))
    return CacheLayer(policy=policy, embedder=WordEmbedder(64), verifier=SameWords())


async def test_answers_go_on_while_everything_is_embedded_anew() -> None:
    layer, gate = make(), Gate(opened=True)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        for number in range(20):
            await ask(f"where is parcel {number}")
        await layer.flush()
        new = Slow(96)
        change = asyncio.create_task(layer.change_model(new))
        await new.asked.wait()
        assert (await ask.outcome("parcel 7 where is")).source is Source.INDEX
        await ask("a violin made meanwhile")
        await layer.flush()
        new.go.set()
        assert await change == 21
        calls = gate.calls
        for question in ("parcel 8 where is", "made a violin meanwhile"):
            assert (await ask.outcome(question)).source is Source.INDEX
        assert gate.calls == calls
        assert layer._similar is not None and layer._similar.embedder.identity == "words-96"


async def test_what_is_dropped_meanwhile_is_no_neighbour_afterwards() -> None:
    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        new = Slow(96)
        change = asyncio.create_task(layer.change_model(new))
        await new.asked.wait()
        await layer.invalidate(tags=["kb"])
        new.go.set()
        assert await change == 0
        assert (await ask.outcome("my parcel where is")).source is Source.BACKEND


async def test_a_model_that_fails_changes_nothing() -> None:
    class Broken(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            raise OSError("gone")

    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        with pytest.raises(OSError, match="gone"):
            await layer.change_model(broken := Broken(96))
        assert not broken.started
        assert (await ask.outcome("my parcel where is")).source is Source.INDEX


@pytest.mark.parametrize("end", ["the change is cancelled", "the layer is closed"])
async def test_a_model_that_does_not_come_to_serve_is_let_go(end: str) -> None:
    layer, new = make(), Slow(96)
    await layer.start()
    await layer.wrap(Gate(opened=True), name="ask")("where is my parcel")
    await layer.flush()
    change = asyncio.create_task(layer.change_model(new))
    await new.asked.wait()
    if end == "the layer is closed":
        await layer.aclose()
    else:
        change.cancel()
    new.go.set()
    await asyncio.wait((change,))
    assert not new.started
    await layer.aclose()


async def test_a_model_that_cannot_be_closed_is_replaced_all_the_same() -> None:
    class Stuck(WordEmbedder):
        async def aclose(self) -> None:
            raise OSError("no")

    layer = CacheLayer(embedder=Stuck(), verifier=SameWords(), policy=Policy(max_error_rate=0.05, shadow=0))
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        assert await layer.change_model(WordEmbedder(96)) == 1
        assert (await ask.outcome("my parcel where is")).source is Source.INDEX
    assert layer.stats()["faults"] == {"close:OSError": 1}


@pytest.mark.parametrize("lanes", [0, 1])
async def test_the_very_model_that_serves_embeds_everything_anew_and_is_not_closed(lanes: int) -> None:
    model = WordEmbedder()
    model.lanes = lanes  # type: ignore[attr-defined]
    layer = CacheLayer(embedder=model, verifier=SameWords(), policy=Policy(max_error_rate=0.05, shadow=0))
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        assert await layer.change_model(model) == 1
        assert model.started and (await ask.outcome("my parcel where is")).source is Source.INDEX
    assert not model.started


async def test_it_says_when_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="start"):
        await make().change_model(WordEmbedder(96))
    with pytest.raises(ConfigurationError, match="Embedder"):
        await make().change_model("gpt")  # type: ignore[arg-type]
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())
    async with layer:
        with pytest.raises(ConfigurationError, match="restart"):
            await layer.change_model(WordEmbedder(96))


@pytest.mark.parametrize("question", ["parcel my where is", "a violin is where"])
async def test_a_request_whose_vector_is_the_old_model_s_is_not_compared_with_the_new_one_s(
    question: str,
) -> None:
    old = Slow(64)
    old.go.set()
    budgets = Budgets(embed=20, search=20, verify=20)
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=budgets)
    async with CacheLayer(policy=policy, embedder=old, verifier=SameWords()) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("where is my parcel")
        await layer.flush()
        old.go.clear()
        old.asked.clear()
        asking = asyncio.create_task(ask.outcome(question))
        await old.asked.wait()
        await layer.change_model(WordEmbedder(64))
        old.go.set()
        outcome = await asking
        assert (outcome.source, outcome.misses["similar"]) == (Source.BACKEND, Reason.WARMING)
        await layer.flush()
        assert not layer.stats()["faults"]
        assert (await ask.outcome("is where my parcel")).source is Source.INDEX


class Otherwise(WordEmbedder):
    """Another model of the same size, to which cancelling is what resetting was."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = "otherwise"

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await super().embed([text.replace("cancel", "reset") for text in texts])


PROSE = "hold the only button for as long as it takes until the light has blinked two times"


async def test_an_answer_that_is_read_while_the_model_changes_is_not_found_by_the_old_one_s_vector() -> None:
    old = Slow(about="button")
    async with CacheLayer(policy=Policy(max_error_rate=0.05, shadow=0), embedder=old) as layer:
        ask = layer.wrap(Gate(lambda question: PROSE, opened=True), name="ask")
        await ask("reset it")
        await old.asked.wait()
        await layer.change_model(Otherwise())
        old.go.set()
        await layer.flush()
        assert (await ask.outcome("cancel it")).source is Source.BACKEND


async def test_what_a_check_finds_out_after_the_model_changed_is_not_learned_by_the_new_one() -> None:
    layer, gate = make(shadow=1), Gate(opened=True)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        await ask("where is my parcel")
        await layer.flush()
        await gate.entered()
        gate.close()
        assert (await ask.outcome("my parcel where is")).source is Source.INDEX
        await gate.entered()
        await layer.change_model(WordEmbedder(96))
        gate.open()
        await layer.flush()
        assert not layer.stats()["faults"]


@pytest.mark.parametrize("dimension", [64, 96])
async def test_a_call_in_flight_that_the_old_model_read_is_not_compared_by_the_new_one_s_vectors(
    dimension: int,
) -> None:
    """With vectors of one size it could be joined for quite another question; with others the lookup failed."""
    layer, gate = make(), Gate()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        first = asyncio.create_task(ask("where is my parcel"))
        await gate.entered()
        await layer.change_model(WordEmbedder(dimension))
        second = asyncio.create_task(ask.outcome("my parcel where is"))
        await gate.entered()
        gate.open()
        await first
        assert (await second).source is Source.BACKEND
        await layer.flush()
        assert not layer.stats()["faults"] and layer.stats()["similar"]["joined"] == 0


class Working(WordEmbedder):
    """Its work under way ends when it is let."""

    lanes = 1

    def __init__(self) -> None:
        super().__init__(64)
        self.asked, self.ending, self.let = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked.set()
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.ending.set()
            await self.let.wait()
        return await super().embed(texts)


async def test_a_change_that_is_called_off_at_its_end_has_closed_the_old_model() -> None:
    old = Working()
    layer = CacheLayer(embedder=old, policy=Policy(shadow=0, budgets=Budgets(embed=20)))
    async with layer:
        asking = asyncio.create_task(layer.wrap(Gate(opened=True), name="ask")("where is my parcel"))
        await old.asked.wait()
        change = asyncio.create_task(layer.change_model(WordEmbedder(96)))
        await old.ending.wait()
        change.cancel()
        await asyncio.wait((change,))
        assert change.cancelled() and not old.started
        old.let.set()
        await asking


async def test_whose_answers_they_are_is_known_to_the_next_model_too() -> None:
    """What one principal alone was given is no evidence for others, and what the owner was given is."""
    layer = make()
    ask = layer.wrap(Gate(lambda question: f"answer to {question.split()[0]}", opened=True), name="ask")
    async with layer:
        for principal, questions in (
            ("mallory", ["parcel gone", "parcel lost"]),
            ("ann", ["violin new"]),
            ("bob", ["violin old"]),
            (None, ["lamp red"]),
        ):
            with layer.scope(principal=principal):
                for question in questions:
                    await ask(question)
                    await layer.flush()
        await layer.change_model(WordEmbedder(96))
        assert layer._similar is not None
        (here,) = layer._similar.decider._functions["ask"].scopes.values()  # type: ignore[attr-defined]
        answers = ("answer to parcel", "answer to violin", "answer to lamp")
        assert [here.hood.answers.given[here.find(answer)] for answer in answers] == ["mallory", "", ""]


async def test_what_was_typed_in_wide_letters_is_embedded_anew_in_plain_ones_as_requests_are() -> None:
    layer = make()
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        await ask("where is my \uff50\uff41\uff52\uff43\uff45\uff4c")
        await layer.flush()
        await layer.change_model(WordEmbedder(96))
        (near,) = (await ask.explain("where is my parcel")).candidates
        assert near["similarity"] == pytest.approx(1.0)
