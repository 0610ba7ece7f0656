"""The gateway as a process that serves HTTPS, by the settings of a file."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from upstream import Server, Upstream


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


def test_the_gateway_serves_https(
    serving: Callable[..., Server], upstream: Upstream, free_port: Any, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path)
    port = free_port()
    (tmp_path / "gateway.toml").write_text(
        f'[server]\nport = {port}\ntls_cert = "{cert}"\ntls_key = "{key}"\n[cache]\nsemantic = "off"\n'
        f'[[upstream]]\nurl = "{serving(upstream).url}"\n'
    )
    command = [sys.executable, "-m", "cachelayer", "serve", "--config", str(tmp_path / "gateway.toml")]
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
