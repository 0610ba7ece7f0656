"""The gateway as a process that serves HTTPS, by the settings of a file."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from asgi_client import Client
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from upstream import Server, Upstream

from cachelayer.cli.serve.config import ConfigFault, load
from cachelayer.cli.serve.gateway import Gateway


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1)).add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    cert, secret = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return cert, secret


async def test_an_upstream_has_a_certificate_that_somebody_named_vouches_for(
    serving: Callable[..., Server], upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cert, key = certificate(tmp_path)
    url = serving(upstream, ssl_certfile=str(cert), ssl_keyfile=str(key)).url.replace("http:", "https:")
    for told, status in ({}, 502), ({"tls_ca": str(cert)}, 200):
        settings = {"upstream": [{"url": url, **told}], "cache.semantic": "off"}
        app = Gateway(load(None, {}, settings))
        c = Client(app)
        assert [(await c.chat(f"{said}")).status for said in range(3)] == [status] * 3
        await app.behind.aclose()
        app.log.close()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (failed,) = [line for line in lines if line["event"] == "upstream_failed"]  # told once
    assert failed["upstream"] == url and "certificate" in failed["why"]


async def test_who_vouches_for_an_upstream_is_read_anew_once_the_file_was_replaced(
    serving: Callable[..., Server], upstream: Upstream, tmp_path: Path
) -> None:
    """An upstream whose authority was exchanged was away until the process ended; half a file changes nothing."""
    (tmp_path / "other").mkdir()
    (cert, key), (other, _), trusted = certificate(tmp_path), certificate(tmp_path / "other"), tmp_path / "ca"
    url = serving(upstream, ssl_certfile=str(cert), ssl_keyfile=str(key)).url.replace("http:", "https:")
    shutil.copy(other, trusted)
    settings = {"upstream": [{"url": url, "tls_ca": str(trusted)}], "cache.semantic": "off"}
    app = Gateway(load(None, {}, settings))
    c, got = Client(app), []
    for held in (b"half a certificate", cert.read_bytes(), b"half a certificate", other.read_bytes()):
        got.append((await c.chat(f"question {len(got)}")).status)
        trusted.write_bytes(held)
        await app.behind.aclose()  # the next one makes a connection of its own
    got.append((await c.chat("the last")).status)
    assert got == [502, 502, 200, 200, 502]
    await app.behind.aclose()
    app.log.close()


def test_a_key_with_a_pass_phrase_is_a_mistake_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    lock = serialization.BestAvailableEncryption(b"hunter2")
    form = serialization.PrivateFormat.PKCS8
    key.write_bytes(plain.private_bytes(serialization.Encoding.PEM, form, lock))
    given = {"upstream": [{"url": "http://h"}], "server.tls_cert": str(cert), "server.tls_key": str(key)}
    with pytest.raises(ConfigFault, match=r"server\.tls_key=.* cannot be used \(the key has a pass phrase"):
        load(None, {}, given)


def _serving(
    place: Path, cert: Path, key: Path, port: int = 0, upstream: str = "http://127.0.0.1:9", workers: int = 1
) -> list[str]:
    """The command of a gateway with this certificate."""
    (place / "gateway.toml").write_text(
        f'[server]\nport = {port}\nworkers = {workers}\ntls_cert = "{cert}"\ntls_key = "{key}"\n'
        f'[cache]\nsemantic = "off"\n[[upstream]]\nurl = "{upstream}"\n'
    )
    return [sys.executable, "-m", "cachelayer", "serve", "--config", str(place / "gateway.toml")]


def test_the_gateway_serves_https(
    serving: Callable[..., Server], upstream: Upstream, free_port: Any, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path)
    port = free_port()
    command = _serving(tmp_path, cert, key, port, serving(upstream).url)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["base_url"] == f"https://127.0.0.1:{port}/v1"
            trusted = httpx.Client(verify=ssl.create_default_context(cafile=str(cert)))
            client = openai.OpenAI(
                base_url=f"https://127.0.0.1:{port}/v1", api_key="sk-test", max_retries=6, http_client=trusted
            )
            said: list[Any] = [{"role": "user", "content": "hello"}]
            answers = [client.chat.completions.create(model="m", messages=said) for _ in range(2)]
            assert answers[0].choices == answers[1].choices and len(upstream.requests) == 1
            client.close()
        finally:
            process.terminate()
            assert process.wait(15) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_certificate_that_was_exchanged_serves_from_then_on(tmp_path: Path, workers: int) -> None:
    """It did so after a restart alone; half of the exchange changes nothing."""
    (tmp_path / "new").mkdir()
    (cert, key), new = certificate(tmp_path), certificate(tmp_path / "new")
    command = _serving(tmp_path, cert, key, workers=workers)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            (base,) = {json.loads(process.stdout.readline())["base_url"] for _ in range(workers)}
            url = urlsplit(base)
            place, old, exchanged = ("127.0.0.1", url.port), cert.read_text(), new[0].read_text()
            new[0].replace(cert)
            for _ in range(workers):
                assert "what they held before serves on" in process.stderr.readline()
            assert ssl.get_server_certificate(place) == old
            new[1].replace(key)
            while ssl.get_server_certificate(place) != exchanged:
                assert process.poll() is None
        finally:
            process.terminate()
            _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and said == ""


def test_a_worker_that_ended_is_replaced_once_the_certificate_can_be_read(tmp_path: Path) -> None:
    """Started by a certificate that cannot be used it died, as did all that came after it, each with a traceback."""
    cert, key = certificate(tmp_path)
    command = _serving(tmp_path, cert, key, workers=2)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            base = {json.loads(process.stdout.readline())["base_url"] for _ in range(2)}.pop()
            usable = cert.read_bytes()
            cert.write_text("half a certificate")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            worker = int(children.split()[-1])
            os.kill(worker, signal.SIGKILL)
            assert f"the worker {worker} ended" in _line(process, "signal 9")
            assert f"server.tls_cert={str(cert)!r}" in _line(process, "no worker can be started until then")
            trusted = ssl.create_default_context(cadata=usable.decode())
            assert httpx.get(base.replace("/v1", "/healthz"), verify=trusted).status_code == 200
            cert.write_bytes(usable)
            assert json.loads(process.stdout.readline())["event"] == "started"
        finally:
            process.terminate()
            _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in said


def _line(process: subprocess.Popen[str], part: str) -> str:
    """The next line of standard error that has this in it."""
    assert process.stderr is not None
    while part not in (line := process.stderr.readline()):
        assert line
    return line
