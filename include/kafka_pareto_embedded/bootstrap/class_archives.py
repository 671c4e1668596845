"""Archive the classes of a broker and of the cluster helper, whose JVMs start often: they then start faster.

Each runs once and archives the classes that it has loaded when it ends. Without an archive they start as usual.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import BROKER
from kafka_pareto.kafka.admin_process import HELPER, helper_argv
from kafka_pareto.kafka.java import class_archive, java_environment
from kafka_pareto.settings import Settings, load_settings

_TOPIC: dict[str, Any] = {"topic": "archived", "partitions": 1, "replication_factor": 1, "configs": {}}
# A step's usual requests.
_REQUESTS: dict[str, dict[str, Any]] = {
    "describe_cluster": {},
    "create_topic": _TOPIC,
    "topic_health": _TOPIC,
    "all_topics_health": {},
    "end_offsets": _TOPIC,
    "make_mark": {**_TOPIC, "topic": "mark", "only_asks": False},
    "append_to_mark": {"topic": "mark", "value": ""},
    "last_of_mark": {"topic": "mark"},
    "delete_topic": _TOPIC,
}
_WITHIN_S = 60


def main() -> None:
    """Write both archives next to Kafka's jars."""
    settings = load_settings()
    for program in (BROKER, HELPER):  # no JVM can load an archive and write another
        class_archive(settings.kafka_jars, program).unlink(missing_ok=True)
    with (
        _recorded(settings, BROKER) as java,
        Brokers(1, settings.model_copy(update={"java": java}), jmx_configuration=None) as brokers,
    ):
        with _recorded(settings, HELPER) as java_of_helper:
            _ask(java_of_helper, settings, brokers.bootstrap_servers)
        brokers.stop(*brokers.pids)


@contextmanager
def _recorded(settings: Settings, program: str) -> Iterator[str]:
    """Yield a Java command that archives its classes as it ends; the archive appears when it is complete."""
    archive = class_archive(settings.kafka_jars, program)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        written, command = Path(folder) / archive.name, Path(folder) / "java"
        command.write_text(
            f'#!/bin/sh\nexec {shlex.join([settings.java, f"-XX:ArchiveClassesAtExit={written}"])} "$@"\n'
        )
        command.chmod(0o700)
        yield str(command)
        written.replace(archive)  # a JVM crashes on a truncated archive


def _ask(java: str, settings: Settings, bootstrap_servers: str) -> None:
    """Run the helper until it has answered the requests."""
    connect = {"connect": {"bootstrap_servers": bootstrap_servers, "client_config": None}}
    requests = [
        json.dumps({"id": number, "operation": operation, "timeout_ms": 10_000, **arguments})
        for number, (operation, arguments) in enumerate({**connect, **_REQUESTS}.items())
    ]
    subprocess.run(
        helper_argv(java, settings.kafka_jars),
        input="\n".join(requests),
        env=java_environment(),
        stdout=subprocess.DEVNULL,
        text=True,
        timeout=_WITHIN_S,
        check=True,
    )


if __name__ == "__main__":
    main()
