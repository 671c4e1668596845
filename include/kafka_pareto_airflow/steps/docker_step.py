"""Run a step in its own container, isolated from the host."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from airflow.providers.docker.operators.docker import DockerOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException
from docker.errors import APIError, ImageNotFound, NotFound
from docker.utils import parse_bytes

from kafka_pareto.errors import BadInputError
from kafka_pareto_airflow.steps.step import KILL_GRACE_S, Step
from kafka_pareto_airflow.steps.step_settings import (
    CLIENT_CONFIGS,
    SCRATCH,
    StepSettings,
    load_step_settings,
    settings_for_steps,
)

# The engine's proxy lets Airflow change only containers with such names.
NAME_PREFIX = "kafka-pareto-step-"
# With these labels, Compose treats a step as an orphan, which `docker compose down --remove-orphans` removes.
# Compose only sees containers with a configuration hash; the value does not matter.
LABELS = {
    "com.docker.compose.project": "kafka-pareto",
    "com.docker.compose.service": "step",
    "com.docker.compose.config-hash": "step",
}

# The JVM unpacks compression libraries there and runs them.
_TEMPORARY_FILES = {"/tmp": "rw,exec,nosuid,nodev,size=512m"}  # noqa: S108 (in the container)
_MOST_PROCESSES = 1024


class DockerStep(Step, DockerOperator):
    """Run a step with DockerOperator, using the image, network and limits from the environment.

    Its container has no host mounts, no capabilities, and a read-only file system except for `/tmp` and a volume for
    large files. Both are removed when the step ends or the task is stopped. Before a new try starts, the containers of
    earlier tries are stopped, so a task never has two. Each try has its own container name, so a late earlier try
    cannot stop a newer container. Images are never pulled.
    """

    def __init__(self, **kwargs: Any) -> None:
        # Read the environment where the task runs.
        fixed = {"image": "", "auto_remove": "force", "mount_tmp_dir": False}
        super().__init__(**{**kwargs, **fixed})
        self._complaint = ""

    def run_step(self, command: list[str], context: Context) -> tuple[int, str]:
        """Run the step in a new container; if it fails, the last line of its stderr is the reason."""
        try:
            settings = load_step_settings(needed="network")
            body = container_body(settings, command, settings_for_steps(os.environ))
        except BadInputError as error:
            raise AirflowFailException(str(error)) from error
        name, *earlier_names = container_names(context)
        for earlier_name in earlier_names:
            self._end(earlier_name)
        self.container = {"Id": name}  # for on_kill
        self._create(name, body)
        try:
            chunks = self.cli.attach(name, stdout=True, stderr=True, stream=True, demux=True)
            self.cli.start(name)
            last_line = self.log_lines(self._lines_of_stdout(chunks))
            exit_code = self.cli.wait(name)["StatusCode"]
            if exit_code and self.cli.inspect_container(name)["State"]["OOMKilled"]:
                self._complaint = f"the step ran out of memory; raise KAFKA_PARETO_STEP_MEMORY={settings.memory}"
        finally:
            self._end(name)
        return exit_code, (exit_code and self._complaint) or last_line

    def on_kill(self) -> None:
        """Stop the step, and remove its container."""
        if self.container:
            self._end(self.container["Id"])

    def _create(self, name: str, body: dict[str, Any]) -> None:
        try:
            self.cli.create_container_from_config(body, name)
        except ImageNotFound as error:
            raise AirflowFailException(
                f"KAFKA_PARETO_STEP_IMAGE: {body['Image']}: the engine has no such image, and images are never "
                "pulled; build it (docker compose build), or name an existing one"
            ) from error
        except APIError as error:
            if error.status_code == HTTPStatus.FORBIDDEN:
                raise AirflowFailException(
                    f"the engine's proxy refused the step's container: {error.explanation}"
                ) from error
            raise

    def _end(self, name: str) -> None:
        """Stop the container, if any: terminate the step, then kill it, then remove the container."""
        with suppress(NotFound):
            self.cli.stop(name)
            self.cli.remove_container(name, v=True, force=True)

    def _lines_of_stdout(self, chunks: Iterable[tuple[bytes | None, bytes | None]]) -> Iterator[str]:
        """Yield complete lines of stdout as they arrive; log those of stderr and keep the last one.

        The engine delivers two streams, not in the order of writing.
        """
        begun = [b"", b""]
        for chunk in chunks:
            for stream, piece in enumerate(chunk):
                *whole, begun[stream] = (begun[stream] + (piece or b"")).split(b"\n")
                if stream == 0:
                    yield from map(_text, whole)
                else:
                    self._log_complaint(whole)
        self._log_complaint([begun[1]] if begun[1] else [])
        if begun[0]:
            yield _text(begun[0])

    def _log_complaint(self, lines: list[bytes]) -> None:
        for line in lines:
            self._complaint = _text(line).rstrip()
            self.log.info("%s", self._complaint)


def container_names(context: Context) -> list[str]:
    """Return the container names of all tries of a run's task, from this one back to the first.

    A name consists of a readable part of the task's ID, a hash that makes it unique, and the try's number.
    """
    ti = context["ti"]
    parts = [ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index)]
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    name = f"{NAME_PREFIX}{readable[:80]}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"
    return [f"{name}-{try_number}" for try_number in range(ti.try_number, 0, -1)]


def container_body(settings: StepSettings, command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Return the engine's request to create the container."""
    try:
        memory_bytes = int(parse_bytes(settings.memory))
    except Exception as error:
        raise BadInputError(f"KAFKA_PARETO_STEP_MEMORY: {settings.memory!r}: must be a size such as 3g") from error
    mounts: list[dict[str, Any]] = [{"Type": "volume", "Target": SCRATCH}]
    if settings.client_configs:
        login = {"Type": "volume", "Target": CLIENT_CONFIGS, "Source": settings.client_configs, "ReadOnly": True}
        mounts.append(login)
    return {
        "Image": settings.image,
        "Cmd": command,
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "StopTimeout": KILL_GRACE_S,
        "Labels": LABELS,
        "HostConfig": {
            "NetworkMode": settings.network,
            "Memory": memory_bytes,
            "MemorySwap": memory_bytes,  # no swap on top
            "NanoCpus": round(settings.cpus * 1e9),
            "PidsLimit": _MOST_PROCESSES,
            "ReadonlyRootfs": True,
            "Tmpfs": _TEMPORARY_FILES,
            "Mounts": mounts,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
        },
    }


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
