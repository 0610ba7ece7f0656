"""Similar answers across processes: what one makes, the others find by meaning, and a restart finds everything."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from redis_records import eventually
from redis_servers import Server
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.exact.redis import RedisStore
from cachelayer.testing import Gate, WordEmbedder


def layer_on(store: Any, **options: Any) -> CacheLayer:
    policy = Policy(budgets=Budgets(store="2s"), max_error_rate=0.05, shadow=0)
    options = {"embedder": WordEmbedder(), "verifier": SameWords(), **options}
    return CacheLayer(policy=policy, store=store, **options)


FORWARDS, BACKWARDS = "where is my red parcel today", "today where is my parcel red"


CHILD = """
import asyncio, json, sys, time
sys.path[:0] = [sys.argv[2], sys.argv[2] + "/../kit"]
from test_layer_feed import layer_on, FORWARDS, BACKWARDS
from cachelayer import Source
calls = []
async def answer(question: str) -> str:
    calls.append(question)
    return "in Lyon"
async def main():
    layer = layer_on(sys.argv[1])
    ask = layer.wrap(answer, name="ask")
    async with layer:
        print("ready", flush=True)
        if sys.argv[3] == "writer":
            sys.stdin.readline()
            await ask(FORWARDS)
            await layer.flush()
            print(json.dumps(time.time()), flush=True)
            sys.stdin.readline()
        else:
            while True:
                why = await ask.explain(BACKWARDS)
                if why.candidates:
                    break
                await asyncio.sleep(0.01)
            moment = time.time()
            outcome = await ask.outcome(BACKWARDS)
            print(json.dumps([moment, outcome.answer, outcome.source, calls]), flush=True)
