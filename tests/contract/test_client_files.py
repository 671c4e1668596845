"""Settings as Spring Boot's file: its own binder takes them, and gives them to the client as Java's own file does."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from kafka_pareto.kafka.client_rules import ClientRules
from kafka_pareto.kafka.consumer_rules import CONSUMER
from kafka_pareto.kafka.producer_rules import PRODUCER
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.kafka.spring_values import bytes_text, isolation_text, milliseconds_text, switch_text
from kafka_pareto.kafka.user_settings import read_consumer_file
from kafka_pareto.rollout.client_files import settings_file
from tests.exported_settings import exported_settings, read_by_java

pytestmark = pytest.mark.servers  # none, but Maven fetches Spring

SPRING_BINDS = Path(__file__).parents[1] / "fixtures" / "LoadedApplicationYaml.java"
CONVERTED = {
    "java.time.Duration": milliseconds_text,
    "java.lang.Boolean": switch_text,
    "org.springframework.boot.kafka.autoconfigure.KafkaProperties$IsolationLevel": isolation_text,
    "org.springframework.util.unit.DataSize": bytes_text,
}
SHORT_DURATIONS = ("500", "500ms", "5S", "+5s", "1500us")
ISO_DURATIONS = ("PT5S", "pt5s", "+PT5S", "PT+5S", "-PT-5S", "PT0.5S", "PT0,5S", "PT5.S", "PT1.0005S", "PT-0.0009S")
ISO_DURATIONS_WITH_SEVERAL_UNITS = ("P0D", "PT1H30M", "PT1M-30S", "P1DT1H", "P-1DT30H")
NO_DURATIONS = (
    "1.5s",
    "1h30m",
    "1e3",
    "5w",
    "5ss",
    "P",
    "PT",
    "PT5",
    "PT5S1",
    "P1DT",
    "PT30S1M",
    "PT1M1M",
    "P1Y",
    "P1W",
)
NO_FRACTIONS = ("P0.5D", "PT1.5M", "PT.5S", "PT0.1234567891S")
OUT_OF_BOUNDS = ("-PT5S", "PT600H")
TAKEN = (*SHORT_DURATIONS, *ISO_DURATIONS, *ISO_DURATIONS_WITH_SEVERAL_UNITS)
REFUSED = (*NO_DURATIONS, *NO_FRACTIONS, *OUT_OF_BOUNDS)


@pytest.mark.long
def test_spring_takes_every_value_of_every_property(tmp_path: Path, spring_jars: Path) -> None:
    found = [settings for settings in exported_settings() if settings]  # a file that says nothing binds nothing
    for number, settings in enumerate(found):
        for name in ("producer.properties", "application.yaml"):
            (tmp_path / f"{number}{Path(name).suffix}").write_text(settings_file(settings, name, [], "producer"))
    assert read_by_java(SPRING_BINDS, spring_jars, tmp_path, "producer") == [str(len(found))]


@pytest.mark.parametrize("rules", [PRODUCER, CONSUMER], ids=["producer", "consumer"])
def test_springs_own_keys_are_known_and_converted_by_their_types(spring_jars: Path, rules: ClientRules) -> None:
    (jar,) = spring_jars.glob("spring-boot-kafka-*.jar")
    with zipfile.ZipFile(jar) as opened:
        listed = json.loads(opened.read("META-INF/spring-configuration-metadata.json"))["properties"]
    prefix = f"spring.kafka.{rules.client}."
    types = {each["name"].removeprefix(prefix): each["type"] for each in listed if each["name"].startswith(prefix)}
    own = {key: kind for key, kind in types.items() if key != "properties" and "." not in key}
    assert {key.replace("-", "") for key in own} == set(rules.spring_names)
    expected = {
        rules.spring_names[key.replace("-", "")]: CONVERTED[kind] for key, kind in own.items() if kind in CONVERTED
    }
    assert rules.spring_values == expected


def test_a_duration_is_read_as_spring_reads_it_and_refused_where_spring_or_kafka_refuses_it(
    tmp_path: Path, spring_jars: Path
) -> None:
    refused = []
    for duration in (*TAKEN, *REFUSED):
        text = f"spring: {{kafka: {{consumer: {{fetch-max-wait: '{duration}'}}}}}}\n"
        (tmp_path / f"{duration}.yaml").write_text(text)
        try:
            used = read_consumer_file(text).used
        except ValueError:
            used = {}
            refused.append(duration)
        (tmp_path / f"{duration}.properties").write_text(properties_lines(used))
    assert refused == list(REFUSED)
    *said, _ = read_by_java(SPRING_BINDS, spring_jars, tmp_path, "consumer")
    assert {Path(line.split(": ")[0]).stem for line in said} == set(REFUSED)
