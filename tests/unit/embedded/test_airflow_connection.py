"""The client of Airflow's API against a scripted server: tokens, retries, error messages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.errors import AirflowRefusedError, AirflowUnreachableError, StackError

pytestmark = [pytest.mark.fast, pytest.mark.slow]

SILENCE = 0
RUN = {"dag_run_id": "r", "state": "queued", "conf": None}


class Server(ThreadingHTTPServer):
    """A server with a new token at each login, which accepts only the newest and replies with `answers` in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[str] = []
        self.logins = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        self.server.asked.append(f"{self.command} {self.path}")
        if self.path == "/auth/token":
            self.server.logins += 1
            known = body == {"username": "admin", "password": "right"}
            self._send(201 if known else 401, {"access_token": f"t{self.server.logins}"} if known else {})
        elif self.headers.get("Authorization") != f"Bearer t{self.server.logins}":
            self._send(401, {"detail": "expired"})
        else:
            status, content = self.server.answers.pop(0)
            if status == SILENCE:
                self.close_connection = True
            else:
                self._send(status, content)

    def _send(self, status: int, content: Any) -> None:
        text = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Iterator[AirflowClient]:
    with AirflowClient(AirflowConnection(server.url, Login("admin", "right"))) as client:
        yield client


def test_it_logs_in_once_and_again_when_the_token_has_expired(server: Server, client: AirflowClient) -> None:
    server.answers = [(200, RUN)] * 3
    assert [client.run("d", "r").state, client.run("d", "r").state] == ["queued", "queued"]
    assert server.logins == 1
    server.logins += 1  # the server takes the client's token no more
    assert client.run("d", "r").state == "queued"
    question = "GET /api/v2/dags/d/dagRuns/r"
    assert server.asked[-3:] == [question, "POST /auth/token", question]


def test_a_question_is_repeated_until_passing_trouble_is_over(server: Server, client: AirflowClient) -> None:
    server.answers = [(503, "busy"), (200, RUN)]
    assert client.run("d", "r 1").state == "queued"
    assert server.asked[1:] == ["GET /api/v2/dags/d/dagRuns/r%201"] * 2


def test_idempotent_requests_are_retried_too(server: Server, client: AirflowClient) -> None:
    server.answers = [(500, {"detail": "Database error"}), (200, {})]
    client.stop("d", "r")
    assert server.asked[1:] == ["PATCH /api/v2/dags/d/dagRuns/r"] * 2


def test_persistent_errors_are_reported_in_airflows_words(server: Server) -> None:
    server.answers = [(503, {"detail": "the database\n is locked"})]
    said = r"refused PATCH .*/dagRuns/r: HTTP 503: the database is locked$"
    with (
        AirflowClient(AirflowConnection(server.url, Login("admin", "right"), retry_for_s=0)) as client,
        pytest.raises(AirflowRefusedError, match=said) as met,
    ):
        client.stop("d", "r")
    assert met.value.status == 503
    assert len(server.asked) == 2


def test_a_refused_question_is_not_repeated(server: Server, client: AirflowClient) -> None:
    server.answers = [(403, {"detail": "Forbidden"})]
    with pytest.raises(AirflowRefusedError, match="HTTP 403: Forbidden") as met:
        client.run("d", "r")
    assert met.value.status == 403
    assert len(server.asked) == 2


@pytest.mark.parametrize("first", [(SILENCE, None), (500, {"detail": "Database error"})])
@pytest.mark.parametrize("second", [[(200, RUN)], [(409, {"detail": "it exists"}), (200, RUN)]])
def test_a_run_with_an_id_is_asked_for_again_while_airflow_is_in_trouble(
    server: Server, client: AirflowClient, first: tuple[int, Any], second: list[tuple[int, Any]]
) -> None:
    server.answers = [first, *second]
    assert client.trigger("d", {}, "r").dag_run_id == "r"
    assert server.asked[1:3] == ["POST /api/v2/dags/d/dagRuns"] * 2
    assert server.answers == []


@pytest.mark.parametrize(
    ("answer", "error"), [((SILENCE, None), "does not answer POST"), ((500, "trouble"), "HTTP 500: trouble")]
)
def test_a_run_without_an_id_might_begin_twice_and_is_asked_for_once(
    server: Server, client: AirflowClient, answer: tuple[int, Any], error: str
) -> None:
    server.answers = [answer, (200, RUN)]
    with pytest.raises(StackError, match=error):
        client.trigger("d", {})


def test_a_run_that_exists_before_it_was_asked_for_is_refused(server: Server, client: AirflowClient) -> None:
    server.answers = [(409, {"detail": "it exists"})]
    with pytest.raises(AirflowRefusedError, match="it exists"):
        client.trigger("d", {}, "r")


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_the_users_to_fix_in_airflows_words(
    server: Server, client: AirflowClient, status: int
) -> None:
    server.answers = [(status, {"detail": "seed: must be a number"})]
    with pytest.raises(BadInputError, match=r"^seed: must be a number$"):
        client.trigger("d", {"seed": "x"}, "r")


def test_a_request_that_airflow_cannot_read_is_refused_naming_the_field(server: Server, client: AirflowClient) -> None:
    problem = {"type": "string_type", "loc": ["body", "dag_run_id"], "msg": "must be a string", "input": 7, "url": "…"}
    server.answers = [(422, {"detail": [problem, {**problem, "loc": ["body", "conf"], "input": None}]})]
    with pytest.raises(BadInputError, match=r"^dag_run_id: 7: must be a string; conf: None: must be a string$"):
        client.trigger("d", {}, "r")


def test_a_missing_run_is_none_and_stopping_it_is_not_an_error(server: Server, client: AirflowClient) -> None:
    server.answers = [(404, {"detail": "no such thing"})] * 3
    assert client.dag("d") is None
    assert client.xcom("d", "r", "t", "manifest") is None
    client.stop("d", "r")
    assert server.answers == []


def test_the_choices_of_a_parameter_are_those_of_its_schema(server: Server, client: AirflowClient) -> None:
    parameters = {"study": {"value": "a", "schema": {"enum": ["a", "b"]}}, "seed": {"value": None, "schema": {}}}
    server.answers = [(200, {"params": parameters})] * 2 + [(200, {"params": None})]
    assert client.choices("d", "study") == ["a", "b"]
    assert client.choices("d", "seed") == []
    assert client.choices("d", "study") == []


def test_health_is_that_of_the_parts_asked_for(server: Server, client: AirflowClient) -> None:
    good = {"status": "healthy"}
    server.answers = [(200, {"scheduler": good, "dag_processor": good, "triggerer": {"status": None}})]
    health = client.health()
    assert health.is_good(("scheduler", "dag_processor"))
    assert not health.is_good(("scheduler", "triggerer"))
    assert not health.is_good()


def test_a_wrong_password_is_refused(server: Server) -> None:
    with AirflowClient(AirflowConnection(server.url, Login("admin", "wrong"))) as client:
        with pytest.raises(AirflowRefusedError, match="POST /auth/token: HTTP 401") as met:
            client.run("d", "r")
        assert met.value.status == 401


def test_a_server_that_is_not_there_is_reported_with_its_address_and_where_to_look() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    with (
        AirflowClient(AirflowConnection(url, None, retry_for_s=0)) as client,
        pytest.raises(AirflowUnreachableError, match=f"Airflow at {url} does not answer GET .*; check `make status`"),
    ):
        client.health()