asyncio.run(main())
"""


def test_what_one_process_writes_another_finds_by_meaning_within_a_second(server: Server) -> None:
    here = str(Path(__file__).parent)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, server.url, here, role], stdin=-1, stdout=-1, text=True
        )
        for role in ("writer", "reader")
    ]
    writer, reader = children
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    assert writer.stdin is not None and writer.stdout is not None and reader.stdout is not None
    writer.stdin.write("go\n")
    writer.stdin.flush()
    written = json.loads(writer.stdout.readline())
    moment, answer, source, calls = json.loads(reader.stdout.readline())
    writer.communicate("end\n", timeout=30)
    reader.communicate(timeout=30)
    assert (answer, source, calls) == ("in Lyon", "index", [])
    assert moment - written < 1.0


async def test_a_restart_finds_by_meaning_what_was_there_before(server: Server) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        for number in range(20):
            await ask(f"{FORWARDS} {number}")
        await layer.flush()
    gate, embedder = Gate(opened=True), WordEmbedder()
    layer = layer_on(server.url, embedder=embedder)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        async with asyncio.timeout(20):  # a start waits for a while; the rest follows
            while layer.stats()["elsewhere"]["taken"] < 20:
                await asyncio.sleep(0.01)
        outcome = await ask.outcome(f"7 {BACKWARDS}")
    assert (outcome.source, outcome.answer, gate.calls) == (Source.INDEX, "answer 8", 0)
    assert embedder.embedded == 1  # the question alone: vectors came with the entries


async def test_tenants_never_meet_in_the_feed(server: Server) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        with layer.scope(tenant="acme"):
            await ask(FORWARDS)
        await layer.flush()
    async with layer_on(server.url) as layer:
        gate = Gate(opened=True)
        ask = layer.wrap(gate, name="ask")
        for tenant, source in (("other", Source.BACKEND), ("acme", Source.INDEX)):
            with layer.scope(tenant=tenant):
                assert (await ask.outcome(BACKWARDS)).source is source


async def test_what_was_invalidated_or_erased_does_not_arrive(server: Server) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask(FORWARDS)
        await layer.flush()
        await layer.invalidate(tags=["kb"])
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        assert layer.stats()["elsewhere"]["taken"] == 0
        with layer.scope(tenant="acme"):
            await ask("the secret harbour")
        await layer.flush()
        assert b"harbour" in everything(server)
        await layer.erase(tenant="acme")
        assert b"harbour" not in everything(server)


def everything(server: Server) -> bytes:
    names = [name for name in server.do("KEYS", "*") if server.do("TYPE", name) == b"string"]
    return b"".join(server.do("GET", name) or b"" for name in names) + repr(server.do("KEYS", "*")).encode()


async def test_another_model_or_key_of_signature_never_lends_its_vectors(server: Server) -> None:
    key, other = b"k" * 32, b"o" * 32
    async with layer_on(RedisStore(server.url, encrypt_keys=[key])) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask(FORWARDS)
        await layer.flush()
    assert b"parcel" not in everything(server)
    async with layer_on(RedisStore(server.url, encrypt_keys=[other])) as layer:
        layer.wrap(Gate(opened=True), name="ask")
        assert layer.stats()["elsewhere"]["taken"] == 0
    wide = WordEmbedder(96)
    async with layer_on(RedisStore(server.url, encrypt_keys=[key]), embedder=wide) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        assert (await ask.outcome(BACKWARDS)).source is Source.INDEX
        assert wide.embedded >= 2  # its own model embedded the other's text


async def test_another_model_of_the_same_width_embeds_what_it_finds_itself(server: Server) -> None:
    async with layer_on(server.url) as layer:
        await layer.wrap(Gate(opened=True), name="ask")(FORWARDS)
        await layer.flush()
    other: Any = WordEmbedder()
    other.identity = "another model"
    async with layer_on(server.url, embedder=other) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        assert (await ask.outcome(BACKWARDS)).source is Source.INDEX
        assert other.embedded == 2


async def test_the_feed_is_bounded_and_holds_no_text(server: Server) -> None:
    async with layer_on(RedisStore(server.url, feed=20)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await asyncio.gather(*(ask(f"harbour {number}") for number in range(400)))
        await layer.flush()
    assert server.do("XLEN", "cachelayer:f") <= 200
    assert b"harbour" not in repr(server.do("XRANGE", "cachelayer:f", "-", "+")).encode()


async def test_a_redis_that_dies_costs_the_feed_not_the_answers(own_server: Any) -> None:
    server = own_server()
    async with layer_on(server.url) as layer:
        gate = Gate(opened=True)
        ask = layer.wrap(gate, name="ask")
        await ask(FORWARDS)
        await layer.flush()
        server.kill()
        assert await ask("something else entirely") == "answer 2"
        port = server.port
        async with asyncio.timeout(20):
            while not layer.stats()["faults"].get("feed:StoreFault"):
                await asyncio.sleep(0.01)
        own_server(port=port)
        async with layer_on(server.url) as other:
            await other.wrap(Gate(opened=True), name="ask")(FORWARDS)
            await other.flush()
            async with asyncio.timeout(20):
                while not (await ask.explain(BACKWARDS)).candidates:
                    await asyncio.sleep(0.01)


async def test_what_waits_for_its_function_and_is_forgotten_meanwhile_does_not_arrive(server: Server) -> None:
    gate = Gate(opened=True)
    async with layer_on(server.url) as one:
        ask = one.wrap(gate, name="ask", tags=["kb"])
        await ask(FORWARDS)
        await one.flush()
        async with layer_on(server.url) as other:
            assert other.stats()["elsewhere"]["waiting"] == 1
            await ask.invalidate(FORWARDS)
            await eventually(lambda: other.stats()["elsewhere"]["waiting"] == 0)
            again = other.wrap(gate, name="ask", tags=["kb"])
            assert (await again.outcome(FORWARDS)).source is Source.BACKEND
            assert (await again.outcome(FORWARDS)).answer == "answer 2"


async def test_what_waits_for_its_function_and_is_declared_invalid_meanwhile_does_not_arrive(
    server: Server,
) -> None:
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        ask = one.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask(FORWARDS)
        await one.flush()
        await eventually(lambda: two.stats()["elsewhere"]["waiting"] == 1)
        unheard = two._keeper.epoch
        await one.invalidate(tags=["kb"])
        await eventually(lambda: two._keeper.epoch > unheard)
        again = two.wrap(Gate(lambda question: "new", opened=True), name="ask", tags=["kb"])
        assert (await again(FORWARDS), two.stats()["elsewhere"]["taken"]) == ("new", 0)


async def test_a_list_where_a_vector_belongs_keeps_no_other_from_being_found(own_server: Any) -> None:
    server, gate = own_server(), Gate(opened=True)
    async with layer_on(server.url) as layer:
        ask = layer.wrap(gate, name="ask", text="question")
        await ask(question="what does the green lamp cost")
        await layer.flush()
        (name,) = server.do("KEYS", "*:n:*")
        server.do("DEL", name)
        server.do("LPUSH", name, "a list")
        await ask(question=FORWARDS)
        await layer.flush()
    async with layer_on(server.url) as layer:
        ask = layer.wrap(gate, name="ask", text="question")
        await eventually(lambda: {"taken": 1, "waiting": 1}.items() & layer.stats()["elsewhere"].items())
        assert (await ask.outcome(question=BACKWARDS)).match == "similar"
