"""A gateway whose settings cannot work says so before it starts, where the mistake stands, and tells no secret."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cachelayer.cli import main
from cachelayer.cli.serve.config import ConfigFault, load
from cachelayer.cli.serve.parts import LISTS, SECTIONS

UPSTREAM = '[[upstream]]\nurl = "http://127.0.0.1:1"\n'
ONE_KEY = '[[key]]\ntenant = "a"\nsha256 = "' + "ab" * 32 + '"\n'


@pytest.mark.parametrize(("text", "says"), [
    ('[[upstream]]\nurl = "http://h:99999"', ":2: upstream.0.url"), ('[[upstream]]\nurl = "http://[::1"', ":2: "),
    ('[[upstream]]\nurl = "http://:80"', ":2: "), ('[[upstream]]\nurl = "http://h h"', ":2: "),
    ('[[upstream]]\nurl = "https://h/v1?api-version=3"', ":2: upstream.0.url"),
    ('[[upstream]]\nurl = "ftp://me:hunter2@h"', ":2: upstream.0.url='ftp://h'"),
    ('[[upstream]]\nurl = "u:hunter2@h:80"', ":2: upstream.0.url='h:80'"),
    ('[[upstream]]\nurl = "http://u:hunter2/hunter2@h"', ":2: upstream.0.url='http://h'"),
    ('[[upstream]]\nurl = "http://h?key=hunter2"', ":2: upstream.0.url='http://h': give http"),
    ('[server]\nhost = ""\n' + UPSTREAM, """:2: server.host='': give an address or the name of one; "0.0.0.0" and"""),
    ('[server]\nhost = "http://127.0.0.1"\n' + UPSTREAM, ":2: server.host='http://127.0.0.1': give an address"),
    ("[server]\nbacklog = 2147483648\n" + UPSTREAM, ":2: server.backlog=2147483648: give a number between"),
    ('[server]\ntls_cert = "\\u0000"\ntls_key = "\\u0000"\n' + UPSTREAM, ":2: server.tls_cert='\\x00': give the path"),
    ('[[upstream]]\nurl = "https://h/v1/chat/completions"', ":2: upstream.0.url='https://h/v1/chat/"),
    (UPSTREAM + 'key_env = "sk-hunter2"', ":3: the variable '...' is not set; give the name"),
    (UPSTREAM + '[[key]]\ntenant = "a"\nenv = "sk-hunter2"', ":5: the variable '...' is not set"),
    ('[server]\ntls_cert = "none.pem"\ntls_key = "none.key"\n' + UPSTREAM, ":2: server.tls_cert='none.pem'"),
    (UPSTREAM + ONE_KEY + ONE_KEY.replace('"a"', '"b"'), ":6: key.1 is the same key as key.0"),
    (UPSTREAM + ONE_KEY.replace('"a"', '""'), ":4: key.0.tenant is empty"),
    (UPSTREAM + ONE_KEY.replace('tenant = "a"', ""), ":3: key.0 lacks tenant"),
    (UPSTREAM + ONE_KEY[:20], ":3: key.0 needs either sha256 or env"),
    (UPSTREAM + ONE_KEY + 'env = "HOME"', ":3: key.0 needs either sha256 or env"),
    (UPSTREAM + 'key_header = "api-key"', ":3: upstream.0.key_header means nothing without key_env"),
    ('[server]\ntls_cert = "one.pem"\n' + UPSTREAM, ":2: server.tls_cert and server.tls_key go together"),
    ("[callers]\npublic = true\n" + UPSTREAM + ONE_KEY, ":2: callers.public means nothing"),
    ('[callers]\nprincipal_header = "x-org"\n' + UPSTREAM + ONE_KEY, ":2: callers.principal_header"),
    ('[callers]\nprincipal_header = "x org"\n' + UPSTREAM, ":2: callers.principal_header"),
    (UPSTREAM.replace("http:", "https:") + 'tls_ca = "none.pem"', ":3: upstream.0.tls_ca='none.pem' cannot be used"),
    (UPSTREAM + 'tls_ca = "ca.pem"', ":3: upstream.0.tls_ca means nothing for http://127.0.0.1:1"),
    (UPSTREAM + 'template = "chatml"', ":3: upstream.0.template means nothing"),
    (UPSTREAM.replace("http", "triton") + 'read_timeout = "1h"', ":3: upstream.0.read_timeout means nothing"),
    (2 * UPSTREAM.replace("http", "triton") + 'template = "chatml"', ":5: upstream.1.template is not upstream.0's"),
    ('[server]\norigins = ["app.example"]\n' + UPSTREAM, ":2: server.origins='app.example': give origins such as"),
    ('[cache]\nvary = ["x user"]\n' + UPSTREAM, ":2: cache.vary='x user': give names of headers"),
    ('[upstream]\nurl = "http://h"\n', ":1: unknown section 'upstream'; write [[upstream]]"),
    (UPSTREAM + '[[key]]\ntenant = "a"\nsha256 = "hunter2"', ":5: key.0.sha256='...': give 64 hexadecimal digits"),
    (UPSTREAM + '[[key]]\ntenant = "a"\nsha256 = 4815', ":5: key.0.sha256='...': give a text"),
    ("port = 8080\n" + UPSTREAM, ":1: port stands in no section; write it below [server]"),
    ('upstream = ["http://h"]', ":1: upstream.0 is not a table; write [[upstream]]"),
    (UPSTREAM + "[[server]]\nport = 1\n", ":3: unknown section 'server'; write [server]"),
    ("server.port = 99999\n" + UPSTREAM, ":1: server.port=99999"),
    ('[ "server" ]\nport = 99999\n' + UPSTREAM, ":2: server.port=99999"),
    ("\nserver = {port = 99999}\n" + UPSTREAM, ":2: server.port=99999"),
    ('upstream = [{url = "ftp://h"}]\n', ":1: upstream.0.url"),
    ('[cache]\nsecret = "hunter2"\n' + UPSTREAM, ":2: cache.secret is too short"),
    ('[cache]\nredis = "redis://:hunter2@h:99999"\nsecret = "4815162342481516"\n' + UPSTREAM, ":2: cache.redis: "),
    (f"[cache]\nmax_error_rate = 1{'0' * 400}\n" + UPSTREAM, ":2: cache.max_error_rate=1000"),
    ("[cache]\nmax_error_rate = nan\n" + UPSTREAM, ":2: cache.max_error_rate=nan"),
    ('[cache]\nredis = "h:6379"\nsecret = "hunter2-hunter2-hunter2"\n' + UPSTREAM, "begin with one of redis"),
    ("[cache]\nsecret = 4815162342481516\n" + UPSTREAM, ":2: cache.secret='...': give a text"),
    (f"[server]\nport = {'9' * 5000}\n" + UPSTREAM, "gateway.toml: holds too long a number"),
    ("x = " + "[" * 100_000, "or lists too deep in others, to be read"),
    ("[cache]\nsemantic = true\n" + UPSTREAM, ':2: cache.semantic=True: give one of "auto", "on", "off"'),
])  # fmt: skip
def test_a_check_finds_what_would_fail(tmp_path: Path, capsys: Any, text: str, says: str) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(text)
    assert main(["serve", "--config", str(file), "--check"]) == 2
    told = capsys.readouterr().err
    assert says in told and "hunter2" not in told and "4815" not in told


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigFault, match=r"none\.toml: No such file or directory; give --config"):
        load(tmp_path / "none.toml", {}, {})


def test_a_byte_order_mark_before_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f"[server]\nport = 9000\n{UPSTREAM}", "utf-8-sig")
    assert load(file, {}, {}).server.port == 9000


def test_a_file_in_another_encoding_is_told_what_to_be(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigFault, match=r"gateway\.toml: not UTF-8 at byte 5; write it as UTF-8"):
        load(file, {}, {})


@pytest.mark.parametrize("held", ["sk-hunter2\n", " sk-hunter2", "sk-hunter2\udcff"])
@pytest.mark.parametrize(
    ("text", "line"), [('key_env = "OUR_KEY"', 3), (ONE_KEY[:20] + '\nenv = "OUR_KEY"', 5)]
)
def test_a_variable_whose_content_cannot_be_a_key_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str, text: str, line: int
) -> None:
    monkeypatch.setenv("OUR_KEY", held)
    file = tmp_path / "gateway.toml"
    file.write_text(UPSTREAM + text)
    with pytest.raises(
        ConfigFault, match=rf":{line}: what the variable OUR_KEY holds cannot be sent"
    ) as told:
        load(file, {}, {})
    assert "hunter2" not in str(told.value)


def test_more_than_ten_upstreams_may_stand_in_the_environment() -> None:
    urls = {f"CACHELAYER_UPSTREAM__{i}__URL": f"http://h{i}" for i in range(12)}
    assert [one.url for one in load(None, urls, {}).upstream] == [*urls.values()]


def test_a_text_may_stand_bare_in_the_environment() -> None:
    given = {
        "CACHELAYER_UPSTREAM__0__URL": "http://h", "CACHELAYER_KEY__0__TENANT": "42",
        "CACHELAYER_KEY__0__SHA256": "12" * 32, "CACHELAYER_CACHE__SECRET": "4815162342481516",
        "CACHELAYER_SERVER__HOST": '"::1"', "CACHELAYER_SERVER__PORT": "9000",
    }  # fmt: skip
    config = load(None, given, {})
    assert (config.key[0].tenant, config.cache.secret) == ("42", "4815162342481516")
    assert (config.server.host, config.server.port) == ("::1", 9000)


@pytest.mark.parametrize(("variable", "says"), [
    ("CACHELAYER_SECRET", "CACHELAYER_SECRET: cache.secret is too short"),
    ("CACHELAYER_SECRET_FILE", "SECRET_FILE: there is no such setting; write CACHELAYER_CACHE__SECRET"),
    ("CACHELAYER_CACHE_REDIS_FILE", "no such setting; write CACHELAYER_CACHE__REDIS"),
    ("CACHELAYER_UPSTREAM__URL", "which upstream[?] write CACHELAYER_UPSTREAM__0__URL"),
    ("CACHELAYER_UPSTREAM__0", "which upstream[?] write CACHELAYER_UPSTREAM__0__URL"),
    ("CACHELAYER_UPSTREAM__\u00b2__URL", "no upstream.\u00b2; write CACHELAYER_UPSTREAM__1__URL"),
    ("CACHELAYER_UPSTREAM__00__URL", "no upstream.00; write CACHELAYER_UPSTREAM__1__URL"),
    (f"CACHELAYER_UPSTREAM__{'9' * 5000}__URL", "there is no upstream.9+; write CACHELAYER_UPSTREAM__1__URL"),
    ("CACHELAYER_UPSTREAM__2__URL", "no upstream.2; write CACHELAYER_UPSTREAM__1__URL"),
    ("CACHELAYER_SERVR__PORT", "CACHELAYER_SERVR__PORT: unknown section 'servr'"),
    ("CACHELAYER_SERVER__ORIGINS", r"CACHELAYER_SERVER__ORIGINS: .* give a list of strings, such as \[\"a\", \"b\"\]"),
])  # fmt: skip
def test_a_variable_that_cannot_be_is_named(tmp_path: Path, variable: str, says: str) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(UPSTREAM)
    with pytest.raises(ConfigFault, match=says):
        load(file, {variable: "https://a"}, {})


@pytest.mark.parametrize(("variable", "held", "says"), [
    ("CACHELAYER_SECRET", "hunter2-hunter2-\udcff", "CACHELAYER_SECRET: cache.secret='...': give text in UTF-8"),
    ("CACHELAYER_CACHE__REDIS", "redis://:hunter2\udcff@h", "cache.redis='...': give text in UTF-8"),
    ("CACHELAYER_SERVER__ORIGINS", '["http://\udcff"]', "server.origins='...': give text in UTF-8"),
    ("CACHELAYER_SERVER__PORT", "9" * 5000, "server.port='999+ ... 9+': give a whole number"),
    ("CACHELAYER_SERVER__PORT", "[" * 100_000, "server.port='.* give a whole number"),
])  # fmt: skip
def test_a_variable_that_holds_what_no_setting_can_be_is_named(variable: str, held: str, says: str) -> None:
    with pytest.raises(ConfigFault, match=says) as told:
        load(None, {variable: held}, {"upstream": [{"url": "http://h"}]})
    assert str(told.value).startswith(f"{variable}: ") and "hunter2" not in str(told.value)


@pytest.mark.parametrize(("variable", "says"), [
    ("CACHELAYER_SERVER_PORT", "SERVER__PORT"), ("CACHELAYER_PORT", "SERVER__PORT"),
    ("CACHELAYER_CACHE_MAX_BYTES", "CACHE__MAX_BYTES"), ("CACHELAYER_UPSTREAM", "UPSTREAM__0__URL"),
    ("CACHELAYER_UPSTREAM_1_KEY_ENV", "UPSTREAM__1__KEY_ENV"), ("CACHELAYER_KEY_TENANT", "KEY__0__TENANT"),
    ("CACHELAYER__PORT", "SERVER__PORT"),
])  # fmt: skip
def test_a_variable_that_almost_names_a_setting_is_a_mistake(variable: str, says: str) -> None:
    with pytest.raises(ConfigFault, match=f"^{variable}: .* write CACHELAYER_{says}$"):
        load(None, {variable: "9000"}, {"upstream": [{"url": "http://h"}]})


def test_variables_that_are_not_about_settings_are_left_alone() -> None:
    others = {
        "CACHELAYER_SERVER_PORT": "tcp://10.0.0.1:80", "CACHELAYER_SERVER_SERVICE_HOST": "10.0.0.1",
        "CACHELAYER_PORT_80_TCP_ADDR": "10.0.0.1", "CACHELAYER_CACHE": "/var/cache",
        "CACHELAYER_SECRET": "4815162342481516", "CACHELAYER_IMAGE": "x", "SERVER_PORT": "1", "PORT": "2",
    }  # fmt: skip
    assert load(None, others, {"upstream": [{"url": "http://h"}]}).server.port == 8080


def test_a_variable_below_a_value_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[server]\nport = 1\n" + UPSTREAM)
    with pytest.raises(ConfigFault, match=r"CACHELAYER_SERVER__PORT__X__Y: server\.port\.x is not a section"):
        load(file, {"CACHELAYER_SERVER__PORT__X__Y": "1"}, {})


def test_every_setting_stands_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text("utf-8")
    parts = [*SECTIONS.values(), *LISTS.values()]
    names = [field.name for part in parts for field in fields(part)]
    assert [name for name in names if not re.search(rf"\b{name} *= ", page)] == []


@pytest.mark.parametrize(
    ("given", "says"), [("3600", ""), ("1.5", ""), ("1h", ""), ("-1", "0 or more"), ("x", "1h30m")]
)
def test_a_ttl_on_the_command_line_may_be_a_number_of_seconds(capsys: Any, given: str, says: str) -> None:
    assert main(["serve", "--upstream", "http://127.0.0.1:1", "--check", f"--ttl={given}"]) == (
        2 if says else 0
    )
    told = capsys.readouterr().err
    assert told == "" if not says else "--ttl: cache.ttl=" in told and says in told
