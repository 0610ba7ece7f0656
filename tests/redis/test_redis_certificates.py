"""TLS: what is wrong with a certificate is told, and one that is exchanged is used."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from redis_records import eventually, refusal_of
from redis_servers import Server, free_port


def certificate(
    folder: Path, address: str = "127.0.0.1", days: int = 1, phrase: bytes = b""
) -> tuple[str, str]:
    """One that vouches for itself, until `days` from now; and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, address)])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=9))
        .not_valid_after(now + datetime.timedelta(days=days)).add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    locked = serialization.BestAvailableEncryption(phrase) if phrase else plain
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, locked))
    return str(cert), str(secret)


def tls_server(own_server: Any, cert: str, key: str, *, known_only: bool) -> tuple[Server, str]:
    """A server with this certificate and its URL; `known_only`: it takes only clients who have the same."""
    port, files = free_port(), ("--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
    server: Server = own_server(
        "--tls-port", str(port), *files, "--tls-auth-clients", "yes" if known_only else "no"
    )
    assert server.do("PING") == b"PONG"
    return server, f"rediss://127.0.0.1:{port}?ssl_ca_certs={cert}&lag=5s"


def speaking_tls(own_server: Any, cert: str, key: str, *, known_only: bool) -> str:
    """The URL of such a server."""
    return tls_server(own_server, cert, key, known_only=known_only)[1]


@pytest.mark.parametrize(
    ("address", "days", "told"), [("127.0.0.2", 1, "not valid for '127.0.0.1'"), ("127.0.0.1", -1, "has expired")]
)  # fmt: skip
async def test_why_a_certificate_is_not_accepted_is_told(
    own_server: Any, make_store: Any, tmp_path: Path, address: str, days: int, told: str
) -> None:
    url = speaking_tls(own_server, *certificate(tmp_path, address, days), known_only=False)
    said = await refusal_of(make_store(url))
    assert "certificate is not accepted" in said and told in said


async def test_a_certificate_that_cannot_be_read_is_named(make_store: Any) -> None:
    assert "/none" in await refusal_of(make_store("rediss://127.0.0.1:1?ssl_ca_certs=/none"))
    assert "/mine" in await refusal_of(make_store("rediss://127.0.0.1:1?ssl_certfile=/mine"))


async def test_a_key_with_a_pass_phrase_is_refused_and_nobody_is_asked_for_it(
    make_store: Any, tmp_path: Path
) -> None:
    """The terminal was, in the event loop, which stood until somebody answered."""
    cert, key = certificate(tmp_path, phrase=b"open sesame")
    url = f"rediss://127.0.0.1:1?ssl_ca_certs={cert}&ssl_certfile={cert}&ssl_keyfile={key}"
    assert "pass phrase" in await refusal_of(make_store(url))


async def test_a_certificate_of_ours_that_is_exchanged_is_used_from_the_next_connection_on(
    own_server: Any, make_store: Any, tmp_path: Path
) -> None:
    """One that lives for a day was shown for as long as the process lived."""
    known, other = certificate(tmp_path / "known"), certificate(tmp_path / "other")
    url = speaking_tls(own_server, *known, known_only=True)
    store = make_store(f"{url}&ssl_certfile={other[0]}&ssl_keyfile={other[1]}")
    assert "cannot connect" in await refusal_of(store)
    for new, old in zip(known, other, strict=True):
        shutil.copy(new, old)
    await eventually(lambda: store.coherent)


async def test_who_vouches_for_the_server_is_read_anew_once_the_file_was_replaced(
    own_server: Any, make_store: Any, tmp_path: Path
) -> None:
    """A server with the certificate of another authority was away until the process ended."""
    used, other, trusted = (
        certificate(tmp_path / "used"),
        certificate(tmp_path / "other"),
        tmp_path / "ca.pem",
    )
    shutil.copy(used[0], trusted)
    server, url = tls_server(own_server, *used, known_only=False)
    url = url.replace(used[0], str(trusted))
    store = make_store(url)
    await store.start()
    for new, old in zip(other, used, strict=True):
        shutil.copy(new, old)
    server.kill()
    server.start()
    assert "certificate is not accepted" in await refusal_of(make_store(url))
    await eventually(lambda: not store.coherent)
    shutil.copy(other[0], trusted)
    await eventually(lambda: store.coherent)


async def test_who_forgot_that_a_port_takes_tls_is_asked_whether_it_does(
    own_server: Any, make_store: Any, tmp_path: Path
) -> None:
    url = speaking_tls(own_server, *certificate(tmp_path), known_only=False)
    plain = url.partition("?")[0].replace("rediss:", "redis:")
    assert "does that port take TLS" in await refusal_of(make_store(plain))
