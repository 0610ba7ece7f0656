"""Entries as bytes: what was written comes back, and what was not written here by us is refused."""

from __future__ import annotations

import dataclasses
import math
import os
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis_records import record
from xxhash import xxh3_64_intdigest

from cachelayer.errors import ConfigurationError, Unusable
from cachelayer.exact.redis.feed import Feed
from cachelayer.exact.redis.names import Names
from cachelayer.exact.redis.seal import Seal
from cachelayer.exact.redis.wire import HEADER, PEEK, SUMMED, Wire, digests
from cachelayer.types import Findable, Reason, Record, Turn

pytest.importorskip("cryptography")

SIGN, OTHER, AES = b"s" * 32, b"o" * 32, b"e" * 32
DEPS = [(b"d" * 16, b"t" * 8), (b"D" * 16, b"T" * 8)]
SEALS = {"plain": Seal(), "signed": Seal([SIGN]), "encrypted": Seal((), [AES])}
NOW = 1_900_000_000.0

texts = st.text(max_size=30)
times = st.floats(0, NOW, allow_nan=False)
records = st.builds(
    Record,
    key=st.binary(min_size=16, max_size=16), canonical=st.binary(max_size=300), payload=st.binary(max_size=300),
    created=times, fresh_until=st.floats(NOW, 2 * NOW), stale_until=st.floats(NOW + 1, 2 * NOW),
    tags=st.lists(texts, max_size=3).map(tuple), scope=st.binary(max_size=50), text=st.none() | texts, function=texts,
    seconds=times, tokens=st.integers(0, 2**40), principal=texts,
)  # fmt: skip


def wire(seal: Seal, *, prefix: bytes = b"p", schema: int = 1, compress_above: int | None = None) -> Wire:
    return Wire(prefix, schema, seal, compress_above)


def written(record: Record, wire: Wire, *, fence: int = 0) -> bytes:
    return wire.write(record, DEPS, offset=0.0, now=NOW, incarnation=b"i" * 8, fence=fence)


@pytest.mark.parametrize("compress_above", [None, 0])
@pytest.mark.parametrize("seal", SEALS.values(), ids=SEALS)
@given(record=records)
def test_what_was_written_is_read(seal, compress_above, record):
    one = wire(seal, compress_above=compress_above)
    opened = one.read(written(record, one), record.key, record.canonical, 0.0, NOW)
    assert opened is not None
    assert opened[0] == record
    assert opened[1:] == (b"".join(d + t for d, t in DEPS), b"i" * 8, NOW)


@given(record=records, skew=st.floats(-1e6, 1e6))
def test_times_travel_by_the_servers_clock(record, skew):
    """Whatever two processes think the time is, they mean the same moment."""
    one = wire(Seal())
    raw = one.write(record, DEPS, offset=skew, now=NOW + skew, incarnation=b"i" * 8)
    opened = one.read(raw, record.key, record.canonical, skew, NOW + skew)
    assert opened is not None
    assert opened[0].fresh_until == pytest.approx(record.fresh_until)


@pytest.mark.parametrize("compress_above", [None, 0])
@pytest.mark.parametrize("seal", SEALS.values(), ids=SEALS)
@given(data=st.data(), record=records)
def test_damage_is_never_served(seal, compress_above, data, record):
    one = wire(seal, compress_above=compress_above)
    raw = bytearray(written(record, one))
    if data.draw(st.booleans()):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del raw[data.draw(st.integers(0, len(raw) - 1)) :]
    try:
        opened = one.read(bytes(raw), record.key, record.canonical, 0.0, NOW)
    except Unusable:
        return
    assert (
        opened is None or opened[0] == record
    )  # a checksum that nobody needs beside a signature may be wrong


