"""What Redis refuses is told in words that lead to the remedy, costs callers no time, and nobody pesters the server."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually, record, refusal_of
from redis_servers import BINARY, Server, free_port, hiredis

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.errors import StoreFault, Unusable
from cachelayer.exact.redis.calls import checked, full
from cachelayer.exact.redis.names import digest_of, scope_name
from cachelayer.exact.redis.node import mode_in, parse_info
from cachelayer.testing import Gate


def as_user(server: Server, rights: str) -> str:
    server.do("ACL", "SETUSER", "cache", "on", ">secret", *rights.split())
    return server.url.replace("://", "://cache:secret@")


def layer_on(url: str) -> CacheLayer:
    policy = Policy(max_bytes=0, rider_wait="1h", budgets=Budgets(store="2s"))
    return CacheLayer(policy=policy, store=url, semantic=False)


async def test_a_node_of_a_cluster_that_is_named_as_one_server_is_told_so(
    cluster: Any, make_store: Any
) -> None:
    assert "redis+cluster://" in await refusal_of(make_store(cluster.servers[0].url))


async def test_a_user_without_a_right_that_every_connection_needs_is_not_dialled_again_and_again(
    own_server: Any, make_store: Any
) -> None:
    server = own_server()
    async with FaultProxy(server.port) as proxy:
        user = as_user(server, "~* +@all -time").partition("@")[0]
        store = make_store(f"{user}@127.0.0.1:{proxy.port}")
        assert "refused TIME" in await refusal_of(store)
        node = store._lane().only
        await eventually(lambda: node.control.failures > 3)
        assert proxy.connections < 20


@pytest.mark.parametrize("rights", ["~* +@all -eval", "~* +@all -set"])
async def test_a_user_who_may_not_write_keeps_no_caller_waiting_and_is_told(
    own_server: Any, rights: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with layer_on(as_user(own_server(), rights)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        async with asyncio.timeout(15):  # a lease that nobody releases lasts 30 s
            outcomes = [await ask.outcome("a question") for _ in range(3) if await layer.flush() is None]
        assert {one.source for one in outcomes} == {Source.BACKEND}
    command = rights.rpartition("-")[2]
    assert re.search(
        rf"stage store failed with StoreFault \(Redis answered NOPERM .*'{command}'", caplog.text
    )


async def test_a_user_of_the_url_is_the_one_who_connects_without_a_password_too(
    own_server: Any, open_store: Any
) -> None:
    """The default user did, whatever user the URL named."""
    server = own_server()
    server.do("ACL", "SETUSER", "cache", "on", "nopass", "~*", "+@all")
    await open_store(server.url.replace("://", "://cache@"))
    assert server.do("CLIENT", "LIST").count(b"user=cache") == 2


async def test_a_lookup_waits_for_no_second_attempt_to_connect(own_server: Any, make_store: Any) -> None:
    store = make_store(own_server("--requirepass", "right").url)
    await refusal_of(store)
    link = store._lane().only.control
    await eventually(lambda: link.failures > 5)  # pauses of half a second and more by now
    failures = link.failures
    with pytest.raises(StoreFault, match="NOAUTH"):
        await store.get(bytes(16), b"", 10.0)
    assert link.failures == failures


async def test_a_list_where_an_entry_belongs_is_corrupt_and_written_over(own_server, open_store):
    server = own_server()
    store = await open_store(server.url)
    server.do("LPUSH", store._names.entry(record().key), "a list")
    with pytest.raises(Unusable) as refusal:
        await store.get(record().key, record().canonical)
    assert refusal.value.reason is Reason.CORRUPT
    assert await store.put([record()]) == 1
    assert (await store.get(record().key, record().canonical)).payload == b"answer"


async def test_lists_where_epochs_and_deletions_belong_keep_nothing_from_being_shared(own_server, open_store):
    """Nothing of their functions was, until somebody deleted them by hand."""
    server = own_server()
    store = await open_store(server.url)
    scope = store._names.epoch(digest_of(scope_name(record().scope)))
    for name in (scope, store._names.tomb(record().key)):
        server.do("LPUSH", name, "a list")
    assert await store.put([record()]) == 1
    other = await open_store(server.url)
    assert (await other.get(record().key, record().canonical)).payload == b"answer"


@pytest.mark.parametrize(
    ("told", "instead"),
    [
        (rb"run_id:", rb"run_ix:"),
        (rb"run_id:[0-9a-f]{39}", b"run_id:" + b" " * 39),
        (rb"uptime_in_s", b"uptime_in_x"),
    ],
)
async def test_a_server_that_tells_no_run_of_its_own_shares_all_the_same(
    server: Any, open_store: Any, told: bytes, instead: bytes
) -> None:
    """As proxies and hosted servers do: the connection was given up for good, and every start waited in vain."""
    async with FaultProxy(server.port) as proxy:
        proxy.garble = lambda data: re.sub(told, instead, data)
        store = await open_store(f"{proxy.url}?lag=5s")
        await store.put([record()])
        proxy.refuse = True
        proxy.cut()
        await eventually(lambda: not store.coherent)
        proxy.refuse = False
        await eventually(lambda: store.coherent)  # an attempt that is refused may be under way still
        await store.start()
        assert (await store.get(record().key, record().canonical)).payload == b"answer"
        assert "restarts of the server go unnoticed" in str(await store.diagnose())


@pytest.mark.parametrize("forbid", ["user", "server"])
async def test_what_the_server_will_not_do_is_named_in_the_log_without_its_data(
    own_server: Any, open_store: Any, forbid: str
) -> None:
    options = ("--rename-command", "EVAL", "") if forbid == "server" else ()
    server = own_server(*options)
    url = server.url if forbid == "server" else as_user(server, "~* +@all -eval")
    store = await open_store(url)
    with pytest.raises(StoreFault, match=r"(?i)eval") as fault:
        await store.put([record(payload=b"private")])
    assert "private" not in str(fault.value) and "redis.call" not in str(fault.value)


SCRIPT = "ERR Error running script (call to f_b2535): @user_script:1: @user_script: 1: "


@pytest.mark.parametrize(
    ("refusal", "reason", "told"),
    [
        ("-OOM command not allowed when used memory > 'maxmemory'.", Reason.OVERLOAD, "OOM"),
        ("-READONLY You can't write against a read only replica.", Reason.FAULT, "READONLY"),
        ("The user executing the script can't run this command or subcommand", Reason.FAULT, "ERR"),
    ],
)
def test_what_a_script_of_redis_6_ran_into_is_told_as_what_a_command_did(
    refusal: str, reason: Reason, told: str
) -> None:
    """A full one was taken for a broken one, and no longer asked for what it held. The words are those of 6.2.5."""
    with pytest.raises(StoreFault, match=f"answered {told}$") as fault:
        checked(hiredis.ReplyError(SCRIPT + refusal))
    assert fault.value.reason is reason and full([hiredis.ReplyError(SCRIPT + refusal)]) is (told == "OOM")


def test_a_transaction_that_a_server_discards_since_it_is_full_by_now_is_told_as_that() -> None:
    """It filled up between two commands: a deletion failed, where a full server is made to take it. As 7.0 says it."""
    told = (
        "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."
    )
    assert full([hiredis.ReplyError(told)])
    with pytest.raises(StoreFault, match=r"answered EXECABORT$"):
        checked(hiredis.ReplyError("EXECABORT Transaction discarded because of previous errors."))


def test_valkey_tells_what_it_is_under_another_name() -> None:
    assert mode_in(parse_info("# Server\r\nredis_version:7.2.4\r\nserver_mode:cluster\r\n")) == "cluster"
    assert mode_in(parse_info("# Server\r\nredis_version:7.2.4\r\nredis_mode:sentinel\r\n")) == "sentinel"


async def test_a_sentinel_is_told_to_be_one(own_server: Any, make_store: Any, tmp_path: Path) -> None:
    """It was said that Redis refused TIME."""
    settings = tmp_path / "sentinel.conf"
    settings.write_text(f"sentinel monitor mine 127.0.0.1 {own_server().port} 1\n")
    port = free_port()
    sentinel = subprocess.Popen(
        [str(BINARY), str(settings), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: listens(port))
        assert "name the primary that it watches" in await refusal_of(make_store(f"redis://127.0.0.1:{port}"))
    finally:
        sentinel.kill()
        sentinel.wait()


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
