"""The examples of producers that read the active settings, each run against a real broker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.rollout.client_files import settings_file
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT

pytestmark = [pytest.mark.brokers, pytest.mark.long]

EXAMPLES = ROOT / "include" / "examples"
RECORDS = 1000
JAVA_OPTIONS = ["-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]

# None of them a default, and each of another kind; acks as a study has it, a number that is a text.
IN_FORCE: dict[str, PropertyValue] = {
    "acks": "1",
    "batch.size": 65536,
    "buffer.memory": 67108864,
    "compression.type": "lz4",
    "enable.idempotence": False,
    "linger.ms": 20,
    "max.request.size": 2097152,
    "retries": 7,
}

# Its own names, of which those differ from its defaults.
AS_LIBRDKAFKA_SAYS = {
    "request.required.acks": "1",
    "batch.size": "65536",
    "queue.buffering.max.kbytes": "65536",
    "compression.codec": "lz4",
    "queue.buffering.max.ms": "20",
    "message.max.bytes": "2097152",
    "message.send.max.retries": "7",
}


@pytest.fixture
def java(single_broker: RunningBrokers) -> list[str]:
    return [single_broker.settings.java, *JAVA_OPTIONS]


def written(folder: Path, name: str, **others: PropertyValue) -> Path:
    path = folder / name
    told = {**IN_FORCE, **{given.replace("_", "."): value for given, value in others.items()}}
    path.write_text(settings_file(told, name, ["the active settings"], "producer"), encoding="utf-8")
    return path


def output_of_sending(brokers: RunningBrokers, topic: str, argv: list[str], **environment: str) -> str:
    """Runs the example, which must have sent its records by its end, and returns what it has logged."""
    with Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster:
        cluster.create_topic(topic, 1, 1)
        done = subprocess.run(
            argv,
            env={"PATH": os.environ["PATH"], **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert cluster.wait_for_end_offset_growth(topic, 0, RECORDS, 10) == RECORDS
    return done.stdout + done.stderr


def producer_config(log: str) -> dict[str, str]:
    """The settings that Java's producer logs at its start."""
    [block] = re.findall(r"ProducerConfig values: *\n((?:\t.+\n)+)", log)
    return dict(line.strip().split(" = ", 1) for line in block.splitlines())


def as_java_says(properties: dict[str, PropertyValue]) -> dict[str, str]:
    return {name: str(value).lower() for name, value in properties.items()}


def test_java_applies_the_active_settings(single_broker: RunningBrokers, java: list[str], tmp_path: Path) -> None:
    argv = [
        *java,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
        "-cp",
        f"{single_broker.settings.kafka_jars}/*",
        str(EXAMPLES / "java" / "Example.java"),
        str(written(tmp_path, "producer.properties")),
        single_broker.bootstrap_servers,
        "example-java",
    ]
    applied = producer_config(output_of_sending(single_broker, "example-java", argv))
    assert {name: applied[name] for name in IN_FORCE} == as_java_says(IN_FORCE)


def test_spring_applies_the_active_settings(
    single_broker: RunningBrokers, java: list[str], spring_jars: Path, tmp_path: Path
) -> None:
    argv = [
        *java,
        "-cp",
        f"{spring_jars}/*",
        "io.kafkapareto.example.Example",
        f"--spring.kafka.bootstrap-servers={single_broker.bootstrap_servers}",
        "--topic=example-spring",
    ]
    settings = str(written(tmp_path, "application.yaml"))
    applied = producer_config(output_of_sending(single_broker, "example-spring", argv, SETTINGS=settings))
    assert {name: applied[name] for name in IN_FORCE} == as_java_says(IN_FORCE)


def test_python_applies_the_active_settings(single_broker: RunningBrokers, tmp_path: Path) -> None:
    file = written(tmp_path, "librdkafka.properties")
    file.write_text(f"{file.read_text()}debug=conf\n")
    argv = [
        sys.executable,
        str(EXAMPLES / "python" / "example.py"),
        str(file),
        single_broker.bootstrap_servers,
        "example-python",
    ]
    log = output_of_sending(single_broker, "example-python", argv)
    applied = dict(re.findall(r"CONF\|.*\]: +([a-z.]+) = (.*)", log))
    assert {name: applied.get(name) for name in AS_LIBRDKAFKA_SAYS} == AS_LIBRDKAFKA_SAYS


@pytest.mark.parametrize("client", ["java", "spring", "python"])
def test_a_record_that_was_lost_fails_the_example(
    single_broker: RunningBrokers, java: list[str], spring_jars: Path, tmp_path: Path, client: str
) -> None:
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    properties = written(tmp_path, "producer.properties", max_block_ms=1)
    yaml = written(tmp_path, "application.yaml", max_block_ms=1)
    librdkafka = written(tmp_path, "librdkafka.properties", delivery_timeout_ms=500)
    kafka_jars, example = f"{single_broker.settings.kafka_jars}/*", str(EXAMPLES / "java" / "Example.java")
    server = f"--spring.kafka.bootstrap-servers={nobody}"
    argv = {
        "java": [*java, "-cp", kafka_jars, example, str(properties), nobody, "lost"],
        "spring": [*java, "-cp", f"{spring_jars}/*", "io.kafkapareto.example.Example", server, "--topic=lost"],
        "python": [sys.executable, str(EXAMPLES / "python" / "example.py"), str(librdkafka), nobody, "lost"],
    }[client]
    environment = {"PATH": os.environ["PATH"], "SETTINGS": str(yaml)}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search("TimeoutException|_MSG_TIMED_OUT", done.stdout + done.stderr)
