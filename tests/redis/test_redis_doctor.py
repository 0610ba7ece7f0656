"""The doctor sees what is wrong with a server, and says what to do."""

from __future__ import annotations

import re

import pytest
from fault_proxy import FaultProxy
from redis_records import record

from cachelayer.cli import main
from cachelayer.exact.redis.doctor import _version
from cachelayer.exact.redis.node import parse_info
from cachelayer.exact.redis.rights import granting


async def findings(store) -> dict[str, tuple[str, str]]:
    report = await store.diagnose()
    assert all(finding.remedy or finding.level == "ok" for finding in report)
    return {finding.subject: (finding.level, finding.found + " " + finding.remedy) for finding in report}


async def test_a_server_as_it_should_be(own_server, open_store):
    server = own_server("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu")
    report = await findings(await open_store(server.url))
    assert {
        subject: level for subject, (level, _) in report.items() if subject != "latency"
    } == dict.fromkeys(
        ("version", "role", "maxmemory", "maxmemory-policy", "persistence", "rights", "clock"), "ok"
    )
    assert "median" in report["latency"][1]


@pytest.mark.parametrize(
    ("options", "subject", "level"),
    [
        ((), "maxmemory", "problem"),
        (("--maxmemory", "100mb"), "maxmemory-policy", "problem"),
        (("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random"), "maxmemory-policy", "advice"),
        (("--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"), "maxmemory-policy", "problem"),
        (("--appendonly", "yes"), "persistence", "advice"),
        (("--replicaof", "127.0.0.1 1"), "role", "problem"),
    ],
)
async def test_what_is_wrong_is_found(own_server, open_store, options, subject, level):
    report = await findings(await open_store(own_server(*options).url))
    assert report[subject][0] == level


@pytest.mark.parametrize(("fsync", "level"), [("everysec", "advice"), ("always", "ok")])
async def test_trust_in_what_is_reloaded_needs_a_log_that_loses_nothing(own_server, open_store, fsync, level):
    server = own_server("--appendonly", "yes", "--appendfsync", fsync)
    report = await findings(await open_store(server.url, trust_reloaded=True))
    assert report["persistence"][0] == level


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("redis_version:7.0.15", "7.0.15"),
        ("redis_version:7.2.4\nserver_name:valkey\nvalkey_version:9.1.2", "valkey 9.1.2, like redis 7.2.4"),
        ("redis_version:7.2.4\nserver_name:other", "7.2.4"),
    ],
)
def test_valkey_is_shown_by_its_own_name_and_version(told, shown):
    found = _version(parse_info(f"# Server\n{told}\n"))
    assert (found.level, found.found) == ("ok", shown)


async def test_a_cluster_is_reported_node_by_node(cluster, open_store):
    report = await findings(await open_store(cluster.url))
    assert report["cluster"][0] == "ok"
    assert sum(subject.endswith("latency") for subject in report) == 3


def as_user(server, name: str, rights: str) -> str:
    """The server's URL for a user of these rights."""
    server.do("ACL", "SETUSER", name, "on", ">secret", *rights.split())
    return server.url.replace("://", f"://{name}:secret@")


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        ("~cachelayer:* +@all -@write", "SET, UNLINK, PEXPIRE, XADD, XDEL"),
        ("~app:* +@all", "GET, SET"),
        ("~* +@all -eval", "EVAL"),
        ("~* +@all -mget -exists", "MGET, EXISTS"),
        ("~* +@all -exec -client|caching", "EXEC, CLIENT CACHING"),
    ],
)
async def test_what_the_user_may_not_do_is_found(own_server, open_store, rights, missing):
    report = await findings(await open_store(as_user(own_server(), "reader", rights)))
    assert report["rights"][0] == "problem" and missing in report["rights"][1]


async def test_the_rights_that_the_doctor_names_are_enough(own_server, open_store):
    server = own_server()
    report = await findings(await open_store(as_user(server, "reader", "~app:* +@all")))
    rights = report["rights"][1].partition("ACL SETUSER NAME ")[2]
    store = await open_store(as_user(server, "cache", rights))
    assert (await findings(store))["rights"][0] == "ok"
    assert await store.put([record(tags=("t",))]) == 1
    assert await store.get(record().key, record().canonical) is not None
    lease = await store.acquire(record("b").key, 10.0)
    assert lease is not None
    await lease.release()
    await store.invalidate(tags=["t"])
    assert await store.erase(tags=["t"]) == 1 and await store.delete([record("b").key]) == 0


async def test_the_rights_that_the_doctor_names_are_enough_on_a_cluster(cluster, open_store):
    rights = granting("cachelayer").partition("ACL SETUSER NAME ")[2]
    for server in cluster.servers:
        as_user(server, "clustered", rights)
    store = await open_store(cluster.url.replace("://", "://clustered:secret@"))
    report = await findings(store)
    assert report["cluster"][0] == "ok"
    assert {level for subject, (level, _) in report.items() if subject.endswith("rights")} == {"ok"}
    assert await store.put([record(f"q{n}") for n in range(20)]) == 20


def test_a_user_who_may_not_even_track_is_told_the_rights_that_are_enough(own_server, capsys):
    url = as_user(own_server(), "untracked", "~* +@all -client")
    assert main(["doctor", "--no-model", "--redis", url]) == 1
    assert "-> nothing is shared like this: ACL SETUSER NAME ~cachelayer:*" in capsys.readouterr().out
    assert main(["doctor", "--no-model", "--redis", url, "--prefix", "app"]) == 1
    assert "ACL SETUSER NAME ~app:*" in capsys.readouterr().out


def test_the_doctor_looks_at_the_names_of_the_prefix_that_it_is_told(own_server, capsys):
    url = as_user(own_server(), "apps", "~app:* +@all")
    for told, rights in ([], "PROBLEM  Redis rights"), (["--prefix", "app"], "ok       Redis rights"):
        main(["doctor", "--no-model", "--redis", url, *told])
        assert rights in capsys.readouterr().out
    assert main(["doctor", "--no-model", "--redis", url, "--prefix", "a b"]) == 2
    assert "prefix='a b': use 1 to 64 letters" in capsys.readouterr().err


async def test_a_server_that_is_too_far_for_the_lag_is_told_with_one_that_fits(server, open_store):
    """Memory was emptied again and again, and nothing said why."""
    async with FaultProxy(server.port) as proxy:
        proxy.delay = 0.05
        far, patient = await open_store(proxy.url), await open_store(f"{proxy.url}?lag=5s")
        lag = {f.subject: re.search(r"\?lag=(\d+)ms", f.remedy) for f in await far.diagnose()}["latency"]
        assert lag is not None and int(lag[1]) >= 200
        assert all("?lag" not in finding.remedy for finding in await patient.diagnose())
