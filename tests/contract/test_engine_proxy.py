"""The engine proxy passes only the Docker runner's requests: a real HAProxy in front of a listener."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto_airflow.steps.docker_step import container_body
from kafka_pareto_airflow.steps.step_settings import StepSettings
from tests.contract.engine_listener import Listener
from tests.contract.engine_proxy import LOGINS, Proxy, running_proxy

pytestmark = pytest.mark.servers

IMAGE, NETWORK = "kafka-pareto/steps:1.0", "kafka-pareto_pipeline"
NAME = "kafka-pareto-step-tune-producer-measure-0-0123456789ab-1"
CREATE = f"/v1.41/containers/create?name={NAME}"
COMMAND = ["python", "-m", "tasks.measure", "--study=quick"]
ENVIRONMENT = {"KAFKA_PARETO_S3_SECRET_KEY": "s3cr3t/+=", "KAFKA_PARETO_BOOTSTRAP_SERVERS": "kafka-1:9092,kafka-2:9092"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    with Listener(str(tmp_path_factory.mktemp("engine") / "socket")) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield listener
        listener.shutdown()


@pytest.fixture(scope="module")
def proxy(engine: Listener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    path = Path(str(engine.server_address))
    with running_proxy(path, tmp_path_factory.mktemp("proxy"), IMAGE, NETWORK) as running:
        yield running


@pytest.fixture
def ask(engine: Listener, proxy: Proxy) -> Callable[..., tuple[int, str, list[tuple[str, str, bytes]]]]:
    """Sends a request byte by byte as it is given; returns status and body of the answer, and what has arrived."""

    def send(method: str, target: str, body: bytes = b"", headers: str = "") -> tuple[int, str, Any]:
        engine.arrived.clear()
        length = "" if "Transfer-Encoding" in headers else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {target} HTTP/1.1\r\nHost: engine:2375\r\nConnection: close\r\n{length}{headers}\r\n"
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as connection:
            with suppress(ConnectionError):  # a refusal need not wait for the whole body
                connection.sendall(head.encode() + body)
            answer = received(connection).decode()
        return int(answer.split()[1]), answer.partition("\r\n\r\n")[2], list(engine.arrived)

    return send


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side closes, or breaks off what it does not want to read."""
    pieces: list[bytes] = []
    with suppress(ConnectionError):
        pieces.extend(iter(lambda: connection.recv(65_536), b""))
    return b"".join(pieces)


def agreed(arguments: list[str] | None = None, logins: str = LOGINS) -> dict[str, Any]:
    """The requests of the Docker runner."""
    settings = StepSettings(image=IMAGE, network=NETWORK, memory="3g", cpus=1.5, client_configs=logins)
    return container_body(settings, [*COMMAND, *(arguments or [])], ENVIRONMENT)


def as_bytes(body: dict[str, Any]) -> bytes:
    """As docker-py writes it."""
    return json.dumps(body).encode()


def test_compose_takes_a_step_for_an_orphan_of_the_stack() -> None:
    """So that `up` leaves it alone, and `down --remove-orphans` does not."""
    stack = yaml.safe_load((Path(__file__).parent.parent.parent / "docker-compose.yaml").read_text(encoding="utf-8"))
    labels = agreed()["Labels"]
    assert labels["com.docker.compose.project"] == stack["name"]
    assert labels["com.docker.compose.service"] not in stack["services"]


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/version"),
        ("GET", "/v1.41/_ping"),
        ("GET", f"/v1.41/containers/{NAME}/json"),
        ("POST", f"/v1.41/containers/{NAME}/attach?logs=0&stdout=1&stderr=1&stream=1"),
        ("POST", f"/v1.52/containers/{NAME}/start"),
        ("POST", f"/v1.41/containers/{NAME}/wait"),
        ("POST", f"/v1.41/containers/{NAME}/stop"),
        ("DELETE", f"/v1.41/containers/{NAME}?v=True&link=False&force=True"),
    ],
)
def test_requests_a_step_needs_pass(ask: Any, method: str, target: str) -> None:
    status, _, arrived = ask(method, target)
    assert (status, arrived) == (200, [(method, target, b"")])


