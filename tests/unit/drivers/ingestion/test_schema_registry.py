"""A registry's address, login and answers; a real registry is in the system tests."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion.schema_registry import SchemaRegistry
from kafka_pareto.errors import BadInputError, ClusterError

pytestmark = pytest.mark.fast


class Answering(HTTPServer):
    """Answers each request with a status and a body, and keeps what was asked."""

    status, body = 200, b'{"id": 7}'

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers.get("Authorization", ""), json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[Answering]:
    with Answering() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def test_a_schema_is_registered_with_the_login(answering: Answering, tmp_path: Path) -> None:
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.credentials.source=USER_INFO\nbasic.auth.user.info=me:pass:word\n")
    registry = SchemaRegistry.of(answering.url, config)

    assert registry.register("a/b-value", '{"type": "string"}') == 7
    login = base64.b64encode(b"me:pass:word").decode()
    assert answering.asked == [("/subjects/a%2Fb-value/versions", f"Basic {login}", {"schema": '{"type": "string"}'})]
    assert "pass:word" not in repr(registry)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, b"", "rejected the credentials; put basic.auth.user.info=user:password in REGISTRY_CONFIG"),
        (403, b"", "subject t-value: these credentials may not register a schema"),
        (
            409,
            b'{"message": "field\\nx"}',
            "incompatible with the registered schema: field x; give a compatible SCHEMA",
        ),
        (422, b'{"message": "invalid"}', "subject t-value: status 422: invalid"),
        (409, b"", "incompatible with the registered schema: ; give"),
        (200, b"<html>hello", "subject t-value: status 200: <html>hello"),
        (200, b'{"id": "x"}', "status 200"),
    ],
)
def test_other_answers_are_refusals_in_words(answering: Answering, status: int, body: bytes, says: str) -> None:
    answering.status, answering.body = status, body
    with pytest.raises(BadInputError) as refused:
        SchemaRegistry.of(answering.url, None).register("t-value", "{}")
    assert f"schema registry {answering.url.rstrip('/')}: " in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_registry_that_is_unavailable_may_be_asked_again(answering: Answering, status: int) -> None:
    answering.status = status
    with pytest.raises(ClusterError, match=f"is unavailable: status {status}"):
        SchemaRegistry.of(answering.url, None).register("t-value", "{}")


def test_a_registry_that_is_down_is_named(answering: Answering) -> None:
    answering.server_close()
    with pytest.raises(ClusterError, match=f"schema registry {answering.url.rstrip('/')}: does not answer: "):
        SchemaRegistry.of(answering.url, None).register("t-value", "{}")


@pytest.mark.parametrize(
    ("url", "text", "says"),
    [
        ("registry:8081", None, "REGISTRY=registry:8081: must be an address like http://host:8081, without a query"),
        ("http://host:port", None, "REGISTRY=http://host:port: must be an address"),
        ("http://host?apikey=secret", None, "REGISTRY=http://host: must be an address like http://host:8081, without"),
        ("http://registry", "basic.auth.credentials.source=URL", "basic.auth.credentials.source: must be USER_INFO"),
        ("http://[::1", None, "REGISTRY=http://[::1: must be an address"),
        ("http://me:secret@registry", None, "REGISTRY: must not contain credentials; put basic.auth.user.info="),
        ("me:secret@registry", None, "REGISTRY: must not contain credentials"),
        ("ftp://me:secret@registry", None, "REGISTRY: must not contain credentials"),
        ("http://registry", "ssl.key.location=key.pem", "ssl.key.location: needs ssl.certificate.location"),
        ("http://registry", "basic.auth.user.info=me", "basic.auth.user.info: must be user:password"),
        (
            "http://registry:8081",
            "basic.auth.user.info=me:secret",
            "REGISTRY=http://registry:8081: basic.auth.user.info would cross the network unencrypted; use an https",
        ),
        ("HTTP://registry", "basic.auth.user.info=me:secret", "REGISTRY=HTTP://registry: basic.auth.user.info would"),
        ("http://10.0.0.1", "basic.auth.user.info=me:secret", "REGISTRY=http://10.0.0.1: basic.auth.user.info would"),
        ("http://registry", "sasl.mechanism=PLAIN", "sasl.mechanism: must be basic.auth.user.info, ssl.ca.location, "),
    ],
)
def test_unusable_options_are_refused(url: str, text: str | None, says: str, tmp_path: Path) -> None:
    config = tmp_path / "registry.properties"
    config.write_text(text or "")
    with pytest.raises(BadInputError) as refused:
        SchemaRegistry.of(url, config if text else None)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://localhost:8081", "http://[::1]:8081", "https://registry:8081"])
def test_a_login_stays_on_this_machine_or_is_encrypted(url: str, tmp_path: Path) -> None:
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info=me:secret\n")
    assert SchemaRegistry.of(url, config).url == url


def test_unreadable_certificates_are_named(tmp_path: Path) -> None:
    config = tmp_path / "registry.properties"
    config.write_text("ssl.ca.location=/no/such/file.pem\n")
    with pytest.raises(BadInputError, match=r"REGISTRY_CONFIG: ssl.ca.location=/no/such/file\.pem: cannot be loaded: "):
        SchemaRegistry.of("https://127.0.0.1:1", config)