@pytest.mark.parametrize("compress_above", [None, 0])
@given(data=st.data(), record=records)
def test_what_is_forged_with_a_right_checksum_is_refused_or_read_and_never_another_fault(
    compress_above, data, record
):
    one = wire(Seal(), compress_above=compress_above)
    raw = bytearray(written(record, one))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(
            st.integers(PEEK, min(len(raw), HEADER.size + 60) - 1) | st.integers(PEEK, len(raw) - 1)
        )
        raw[at] = data.draw(st.integers(0, 255))
    del raw[data.draw(st.integers(HEADER.size, len(raw))) :]
    raw[8:SUMMED] = xxh3_64_intdigest(raw[SUMMED:]).to_bytes(8, "little")
    with suppress(Unusable):
        opened = one.read(bytes(raw), record.key, record.canonical, 0.0, NOW)
        assert opened is None or opened[0].canonical == record.canonical
        assert opened is None or isinstance(opened[0].tags, tuple)


@pytest.mark.parametrize("seal", [SEALS["signed"], SEALS["encrypted"]], ids=["signed", "encrypted"])
def test_a_sealed_entry_opens_in_its_own_place_only(seal):
    """Under another key, another prefix, another schema, with another date or other epochs it is refused."""
    mine, one = record(), wire(seal)
    raw = written(mine, one)
    places = [(raw, b"x" * 16, one), (raw, mine.key, wire(seal, prefix=b"q"))]
    spots = (20, 30, 40, 60, HEADER.size, HEADER.size + 20)  # fence, incarnation, function, times, epochs
    places += [(raw[:spot] + bytes([raw[spot] ^ 1]) + raw[spot + 1 :], mine.key, one) for spot in spots]
    for place, key, reader in places:
        with pytest.raises(Unusable) as refusal:
            reader.read(place, key, mine.canonical, 0.0, 0.0)
        assert refusal.value.reason is Reason.UNTRUSTED


def test_an_entry_under_another_key_answers_nothing_even_unsealed():
    mine, other, one = record("mine"), record("other"), wire(Seal())
    assert one.read(written(mine, one), other.key, other.canonical, 0.0, 0.0) is None


def test_a_signature_does_not_outlive_the_entry():
    mine, one = record(ttl=10), wire(SEALS["signed"])
    with pytest.raises(Unusable) as refusal:
        one.read(written(mine, one), mine.key, mine.canonical, 0.0, mine.stale_until + 1)
    assert refusal.value.reason is Reason.EXPIRED


def test_an_old_key_reads_while_it_is_in_the_ring_and_no_longer():
    mine, old, both, new = record(), Seal([OTHER]), Seal([SIGN, OTHER]), Seal([SIGN])
    raw = written(mine, wire(old))
    assert wire(both).read(raw, mine.key, mine.canonical, 0.0, 0.0) is not None
    with pytest.raises(Unusable) as refusal:
        wire(new).read(raw, mine.key, mine.canonical, 0.0, 0.0)
    assert refusal.value.reason is Reason.UNTRUSTED
    assert wire(new).read(written(mine, wire(both)), mine.key, mine.canonical, 0.0, 0.0) is not None


def test_signed_entries_are_read_on_the_way_to_encryption():
    mine, both = record(), Seal([SIGN], [AES])
    assert both.flag == SEALS["encrypted"].flag
    raw = written(mine, wire(SEALS["signed"]))
    assert wire(both).read(raw, mine.key, mine.canonical, 0.0, 0.0) is not None


@pytest.mark.parametrize("writer", SEALS)
@pytest.mark.parametrize("reader", SEALS)
def test_a_ring_refuses_what_it_cannot_vouch_for(writer, reader):
    if writer == reader:
        return
    mine = record()
    with pytest.raises(Unusable) as refusal:
        wire(SEALS[reader]).read(written(mine, wire(SEALS[writer])), mine.key, mine.canonical, 0.0, 0.0)
    assert refusal.value.reason is Reason.UNTRUSTED


def test_encrypted_entries_hide_what_they_hold():
    mine = record(payload=b"a secret answer", text="a secret question", tags=("secret tag",))
    raw = written(mine, wire(SEALS["encrypted"]))
    assert not any(secret in raw for secret in (b"secret", mine.canonical, mine.scope))


