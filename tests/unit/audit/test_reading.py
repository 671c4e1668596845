"""The program that reads topics; a shell script in Java's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.audit.reading import Limits, TopicReader
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast


def reader(java: str | Path) -> TopicReader:
    limits = Limits(records=1, bytes=1, seconds=1)
    return TopicReader("b:9092", None, ["orders"], limits, [], Settings(java=str(java), kafka_jars=Path("jars")))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            'echo \'Exception in thread "main" java.util.concurrent.ExecutionException: '
            "org.apache.kafka.common.errors.TimeoutException: no answer' >&2; exit 1",
            "TimeoutException: no answer; check the addresses",
        ),
        ("kill -KILL $$", "the audit's process ended with status -9; check that enough memory is free"),
        (
            """echo '{"topics": ["orders"]}'; printf '{"topic": "ord'; kill -KILL $$""",
            "the audit's process ended with status -9; check that enough memory is free",
        ),
        (
            "echo 'Error occurred during initialization of VM'; echo 'Could not reserve enough space'; exit 1",
            "the audit's process ended with status 1: Error occurred during initialization of VM Could not reserve "
            "enough space; check that enough memory is free",
        ),
    ],
)
def test_a_process_that_ends_without_its_answers_is_an_error_with_the_reason(
    tmp_path: Path, script: str, said: str
) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    java.chmod(0o755)
    with pytest.raises(ClusterError) as failed:
        list(reader(java))
    assert str(failed.value).startswith(f"Kafka cluster b:9092: {said}")


def test_without_java_the_user_must_install_it() -> None:
    with pytest.raises(BadInputError, match=r"^command not found: no-such-java; install Java 17 or newer"):
        reader("no-such-java")