@pytest.mark.parametrize(
    ("method", "target", "arrives"),
    [
        ("GET", "/v1.41/_ping", []),
        ("POST", f"/v1.41/containers/{NAME}/wait", []),
        ("POST", f"/v1.41/containers/{NAME}/attach?stdout=1&stream=1", ["tcp"]),
    ],
)
@pytest.mark.parametrize("wanted", ["Upgrade: h2c\r\n", "Upgrade: tcp\r\nUpgrade: h2c\r\n", "Upgrade: tcp, h2c\r\n"])
def test_no_request_changes_to_another_protocol_past_the_rules(
    ask: Any, engine: Listener, method: str, target: str, arrives: list[str], wanted: str
) -> None:
    engine.upgrades.clear()
    assert ask(method, target, headers=f"Connection: Upgrade\r\n{wanted}HTTP2-Settings: AAMAAABk\r\n")[0] == 200
    assert engine.upgrades == arrives


@pytest.mark.parametrize(
    "argument",
    [
        "--reason=plain",
        '--reason=a "quoted" \\ back\\\\slash\\',
        "--reason=Füße 漢字 🐘\nnext line\ttab\x00",
        '"], "Image": "alpine", "HostConfig": {"Privileged": true}, "Cmd": ["',
        "--reason=" + '"' * 500,
    ],
)
def test_a_step_may_have_any_argument(ask: Any, argument: str) -> None:
    body = as_bytes(agreed([argument]))
    status, why, arrived = ask("POST", CREATE, body)
    assert (status, why, arrived) == (200, "OK", [("POST", CREATE, body)])


def test_a_step_may_do_without_logins(ask: Any) -> None:
    body = as_bytes(agreed(logins=""))
    assert ask("POST", CREATE, body) == (200, "OK", [("POST", CREATE, body)])


REFUSED_PATHS = [
    ("GET", "/containers/json"),
    ("GET", "/v1.41/containers/json?all=1"),
    ("GET", "/v1.41/info"),
    ("GET", "/v1.41/events"),
    ("GET", "/v1.41/images/json"),
    ("POST", "/v1.41/images/create?fromImage=alpine&tag=3"),
    ("POST", "/v1.41/images/load"),
    ("DELETE", f"/v1.41/images/{IMAGE}"),
    ("POST", "/v1.41/build"),
    ("POST", "/v1.41/commit?container=" + NAME),
    ("POST", "/v1.41/volumes/create"),
    ("POST", "/v1.41/networks/create"),
    ("POST", "/v1.41/swarm/init"),
    ("POST", "/v1.41/plugins/pull?remote=x"),
    ("POST", "/session"),
    ("POST", "/grpc"),
    # Other containers, and what a step's own container is not asked for.
    ("GET", "/v1.41/containers/kafka-pareto-postgres-1/json"),
    ("GET", "/v1.41/containers/0123456789ab/logs?stdout=1"),
    ("POST", "/v1.41/containers/kafka-pareto-kafka-1-1/stop"),
    ("POST", "/v1.41/containers/kafka-pareto-kafka-1-1/attach"),
    ("DELETE", "/v1.41/containers/kafka-pareto-minio-1?force=True"),
    ("POST", "/v1.41/containers/kafka-pareto-minio-1/exec"),
    ("POST", f"/v1.41/containers/{NAME}/exec"),
    ("POST", "/v1.41/exec/0123/start"),
    ("GET", f"/v1.41/containers/{NAME}/archive?path=/"),
    ("PUT", f"/v1.41/containers/{NAME}/archive?path=/"),
    ("POST", f"/v1.41/containers/{NAME}/update"),
    ("POST", f"/v1.41/containers/{NAME}/rename?name=other"),
    ("POST", "/v1.41/containers/prune"),
    # The right path by the wrong method, the wrong name, or with more in its query.
    ("DELETE", "/v1.41/_ping"),
    ("POST", f"/v1.41/containers/{NAME}/json"),
    ("GET", f"/v1.41/containers/{NAME}/start"),
    ("POST", "/v1.41/containers/create"),
    ("POST", "/v1.41/containers/create?name=other"),
    ("POST", f"{CREATE}&name=other"),
    ("POST", f"{CREATE}&platform=windows"),
    ("GET", f"/v1.41/containers/{NAME}/json?size=1"),
    # Paths that mean something else to who decodes or cleans them.
    ("GET", "//v1.41/containers/json"),
    ("GET", f"/v1.41/containers/{NAME}/../json"),
    ("GET", f"/v1.41/containers/{NAME}/..%2fjson"),
    ("GET", "/v1.41/containers/%6bafka-pareto-step-a/json"),
    ("GET", f"/v1.41/containers/{NAME}%2e%2e/json"),
    ("GET", "/v1.41/containers/kafka-pareto-step-/../x/json"),
    ("POST", f"/v1.41/containers/{NAME}/start/"),
    ("POST", f"/v1.20/containers/{NAME}/start/../exec"),
    ("GET", "/v1.41/_ping/../containers/json"),
    ("GET", "http://engine:2375/v1.41/containers/json"),
    ("GET", "/v1.41/_ping%3f/../info"),
]