def test_another_schema_is_not_read_and_a_newer_one_not_overwritten():
    mine, old, new = record(), wire(Seal(), schema=1), wire(Seal(), schema=2)
    for writer, reader in ((old, new), (new, old)):
        with pytest.raises(Unusable) as refusal:
            reader.read(written(mine, writer), mine.key, mine.canonical, 0.0, 0.0)
        assert refusal.value.reason is Reason.SCHEMA
    assert old.newer(written(mine, new)[:PEEK], 0, NOW)
    assert not new.newer(written(mine, old)[:PEEK], 0, NOW)
    assert not old.newer(b"", 0, NOW)
    assert not old.newer(os.urandom(PEEK), 0, NOW)


def test_a_later_lease_holders_entry_is_not_overwritten():
    mine, one = record(), wire(Seal())
    raw = written(mine, one, fence=7)[:PEEK]
    assert one.newer(raw, 6, NOW)
    assert not one.newer(raw, 7, NOW)
    assert not one.newer(raw, 0, NOW)  # a write without a lease goes by other rules


@given(junk=st.binary(max_size=400))
def test_junk_is_refused(junk):
    with pytest.raises(Unusable):
        wire(Seal()).read(junk, b"k" * 16, b"c", 0.0, 0.0)


def test_an_entry_may_not_claim_to_unpack_to_the_whole_memory():
    mine = record(payload=bytes(70 << 20))
    one = wire(Seal(), compress_above=0)
    with pytest.raises(Unusable) as refusal:
        one.read(written(mine, one), mine.key, mine.canonical, 0.0, 0.0)
    assert refusal.value.reason is Reason.CORRUPT


def test_headers_tell_what_an_entry_depends_on():
    raw = written(record(), wire(SEALS["encrypted"]))
    assert digests(raw) == [digest for digest, _ in DEPS]
    assert digests(raw[: HEADER.size + 24]) == [DEPS[0][0]]
    assert digests(b"something else") == []


@pytest.mark.parametrize(
    "rings", [([b"short"], ()), ((), [b"e" * 31]), (["text"], ()), ((), [b"e" * 15])], ids=str
)
def test_a_key_that_is_none_is_named_without_being_shown(rings):
    with pytest.raises(ConfigurationError) as fault:
        Seal(*rings)
    assert fault.value.field in ("signing_keys", "encrypt_keys")
    assert "short" not in str(fault.value)
    assert "text" not in str(fault.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"created": math.nan}, {"fresh_until": math.inf}, {"stale_until": math.nan}, {"seconds": math.nan},
        {"seconds": -math.inf}, {"tags": (1,)}, {"tags": ({},)}, {"text": 1}, {"principal": {}},
        {"id": "x"}, {"id": None}, {"id": 1.5},
    ],
)  # fmt: skip
def test_an_entry_whose_times_or_meta_are_of_another_kind_is_corrupt(changed):
    """Forged: they spoiled sums in `stats()`, or reached the caller as errors where an outcome names its entry."""
    one, sound = wire(Seal()), record()
    forged = dataclasses.replace(sound, **changed)
    with pytest.raises(Unusable) as caught:
        opened = one.read(written(forged, one), sound.key, sound.canonical, 0.0, sound.created)
        assert opened is not None and opened[0].id is not None
    assert caught.value.reason is Reason.CORRUPT


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"function": []},
        {"text": None},
        {"until": "soon"},
        {"tenant": 1},
        {"turns": (Turn("user", 1),)},
        {"identity": {}},
    ],
)
def test_an_announcement_whose_parts_are_of_another_kind_is_passed_over(changed):
    """Forged: who could not read on from one heard of no answers any more."""
    feed = Feed(Names("p", Seal()), None, Seal(), 10)
    sound = Findable(
        b"k" * 16, b"canonical", b"partition", "app.ask", "text", NOW, "acme", (Turn("user", "hi"),), "m"
    )
    item = dataclasses.replace(sound, **changed)
    assert feed._read(item.key, feed._write(item)) == (None if changed else sound)
