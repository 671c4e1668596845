"""Steps for tests of the Docker runner: an image whose one step obeys its argument, and tasks that run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.engine import BASE_IMAGE, Engine
from tests.contract.engine_proxy import Proxy

IMAGE, NETWORK = "kafka-pareto/stand-in-steps:test", "kafka-pareto-stand-in_pipeline"
MANIFEST = json.dumps({"step": "tried", "cases": ["1024", "8192"]})
# As the image of the steps: tini first, nobody's user. Its one step does what its argument says.
_DOCKERFILE = f"""
FROM {BASE_IMAGE}
RUN apt-get update -q && apt-get install -q -y --no-install-recommends python3 tini && ln -s python3 /usr/bin/python
WORKDIR /app
RUN mkdir tasks && printf 'import sys\\nexec(sys.argv[1])\\n' > tasks/tried.py
RUN install -d -o 10001 -g 10001 -m 700 /scratch
ENV PYTHONUNBUFFERED=1
USER 10001:10001
ENTRYPOINT ["tini", "-g", "--"]
"""


class TaskInstance(dict[str, Any]):
    """Stands in for the task instance: its names, and the XComs it pushes."""

    dag_id, run_id, task_id, map_index = "tune_producer", "manual__2026-11-21T10:00:00+00:00", "round_1.measure", 0
    try_number = 1

    def xcom_push(self, key: str, value: Any) -> None:
        self[key] = value


@contextmanager
def stand_in_steps(engine: Engine, folder: Path) -> Iterator[Engine]:
    """The engine with the stand-in image and its own network."""
    (folder / "Dockerfile").write_text(_DOCKERFILE, encoding="utf-8")
    engine.docker("build", "--network=host", "--tag", IMAGE, str(folder), timeout_s=300)
    engine.docker("network", "create", "--internal", NETWORK)
    yield engine
    engine.docker("network", "rm", NETWORK)


def environment(port: int) -> dict[str, str]:
    """The container settings in the task's environment."""
    return {
        "DOCKER_HOST": f"tcp://127.0.0.1:{port}",
        "KAFKA_PARETO_STEP_IMAGE": IMAGE,
        "KAFKA_PARETO_STEP_NETWORK": NETWORK,
        "KAFKA_PARETO_STEP_MEMORY": "256m",
        "KAFKA_PARETO_STEP_CPUS": "0.5",
    }


def containers(engine: Engine) -> list[str]:
    """The names of all containers of steps, the ended ones too."""
    return engine.docker("ps", "--all", "--filter", f"ancestor={IMAGE}", "--format", "{{.Names}}").stdout.split()


# A task whose step does not end by itself; as in Airflow, TERM is for the operator to act upon.
_TASK = """
import signal, sys
from airflow.sdk import DAG
from airflow.sdk.execution_time.task_runner import _run_execute_callable
from kafka_pareto_airflow.steps.docker_step import DockerStep
from tests.compose.stand_in_steps import TaskInstance
with DAG("try", schedule=None):
    operator = DockerStep(task_id="tried", step="tried", arguments=["print('ready'); import time; time.sleep(60)"])
signal.signal(signal.SIGTERM, lambda *_: operator.on_kill())
ti = TaskInstance()
ti.try_number = int(sys.argv[1])
_run_execute_callable({"ti": ti}, operator.execute, operator)
"""


@contextmanager
def task_in_a_process(proxy: Proxy, try_number: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    seen = {**os.environ, **environment(proxy.port), "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", _TASK, str(try_number)]
    with subprocess.Popen(argv, env=seen, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def says(engine: Engine, words: str, try_number: int = 1) -> None:
    """Waits for the one container of a step, that of this try, to say this."""

    def said() -> bool:
        match containers(engine):
            case [name] if name.endswith(f"-{try_number}"):
                return words in engine.docker("logs", name).stdout
        return False

    wait_until(f"the step says {words}", said, 30)


@contextmanager
def exit_codes(engine: Engine) -> Iterator[list[str]]:
    """The exit codes of the steps that end meanwhile, as the engine remembers them."""
    codes: list[str] = []
    began = time.time()
    yield codes
    these = ["--filter", "event=die", "--filter", f"image={IMAGE}"]
    span = ["--since", f"{began:.9f}", "--until", f"{time.time():.9f}"]
    codes += engine.docker("events", *these, *span, "--format", '{{index .Actor.Attributes "exitCode"}}').stdout.split()