@pytest.mark.parametrize(("method", "target"), REFUSED_PATHS)
def test_whatever_a_step_does_not_need_is_refused_with_its_reason(ask: Any, method: str, target: str) -> None:
    assert ask(method, target) == (403, "not on the list of what a step needs", [])


def test_a_start_may_not_bring_settings_with_it(ask: Any) -> None:
    body = json.dumps({"Privileged": True}).encode()
    assert ask("POST", f"/v1.41/containers/{NAME}/start", body) == (403, "a body where none is expected", [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Privileged", True),
        ("privileged", True),
        ("PRIVILEGED", True),
        ("\\u0050rivileged", True),
        ("Privilege\\u0064", True),
        ("Binds", ["/:/host"]),
        ("Mounts", [{"Type": "bind", "Source": "/", "Target": "/host"}]),
        ("VolumesFrom", ["kafka-pareto-postgres-1"]),
        ("CapAdd", ["SYS_ADMIN"]),
        ("PidMode", "host"),
        ("IpcMode", "host"),
        ("UTSMode", "host"),
        ("UsernsMode", "host"),
        ("CgroupnsMode", "host"),
        ("Devices", [{"PathOnHost": "/dev/sda", "PathInContainer": "/dev/sda", "CgroupPermissions": "rwm"}]),
        ("PortBindings", {"80/tcp": [{"HostPort": "80"}]}),
        ("Runtime", "other"),
        ("NetworkMode", "host"),
        ("networkmode", "host"),
        ("CapDrop", []),
        ("SecurityOpt", ["seccomp=unconfined"]),
        ("ReadonlyRootfs", False),
        ("Memory", 1),
    ],
)
@pytest.mark.parametrize("place", ["first", "last", "above"])
def test_no_key_can_be_added_in_whatever_spelling(ask: Any, key: str, value: Any, place: str) -> None:
    """A key that is there already comes twice: engines take the last, or whichever case they find."""
    text = as_bytes(agreed()).decode()
    added = f'"{key}": {json.dumps(value)}'
    forged = {
        "first": text.replace('"HostConfig": {', f'"HostConfig": {{{added}, ', 1),
        "last": f"{text.removesuffix('}}')}, {added}}}}}",
        "above": f"{{{added}, {text.removeprefix('{')}",
    }[place]
    json.loads(forged)
    status, why, arrived = ask("POST", CREATE, forged.encode())
    assert (status, arrived) == (403, [])
    assert why in ("not the container that a step runs in", "another network than the steps'")


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (["Image"], "alpine:3", "another image than the steps'"),
        (["Image"], IMAGE + "1", "another image than the steps'"),
        (["HostConfig", "NetworkMode"], "host", "another network than the steps'"),
        (["HostConfig", "NetworkMode"], "container:kafka-pareto-postgres-1", "not the container that a step runs in"),
        (["HostConfig", "NetworkMode"], "kafka-pareto_database", "another network than the steps'"),
        (["Cmd"], ["sh", "-c", "true"], "not the container that a step runs in"),
        (["Cmd"], ["python", "-c", "1"], "not the container that a step runs in"),
        (["Cmd"], ["python", "-m", "http.server"], "not the container that a step runs in"),
        (["Labels", "com.docker.compose.project"], "another", "not the container that a step runs in"),
        (["Labels", "com.docker.compose.service"], "postgres", "not the container that a step runs in"),
        (["Labels", "traefik.enable"], "true", "not the container that a step runs in"),
        (["HostConfig", "CapDrop"], [], "not the container that a step runs in"),
        (["HostConfig", "ReadonlyRootfs"], False, "not the container that a step runs in"),
        (["HostConfig", "SecurityOpt"], ["apparmor=unconfined"], "not the container that a step runs in"),
        (["HostConfig", "Tmpfs"], {"/app": "rw"}, "not the container that a step runs in"),
        (["HostConfig", "Mounts", 1, "Source"], "kafka-pareto_postgres", "a volume other than that of the logins"),
        (["HostConfig", "Mounts", 1, "Source"], "/etc", "not the container that a step runs in"),
        (["HostConfig", "Mounts", 1, "Type"], "bind", "not the container that a step runs in"),
        (["HostConfig", "Mounts", 1, "ReadOnly"], False, "not the container that a step runs in"),
        (["HostConfig", "Mounts", 1, "Target"], "/app", "not the container that a step runs in"),
        (["HostConfig", "Mounts", 0, "Target"], "/app", "not the container that a step runs in"),
        (["HostConfig", "Mounts", 0, "Source"], "kafka-pareto_postgres", "not the container that a step runs in"),
        (["HostConfig", "Memory"], -1, "not the container that a step runs in"),
        (["HostConfig", "Memory"], 0, "not the container that a step runs in"),  # as much as there is
        (["HostConfig", "NanoCpus"], 0, "not the container that a step runs in"),
    ],
)
def test_another_image_network_program_volume_or_limit_is_refused(
    ask: Any, path: list[str | int], value: Any, why: str
) -> None:
    body = deepcopy(agreed())
    *parents, last = path
    place: Any = body
    for parent in parents:
        place = place[parent]
    place[last] = value
    assert ask("POST", CREATE, as_bytes(body)) == (403, why, [])


