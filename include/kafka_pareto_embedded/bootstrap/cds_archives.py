"""Archive the classes of a broker and of the cluster helper (class data sharing), whose JVMs start often.

Each runs once and archives the classes that it has loaded when it ends. Without an archive they start more slowly.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import BROKER, BROKER_CLASS
from kafka_pareto.kafka.admin_process import HELPER, helper_argv
from kafka_pareto.kafka.java import cds_archive, java_environment
from kafka_pareto.settings import Settings, load_settings

_TOPIC: dict[str, Any] = {"topic": "archived", "partitions": 1, "replication_factor": 1, "configs": {}}
# A step's usual requests. The mark is written before the topic is read, so that the broker knows the topic by then.
_REQUESTS: dict[str, dict[str, Any]] = {
    "describe_cluster": {},
    "create_topic": _TOPIC,
    "make_mark": {**_TOPIC, "topic": "mark", "only_asks": False},
    "append_to_mark": {"topic": "mark", "value": ""},
    "last_of_mark": {"topic": "mark"},
    "topic_health": _TOPIC,
    "all_topics_health": {},
    "end_offsets": _TOPIC,
    "delete_topic": _TOPIC,
}
_WITHIN_S = 60


def main() -> None:
    """Write both archives next to Kafka's jars."""
    settings = load_settings()
    for program in (BROKER, HELPER):  # no JVM can load an archive and write another
        cds_archive(settings.kafka_jars, program).unlink(missing_ok=True)
    with (
        _archiving(settings, BROKER, BROKER_CLASS) as java,
        Brokers(1, settings.model_copy(update={"java": java}), jmx_configuration=None) as brokers,
    ):
        with _archiving(settings, HELPER, "") as helpers_java:
            _ask(helpers_java, settings, brokers.bootstrap_servers)
        brokers.stop(next(iter(brokers.nodes)))


@contextmanager
def _archiving(settings: Settings, program: str, main_class: str) -> Iterator[str]:
    """Yield a Java command whose JVM archives its classes when it ends, if it runs this main class (empty: any).

    The archive is put in place once a JVM has verified it, because JVMs crash on a damaged one.
    """
    archive = cds_archive(settings.kafka_jars, program)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        written, command = Path(folder) / archive.name, Path(folder) / "java"
        java, option = shlex.quote(settings.java), shlex.quote(f"-XX:ArchiveClassesAtExit={written}")
        command.write_text(
            f'#!/bin/sh\ncase " $* " in *" {main_class}"*) exec {java} {option} "$@";; esac\nexec {java} "$@"\n',
            encoding="utf-8",
        )
        command.chmod(0o700)
        yield str(command)
        verifying = ["-Xshare:on", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={written}"]
        jars = ["-cp", f"{settings.kafka_jars.absolute()}/*"]
        subprocess.run([settings.java, *verifying, *jars, "-version"], timeout=_WITHIN_S, check=True)
        with written.open("rb") as complete:
            os.fsync(complete.fileno())
        written.replace(archive)


def _ask(java: str, settings: Settings, bootstrap_servers: str) -> None:
    """Run the helper until it has answered the requests.

    Raises:
        ValueError: If Kafka refuses one, because its classes would be missing.
    """
    connect = {"connect": {"bootstrap_servers": bootstrap_servers, "client_config": None}}
    requests = [
        json.dumps({"id": number, "operation": operation, "timeout_ms": 10_000, **arguments})
        for number, (operation, arguments) in enumerate({**connect, **_REQUESTS}.items())
    ]
    said = subprocess.run(
        helper_argv(java, settings.kafka_jars),
        input="\n".join(requests),
        env=java_environment(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=_WITHIN_S,
        check=True,
    ).stdout.splitlines()
    answers = [json.loads(line) for line in said if line.startswith("{")]  # beside the JVM's remarks on the archive
    if refused := [answer for answer in answers if "ok" not in answer]:
        raise ValueError(refused[0])


if __name__ == "__main__":
    main()
