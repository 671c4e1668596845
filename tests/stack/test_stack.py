"""The embedded stack as a user has it: up, in use, hurt, down."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from configparser import RawConfigParser
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil
import pytest
from minio import Minio
from minio.error import S3Error

from kafka_pareto.campaign.client_config import keep_client_config
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import pool_of
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK, taken_ports
from kafka_pareto_embedded.errors import AirflowRefusedError
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.stack.stack import Stack
from tests.processes import command_lines
from tests.stack.embedded_stack import EmbeddedStack, embedded_stack

pytestmark = [pytest.mark.stack, pytest.mark.studies]

PROGRAMS = {
    *("airflow-api-server", "airflow-dag-processor", "airflow-scheduler", "airflow-triggerer"),
    *("kafka-1", "kafka-2", "kafka-3", "minio", "mlflow"),
}


def _s3(stack: Stack, access_key: str, secret_key: str) -> Minio:
    return Minio(f"{LOOPBACK}:{stack.ports.minio}", access_key, secret_key, secure=False, region="us-east-1")


def test_status_names_every_program_with_its_address_and_who_may_log_in(stack: EmbeddedStack) -> None:
    code, said = stack.command("status")
    table, logins = said.split("\n\n")
    rows = {line.split()[0]: line.split() for line in table.splitlines()[1:]}
    assert code == 0
    assert logins == f"Logins: {stack.stack.logins}\n"
    assert set(rows) == PROGRAMS
    assert {row[1] for row in rows.values()} == {"running"}
    assert rows["minio"][3] == f"127.0.0.1:{stack.stack.ports.minio}"
    assert rows["kafka-2"][3] == f"127.0.0.1:{stack.stack.ports.kafka[1]}"


def test_topics_that_were_left_are_in_the_status_until_they_are_removed(stack: EmbeddedStack) -> None:
    left = "kafka-pareto.tiny.killed.1024"
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        cluster.create_topic(left, 1, 3)
    code, said = stack.command("status")
    assert code == 0
    assert said.splitlines()[-1] == left
    assert "`kafka-pareto remove-topics` deletes them" in said
    code, said = stack.command("remove-topics")
    assert (code, said.splitlines()[-1]) == (0, f"{left}: deleted")
    assert left not in stack.command("status")[1]


def test_a_second_up_changes_nothing_shows_no_password_and_removes_leftovers_of_a_killed_run(
    stack: EmbeddedStack,
) -> None:
    before = stack.pids()
    keep_client_config(stack.stack.client_configs, "killed", "killed", "sasl.jaas.config=hidden")
    code, said = stack.command("up", timeout_s=60)
    assert code == 0
    assert "The stack is already up." in said
    assert list(stack.stack.client_configs.glob("*.properties")) == []
    assert stack.pids() == before
    secret = stack.stack.credentials
    for password in (secret.airflow_admin_password, secret.mlflow_admin_password):
        assert password not in stack.output + said
    assert f"Logins: {stack.stack.logins} (mode 600)\n" in stack.output
    assert f"Logins   {stack.stack.logins}" in said


@pytest.mark.parametrize(("variable", "other"), [("KAFKA_PARETO_AIRFLOW_PORT", "8099"), ("KAFKA_PARETO_STUDIES", "/x")])
def test_up_with_another_setting_than_that_in_use_is_refused(stack: EmbeddedStack, variable: str, other: str) -> None:
    in_use = stack.environment[variable]
    stack.environment[variable] = other
    try:
        code, said = stack.command("up", timeout_s=60)
    finally:
        stack.environment[variable] = in_use
    assert code == 65
    assert f"{variable}={other}: the stack is running with {in_use}; first stop it: `kafka-pareto down`" in said


def test_every_socket_of_every_process_is_on_loopback(stack: EmbeddedStack) -> None:
    addresses = []
    for process in stack.family():
        with suppress(psutil.NoSuchProcess):  # Airflow's workers come and go
            addresses += [
                (process.name(), connection.laddr.ip)
                for connection in process.net_connections(kind="inet")
                if connection.status == psutil.CONN_LISTEN
                or (connection.type.name == "SOCK_DGRAM" and connection.laddr)
            ]
    assert len(addresses) >= 9
    assert {ip for _, ip in addresses} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, addresses


def test_files_that_hold_secrets_are_their_owners_alone(stack: EmbeddedStack) -> None:
    for name in ("secrets.env", "supervisord.conf", "airflow/passwords.json"):
        assert (stack.state / name).stat().st_mode & 0o777 == 0o600, name
    assert stack.state.stat().st_mode & 0o077 == 0


def test_no_secret_is_in_a_log_or_on_a_command_line(stack: EmbeddedStack) -> None:
    secrets = [value for value in vars(stack.stack.credentials).values() if len(value) >= 24]
    assert len(secrets) == 12
    logs = [path for path in stack.state.rglob("*.log") if "brokers" not in path.relative_to(stack.state).parts]
    assert len(logs) >= len(PROGRAMS)
    texts = {str(path): path.read_text(errors="replace") for path in logs}
    texts |= {f"argv of {process.name()}": " ".join(process.cmdline()) for process in stack.family()}
    assert [place for place, text in texts.items() if any(secret in text for secret in secrets)] == []


def test_each_program_gets_only_the_secrets_it_needs(stack: EmbeddedStack) -> None:
    parser = RawConfigParser()
    parser.read(stack.state / "supervisord.conf")
    told = {
        name: {key for key, value in vars(stack.stack.credentials).items() if len(value) >= 24 and value in environment}
        for name in PROGRAMS
        for environment in [parser[f"program:{name}"]["environment"]]
    }
    airflow = {"airflow_secret_key", "airflow_jwt_secret", "airflow_fernet_key"}
    assert told == {
        **{broker: set() for broker in ("kafka-1", "kafka-2", "kafka-3")},
        "minio": {"minio_root_password"},
        "mlflow": {"s3_mlflow_secret_key", "mlflow_secret_key", "mlflow_admin_password"},
        "airflow-api-server": airflow | {"s3_explorer_secret_key", "mlflow_explorer_password"},
        "airflow-dag-processor": airflow,
        "airflow-triggerer": airflow,
        "airflow-scheduler": airflow | {"s3_pareto_secret_key", "mlflow_steps_password"},
    }


def test_each_application_reaches_its_own_bucket_alone(stack: EmbeddedStack) -> None:
    secret = stack.stack.credentials
    pareto = _s3(stack.stack, secret.s3_pareto_access_key, secret.s3_pareto_secret_key)
    pareto.put_object("kafka-pareto", "probe", io.BytesIO(b"1"), 1)
    with pytest.raises(S3Error, match="Access Denied"):
        pareto.put_object("mlflow", "probe", io.BytesIO(b"1"), 1)
    mlflow = _s3(stack.stack, secret.s3_mlflow_access_key, secret.s3_mlflow_secret_key)
    with pytest.raises(S3Error, match="Access Denied"):
        mlflow.get_object("kafka-pareto", "probe")
    assert httpx.get(f"{stack.stack.s3_url}/kafka-pareto/probe", trust_env=False).status_code == 403
    explorer = _s3(stack.stack, secret.s3_explorer_access_key, secret.s3_explorer_secret_key)
    assert explorer.get_object("kafka-pareto", "probe").read() == b"1"
    for forbidden in (
        lambda: explorer.put_object("kafka-pareto", "probe", io.BytesIO(b"2"), 1),
        lambda: explorer.remove_object("kafka-pareto", "probe"),
        lambda: list(explorer.list_objects("mlflow")),
    ):
        with pytest.raises(S3Error, match="Access Denied"):
            forbidden()


def test_the_library_opens_the_stacks_store_by_its_settings(stack: EmbeddedStack) -> None:
    store = open_store(stack.stack.settings())
    tag = store.put_if("probe-of-settings", b"1", None)
    assert tag is not None
    assert store.put_if("probe-of-settings", b"2", None) is None


def test_artifacts_logged_to_mlflow_are_in_its_bucket(stack: EmbeddedStack) -> None:
    program = "import mlflow; mlflow.set_experiment('probe'); mlflow.log_text('found me', 'note.txt')"
    subprocess.run(
        [sys.executable, "-c", program],
        env={**stack.environment, **stack.mlflow_environment()},
        cwd=stack.state,
        timeout=120,
        check=True,
        capture_output=True,
    )
    secret = stack.stack.credentials
    bucket = _s3(stack.stack, secret.s3_mlflow_access_key, secret.s3_mlflow_secret_key)
    names = [item.object_name or "" for item in bucket.list_objects("mlflow", recursive=True)]
    [name] = [name for name in names if name.endswith("/note.txt")]
    assert bucket.get_object("mlflow", name).read() == b"found me"


def test_mlflow_refuses_a_foreign_host_header(stack: EmbeddedStack) -> None:
    url = f"{stack.stack.mlflow_url}/api/2.0/mlflow/experiments/search?max_results=1"
    login = (EXPLORER_USER, stack.stack.credentials.mlflow_explorer_password)
    assert httpx.get(url, auth=login, trust_env=False).status_code == 200
    assert httpx.get(url, auth=login, headers={"Host": "evil.example"}, trust_env=False).status_code == 403


def test_mlflow_lets_nobody_in_without_a_login(stack: EmbeddedStack) -> None:
    paths = ("", "/api/2.0/mlflow/experiments/search?max_results=1", "/api/2.0/mlflow-artifacts/artifacts?path=0")
    for url in (f"{stack.stack.mlflow_url}{path}" for path in paths):
        refused = httpx.get(url, trust_env=False)
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"].startswith("Basic")  # a browser asks its user
        assert httpx.get(url, auth=(ADMIN, "password1234"), trust_env=False).status_code == 401
    admin = (ADMIN, stack.stack.credentials.mlflow_admin_password)
    assert httpx.get(stack.stack.mlflow_url, auth=admin, trust_env=False).status_code == 200


def test_airflow_has_the_dag_unpaused_and_a_pool_of_one_slot(airflow: AirflowClient) -> None:
    dag = airflow.dag("tune_producer")
    assert dag
    assert not dag.is_paused
    assert airflow.ask("GET", "pools/kafka_cluster")["slots"] == 1


def test_the_pool_may_be_asked_for_again(airflow: AirflowClient) -> None:
    airflow.create_pool(pool_of(""))
    assert airflow.ask("GET", "pools/kafka_cluster")["slots"] == 1


def test_airflow_refuses_a_wrong_password(stack: EmbeddedStack) -> None:
    connection = AirflowConnection(stack.stack.airflow_url, Login("admin", "admin"))
    with AirflowClient(connection) as stranger, pytest.raises(AirflowRefusedError) as refusal:
        stranger.token()
    assert refusal.value.status == 401


def test_a_killed_broker_is_started_again_and_rejoins(stack: EmbeddedStack) -> None:
    killed = stack.pids()["kafka-2"]
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        psutil.Process(killed).kill()
        wait_until("another kafka-2 runs", lambda: stack.pids().get("kafka-2", killed) != killed, 60)
        wait_until("three brokers are members", lambda: len(cluster.describe().brokers) == 3, 90)


@pytest.mark.long
def test_an_up_that_is_interrupted_leaves_nothing() -> None:
    # A short path: pytest's own may be too long for a socket.
    with TemporaryDirectory(prefix="kp-") as folder, embedded_stack(Path(folder)) as other:
        starting = other.begin("up")
        assert starting.stdout is not None
        for line in starting.stdout:
            if line.startswith("Starting Airflow"):
                break
        family = other.family()
        starting.send_signal(signal.SIGINT)
        said, _ = starting.communicate(timeout=120)
        assert starting.returncode == 130, said
        assert "Stopping the started programs" in said
        assert "Traceback" not in said
        assert command_lines(family) == []
        assert not other.supervisor.is_up()
        assert taken_ports(other.stack.ports) == []


@pytest.mark.long
def test_after_the_process_manager_was_killed_up_leaves_no_orphan_and_down_leaves_nothing(stack: EmbeddedStack) -> None:
    open_store(stack.stack.settings()).put("kept", b"1")
    orphans = stack.family()
    orphans[0].kill()
    orphans[0].wait(timeout=10)
    assert stack.command("status") == (0, "The stack is down.\n")

    code, said = stack.command("up")
    assert command_lines(orphans) == []
    assert code == 0, said
    assert "(mode 600)" not in said
    assert set(stack.pids()) == PROGRAMS
    assert open_store(stack.stack.settings()).get("kept") == b"1"

    family = stack.family()
    keep_client_config(stack.stack.client_configs, "killed", "killed", "sasl.jaas.config=hidden")
    code, _ = stack.command("down")
    assert code == 0
    assert list(stack.stack.client_configs.glob("*.properties")) == []
    assert command_lines(family) == []
    assert taken_ports(stack.stack.ports) == []
    assert stack.command("down") == (0, "")