def test_a_second_object_after_the_agreed_one_is_refused(ask: Any) -> None:
    body = as_bytes(agreed())
    assert ask("POST", CREATE, body + body)[::2] == (403, [])
    assert ask("POST", CREATE, b"\n" + body)[::2] == (403, [])
    assert ask("POST", CREATE, body + b'\0{"HostConfig": {"Privileged": true}}')[::2] == (403, [])


@pytest.mark.parametrize("padding", [16_384, 1 << 20])
def test_a_body_that_cannot_be_read_completely_is_refused(ask: Any, padding: int) -> None:
    agreed_and_more = as_bytes(agreed()) + b" " * padding
    long_argument = as_bytes(agreed(["x" * padding]))
    for body in (agreed_and_more, long_argument):
        assert ask("POST", CREATE, body) == (403, "a body that cannot be seen to its end", [])


def test_a_body_that_does_not_say_its_length_is_refused(ask: Any) -> None:
    body = as_bytes(agreed())
    chunked = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    answer = ask("POST", CREATE, chunked, "Transfer-Encoding: chunked\r\n")
    assert answer == (403, "a body without its length", [])


def test_a_refusal_is_logged_with_its_reason_and_without_the_body(ask: Any, proxy: Proxy) -> None:
    body = as_bytes(agreed()).replace(b'"Memory"', b'"memory"')
    ask("POST", CREATE, body)
    log = proxy.log.read_text(encoding="utf-8")
    assert "POST /v1.41/containers/create 403 not the container that a step runs in" in log
    assert "s3cr3t" not in log


def test_without_the_names_of_image_and_network_nothing_is_created(engine: Listener, tmp_path: Path) -> None:
    with running_proxy(Path(str(engine.server_address)), tmp_path, "", "") as proxy:
        body = as_bytes({**agreed(), "Image": ""})
        head = f"POST {CREATE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as connection:
            connection.sendall(head.encode() + body)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 403")
