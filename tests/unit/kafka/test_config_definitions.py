"""The properties that studies may set are those of Kafka's own clients: their defaults, and their bounds."""

from __future__ import annotations

import subprocess

import pytest

from kafka_pareto.kafka import consumer_properties, known_properties
from kafka_pareto.kafka.known_properties import INT_MAX
from kafka_pareto.settings import Settings

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PROGRAM = """
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

class Definitions {
    public static void main(String[] arguments) {
        ConfigDef clients = arguments[0].equals("producer") ? ProducerConfig.configDef() : ConsumerConfig.configDef();
        for (var key : clients.configKeys().values()) {
            System.out.println(String.join("\\t", key.name, "" + key.type, "" + key.defaultValue, "" + key.validator));
        }
    }
}
"""


@pytest.fixture(scope="module", params=["producer", "consumer"])
def definitions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    program = tmp_path_factory.mktemp("definitions") / "Definitions.java"
    program.write_text(PROGRAM, encoding="utf-8")
    settings = Settings()
    argv = [settings.java, "-cp", f"{settings.kafka_jars}/*", str(program), request.param]
    lines = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    found = {name: rest for name, *rest in (line.split("\t") for line in lines if line.count("\t") == 3)}
    return found, {"producer": known_properties, "consumer": consumer_properties}[request.param]


def test_defaults_are_those_of_kafkas_client(definitions):
    found, ours = definitions
    texts = {name: str(value) for name, value in ours.DEFAULTS.items()}
    assert {name: found[name][1] for name in texts} == {
        name: text.lower() if text in ("True", "False") else text for name, text in texts.items()
    }


UNBOUNDED = {"connections.max.idle.ms", "heartbeat.interval.ms", "session.timeout.ms"}


def test_bounds_are_those_of_kafkas_client(definitions):
    found, ours = definitions
    numbers = {name for name, value in ours.DEFAULTS.items() if type(value) is int}
    assert {name: _bounds(*found[name][::2]) for name in numbers - UNBOUNDED} == ours.BOUNDS
    assert not [name for name in numbers & UNBOUNDED if found[name][2].startswith("[")]


def _bounds(kind: str, rule: str) -> tuple[int, int | None]:
    """Read `[0,...]`, `[0,...,9]`, or `[1,...,9] or -1`; a number of 32 bits has an upper bound in any case."""
    bounds, _, besides = rule.partition(" or ")
    least, _, most = bounds.strip("[]").split(",") if bounds.count(",") == 2 else (*bounds.strip("[]").split(","), "")
    return int(besides or least), int(most) if most else {"INT": INT_MAX}.get(kind)
