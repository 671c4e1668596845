"""The stack of docker-compose.yaml on the private engine: built, started, asked, disturbed, removed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.settings import Settings
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.tracking.provision import STEPS_USER
from kafka_pareto_containers.env_file import completed
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.stack.credentials import read_pairs
from kafka_pareto_embedded.stack.stack import TOOLS
from tests.compose.engine import BASE_IMAGE, Engine
from tests.compose.phases import phase
from tests.compose.secured_cluster import CLIENT_CONFIG, secured_cluster
from tests.small_quick import small_quick

ROOT = Path(__file__).parent.parent.parent
PROJECT = "kafka-pareto"
_FILES = ["docker-compose.yaml", "include/containers/no-registry.yaml"]
# Builds use the programs installed by set-up, so they are fetched and compiled once.
_JARS_IMAGE, _SERVER_IMAGE = "kafka-pareto/jars:test", "kafka-pareto/minio-server:test"
_LOG_PIPELINE_IMAGE, _STEPS = "kafka-pareto/log-pipeline:test", "steps-log-pipeline"
_BUILD_TIMEOUT_S, _UP_TIMEOUT_S = 900, 600


class ComposeStack:
    """One stack. Its `.env` is in a separate folder, so the checkout's stays untouched."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self._folder = folder
        self._env_file = folder / "env"
        airflow, mlflow, minio, grafana = free_ports(4)
        chosen = {"AIRFLOW": airflow, "MLFLOW": mlflow, "MINIO": minio, "GRAFANA": grafana}
        given = {f"KAFKA_PARETO_{door}_PORT": str(port) for door, port in chosen.items()}
        given |= {"DOCKER_SOCK": str(engine.socket), "KAFKA_PARETO_METRICS": "True"}
        given |= {"KAFKA_PARETO_STEP_IMAGE": f"kafka-pareto/{_STEPS}:local", "KAFKA_PARETO_STEP_MEMORY": "5g"}
        write_private(self._env_file, completed((ROOT / ".env.example").read_text(encoding="utf-8"), "", given))
        self._given = {"BASE_IMAGE": BASE_IMAGE, "JARS_IMAGE": _JARS_IMAGE, "SERVER_IMAGE": _SERVER_IMAGE}
        self._given["LOG_PIPELINE_IMAGE"] = _LOG_PIPELINE_IMAGE
        self._given["COMPOSE_PROFILES"] = "monitoring"
        self.variables = read_pairs(self._env_file)
        self.secured = secured_cluster(folder)
        self.airflow_url = f"http://127.0.0.1:{airflow}"
        self.mlflow_url = f"http://127.0.0.1:{mlflow}"
        self.s3_url = f"http://127.0.0.1:{minio}"

    def compose(self, *arguments: str, timeout_s: float = 120, standard_input: str = "") -> str:
        """Runs `docker compose` on the stack's files, with this on its standard input; what it printed."""
        return self.engine.docker(
            *["compose", *arguments],
            timeout_s=timeout_s,
            environment=self._environment(),
            standard_input=standard_input,
            cwd=ROOT,
        ).stdout

    def _environment(self) -> dict[str, str]:
        """The variables by which Compose finds the stack's files."""
        files = ":".join((*_FILES, str(self._folder / "secured.yaml")))
        return self._given | {"COMPOSE_FILE": files, "COMPOSE_ENV_FILES": str(self._env_file)}

    def make(self, target: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Runs `make` as a user of the stack does."""
        environment = self.engine.environment() | self._environment()
        command = ["make", "--silent", target, f"FOLDER={folder}"]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    def build(self, studies: Mapping[str, Mapping[str, Any]]) -> None:
        """Builds every image, with these studies; those that others are built on go first."""
        self._build_base("engine", "prometheus", "redis")
        self.compose("build", timeout_s=_BUILD_TIMEOUT_S)
        self._add_studies(studies)
        programs = ["aggregator", "collector", "filebeat", "spark-jars"]
        self._import_folder(TOOLS / "log-pipeline", programs, "opt/log-pipeline", _LOG_PIPELINE_IMAGE)
        self.compose("--profile", "log-pipeline", "build", _STEPS, timeout_s=_BUILD_TIMEOUT_S)

    def build_services(self, studies: Mapping[str, Mapping[str, Any]]) -> None:
        """Builds the images of brokers, store, MLflow, Postgres, Airflow and steps, with these studies."""
        self._build_base()
        self.compose("build", "airflow-prepare", "mlflow", "steps", timeout_s=_BUILD_TIMEOUT_S)
        self._add_studies(studies)

    def start_services(self) -> None:
        """Starts brokers, store, MLflow and Postgres, and prepares MLflow; Airflow is not started."""
        servers = ["kafka-1", "kafka-2", "kafka-3", "mlflow"]
        self.compose("up", "--detach", "--wait", *servers, timeout_s=_UP_TIMEOUT_S)
        self.compose("run", "--rm", "--no-TTY", "mlflow-prepare")

    def _build_base(self, *more: str) -> None:
        """Imports the jars and MinIO, then builds the base images and those of `more`."""
        self._import_folder(TOOLS / "kafka", ["jars", "agent"], "opt/kafka", _JARS_IMAGE)
        built = TOOLS / "bin" / "minio"
        minio = built if built.exists() else Path(shutil.which("minio") or built)
        self._import_folder(minio.parent, [minio.name], "opt", _SERVER_IMAGE)
        self.compose("build", "python", "kafka-1", "minio", "postgres", *more, timeout_s=_BUILD_TIMEOUT_S)

    def _add_studies(self, studies: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds these studies to those of the images of Airflow and of the steps."""
        for name, study in studies.items():
            (self._folder / f"{name}.yaml").write_text(yaml.safe_dump(dict(study)), encoding="utf-8")
        files = " ".join(f"{name}.yaml" for name in studies)
        for image in (f"kafka-pareto/{each}:local" for each in ("airflow", "steps")):
            layer = f"FROM {image}\nCOPY {files} /opt/kafka-pareto/include/studies/\n"
            (self._folder / "Dockerfile").write_text(layer, encoding="utf-8")
            self.engine.docker("build", "--tag", image, str(self._folder))

    @contextmanager
    def login(self, name: str, url: str = "") -> Iterator[AirflowClient]:
        """A client of the API of the stack's Airflow, or of one elsewhere, with the rights of this user."""
        login = Login(name, self.variables[f"AIRFLOW_{name.upper()}_PASSWORD"])
        with AirflowClient(AirflowConnection(url or self.airflow_url, login)) as client:
            yield client

    def secrets_in(self, text: str) -> list[str]:
        """The names of the secrets that the text contains."""
        kinds = ("PASSWORD", "SECRET", "FERNET")
        named = {name: value for name, value in self.variables.items() if any(kind in name for kind in kinds)}
        return [name for name, value in named.items() if value in text]

    def settings(self) -> Settings:
        """The credentials that open the store from outside."""
        return Settings(
            s3_endpoint=self.s3_url,
            s3_access_key="kafka-pareto",
            s3_secret_key=SecretStr(self.variables["S3_PARETO_SECRET_KEY"]),
            mlflow_tracking_uri=self.mlflow_url,
            mlflow_username=STEPS_USER,
            mlflow_password=SecretStr(self.variables["MLFLOW_STEPS_PASSWORD"]),
        )

    def services(self) -> list[dict[str, Any]]:
        """Compose's description of each running service."""
        return [json.loads(line) for line in self.compose("ps", "--format", "json").splitlines()]

    def container(self, service: str) -> dict[str, Any]:
        """The container's state, restart count and configuration."""
        return self.engine.inspect(f"{PROJECT}-{service}-1")

    def prometheus_url(self) -> str:
        """No door of the stack leads to Prometheus; the engine's own machine reaches every network."""
        networks = self.container("prometheus")["NetworkSettings"]["Networks"]
        return f"http://{networks[f'{PROJECT}_monitoring']['IPAddress']}:9090"

    def kill(self, service: str, program: str) -> None:
        """Kills the program in the service's container with -9, as no stop of the container would."""
        listed = self.engine.docker("top", f"{PROJECT}-{service}-1", "-eo", "pid,comm").stdout.split("\n")[1:]
        pid = next(int(line.split()[0]) for line in listed if line.split()[1:] == [program])
        os.kill(pid, signal.SIGKILL)

    def steps(self) -> list[str]:
        """The containers of steps, whatever their state."""
        named = self.engine.docker("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={PROJECT}-step-")
        return named.stdout.split()

    def left(self) -> list[str]:
        """Containers, networks and volumes of the project, and containers of its steps."""
        label = f"label=com.docker.compose.project={PROJECT}"
        found = [
            self.engine.docker("ps", "--all", "--format", "{{.Names}}", "--filter", label),
            self.engine.docker("network", "ls", "--format", "{{.Name}}", "--filter", label),
            self.engine.docker("volume", "ls", "--format", "{{.Name}}", "--filter", label),
        ]
        return [*self.steps(), *(name for each in found for name in each.stdout.split())]

    def down(self) -> None:
        """Removes the stack and all of its data.

        Debian's Compose 2.26 gives up where a step's container went away by itself meanwhile; those that the docs ask
        for (2.29 was the first) go on.
        """
        down = ["--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5"]
        try:
            self.compose(*down, timeout_s=_UP_TIMEOUT_S)
        except AssertionError as error:
            if "No such container" not in str(error):
                raise
            self.compose(*down, timeout_s=_UP_TIMEOUT_S)

    def turn_to_celery(self) -> None:
        """Has tasks run on Celery's workers from now on, and brings the second cluster up."""
        command = ["run", "--rm", "--no-TTY", "client-config", CLIENT_CONFIG]
        stored = self.compose(*command, standard_input=self.secured.client_config)
        assert f"{CLIENT_CONFIG} stored" in stored
        self._given |= {"COMPOSE_PROFILES": "monitoring,celery", "KAFKA_PARETO_EXECUTOR": "CeleryExecutor"}
        self.compose("up", "--detach", "--wait", timeout_s=_UP_TIMEOUT_S)

    def turn_from_celery(self) -> None:
        """Has the scheduler run tasks again, and leaves out monitoring, from the next start on."""
        self._given |= {"COMPOSE_PROFILES": "", "KAFKA_PARETO_EXECUTOR": "LocalExecutor"}

    def tuning_studies(self) -> dict[str, dict[str, Any]]:
        """A short study, and the same on the second cluster, which asks for a login."""
        short = small_quick() | {"name": "short", "record_sizes_bytes": [1024]}
        blocks = {"choice_blocks": 1, "gain_blocks": 4, "minimum_blocks": 4, "final_blocks": 2, "more_blocks": 0}
        short["confirmation"] = {"points": 2, **blocks}
        ceilings = {"ceiling_mib_s": 200, "ceiling_gib": 20, "consent": True}
        second = short | {"name": "second"}
        servers = {"bootstrap_servers": "kafka-second:9092", "client_config": CLIENT_CONFIG}
        second["cluster"] = {"name": "second", **servers, **ceilings}
        second["workload"] = short["workload"] | {"replication_factor": 1, "min_insync_replicas": 1}
        return {"short": short, "second": second}

    def _import_folder(self, folder: Path, names: list[str], target: str, image: str) -> None:
        pack = ["tar", "-C", str(folder), "--transform", f"s,^,{target}/,", "-cf", "-", *names]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            command = ["docker", "import", "-", image]
            subprocess.run(
                command,
                env=self.engine.environment(),
                stdin=packing.stdout,
                check=True,
                capture_output=True,
                timeout=120,
            )
        assert packing.returncode == 0, f"{folder}: cannot be packed; run the project's set-up first"


@contextmanager
def running_stack(engine: Engine, folder: Path, comparisons: Mapping[str, Mapping[str, Any]]) -> Iterator[ComposeStack]:
    """The stack with these comparisons and two tuning studies, built, started and healthy; afterwards it is gone."""
    stack = ComposeStack(engine, folder)
    with phase("images built"):
        stack.build({**stack.tuning_studies(), **comparisons})
    try:
        with phase("stack up and healthy"):
            stack.compose("up", "--detach", "--wait", timeout_s=_UP_TIMEOUT_S)
        yield stack
    except AssertionError:
        print(stack.compose("ps", "--all"), stack.compose("logs", "--tail", "40", "--no-color"))
        raise
    finally:
        with phase("stack down"):
            stack.down()
