"""A user's own consumer settings are understood or refused, never half-read."""

from __future__ import annotations

import pytest

from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.user_settings import read_client_file, read_consumer_file

pytestmark = pytest.mark.fast

OWN = "depends on your client and is not measured"
UNCONVERTED = (
    "Spring Boot passes values under properties to Kafka unconverted: write a whole number of milliseconds or bytes$"
)
OWN_ASSIGNOR = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


@pytest.mark.parametrize(
    ("text", "form", "used"),
    [
        (
            "fetch.min.bytes=65536\ngroup.protocol=CONSUMER\ncheck.crcs=FALSE\n",
            "Java properties",
            {"fetch.min.bytes": 65536, "group.protocol": "consumer", "check.crcs": False},
        ),
        (
            "spring.kafka.properties.max.poll.records=7\nspring.kafka.consumer.max-poll-records=9\n"
            "spring.kafka.consumer.fetchMinSize=64KB\nspring.kafka.consumer.heartbeat-interval=2s\n"
            "spring.kafka.consumer.max-poll-interval=1m\nspring.kafka.consumer.auto-commit-interval=100\n"
            "spring.kafka.consumer.isolation-level=read-committed\nspring.kafka.consumer.enable-auto-commit=off\n",
            "Spring Boot",
            {
                "max.poll.records": 9,
                "fetch.min.bytes": 65536,
                "heartbeat.interval.ms": 2000,
                "max.poll.interval.ms": 60000,
                "auto.commit.interval.ms": 100,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            },
        ),
        (
            "fetch.wait.max.ms=10\nfetch.message.max.bytes=2048\ntopic.auto.commit.interval.ms=9\n"
            "enable.auto.commit=f\nisolation.level=READ_COMMITTED\n",
            "librdkafka",
            {
                "fetch.max.wait.ms": 10,
                "max.partition.fetch.bytes": 2048,
                "auto.commit.interval.ms": 9,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            },
        ),
        ('{"max.poll.records": 5}', "Java properties", {"max.poll.records": 5}),
        ("[consumer]\nmax.poll.records = 5\n", "Java properties", {"max.poll.records": 5}),
    ],
)
def test_each_form_is_read_with_kafkas_names(text: str, form: str, used: dict[str, PropertyValue]) -> None:
    found = read_consumer_file(text)
    assert (found.form, found.used, found.ignored) == (form, used, {})


@pytest.mark.parametrize(
    ("duration", "milliseconds"),
    [
        ("500", 500),
        ("500ms", 500),
        ("5S", 5000),
        ("PT5S", 5000),
        ("pt0,5s", 500),
        ("P1DT2H3M4.5S", 93_784_500),
        ("PT1M-30S", 30_000),
        ("-PT-5S", 5000),
        ("PT0.0019S", 1),
        ("-1us", 0),
    ],
)
def test_springs_own_keys_of_type_duration_take_every_form_of_spring(duration: str, milliseconds: int) -> None:
    found = read_consumer_file(f"spring.kafka.consumer.fetch-max-wait={duration}")
    assert found.used == {"fetch.max.wait.ms": milliseconds}


def test_excluded_names_are_listed_with_the_reason() -> None:
    found = read_consumer_file(
        f"bootstrap.servers=a:9092\ngroup.id=g\npartition.assignment.strategy={OWN_ASSIGNOR}\nmax.poll.records=5\n"
        "value.deserializer=org.apache.kafka.common.serialization.StringDeserializer\ninterceptor.classes=\n"
        "linger.ms=5\nfetch.min.byte=1\nzookeeper.connect=z:2181\n"
    )
    assert found.used == {"max.poll.records": 5}
    assert found.ignored == {
        "bootstrap.servers": OWN,
        "group.id": OWN,
        "partition.assignment.strategy": OWN,
        "value.deserializer": OWN,
        "interceptor.classes": "is empty",
        "linger.ms": "is a setting of the producer",
        "fetch.min.byte": "is not a tunable setting of Kafka's consumer; did you mean fetch.min.bytes?",
        "zookeeper.connect": "is not a tunable setting of Kafka's consumer",
    }


@pytest.mark.parametrize("line", ["topic.auto.offset.reset=Smallest", "auto.offset.reset=earliest"])
def test_where_a_group_begins_is_read_and_is_not_measured(line: str) -> None:
    assert read_client_file(line, "consumer", is_measured=False).used == {"auto.offset.reset": "earliest"}
    measured = read_consumer_file(f"max.poll.records=5\n{line}\n")
    assert measured.used == {"max.poll.records": 5}
    (reason,) = measured.ignored.values()
    assert reason.startswith("is always earliest in a measurement")


def test_springs_producer_keys_and_unknown_ones_are_excluded() -> None:
    found = read_consumer_file(
        "spring.kafka.consumer.fetch-min-bytes=1\nspring.kafka.consumer.ssl.key-password=x\n"
        "spring.kafka.producer.acks=all\nspring.kafka.listener.concurrency=3\n"
    )
    assert found.used == {}
    assert found.ignored == {
        "spring.kafka.consumer.fetch-min-bytes": "Spring Boot ignores this key; put Kafka's names under "
        "spring.kafka.consumer.properties",
        "spring.kafka.consumer.ssl.key-password": OWN,
        "spring.kafka.producer.acks": "is not a setting of the consumer",
        "spring.kafka.listener.concurrency": "is not a setting of the consumer",
    }


REFUSES = "otherwise Kafka's consumer does not start"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("session.timeout.ms=3000", f"heartbeat.interval.ms 3000 must be below session.timeout.ms 3000; {REFUSES}"),
        ("heartbeat.interval.ms=-1", f"heartbeat.interval.ms -1 must be at least 0; {REFUSES}"),
        ("group.protocol=consumer\nsession.timeout.ms=45000", f"session.timeout.ms must not be set .*; {REFUSES}"),
        (
            f"group.protocol=consumer\npartition.assignment.strategy={OWN_ASSIGNOR}",
            f"partition.assignment.strategy must not be set with group.protocol=consumer.*; {REFUSES}",
        ),
        ("group.remote.assignor=uniform", f"group.remote.assignor needs group.protocol=consumer; {REFUSES}"),
        ("group.id=\nmax.poll.records=1", f"group.id must not be empty; {REFUSES}"),
        (
            "share.acquire.mode=record_limit",
            f"share.acquire.mode must not be set except for share consumers; {REFUSES}",
        ),
        ("group.instance.id=", "group.instance.id: must not be empty"),
        ("isolation.level=READ_COMMITTED", "isolation.level: 'READ_COMMITTED' must be one of read_uncommitted, read_"),
        ("auto.offset.reset=by_duration:1h", "auto.offset.reset: 'by_duration:1h' must be one of latest, earliest, "),
        (
            "spring.kafka.consumer.fetch-max-wait=P1Y",
            "fetch-max-wait: 'P1Y': must be a duration such as 500ms, 5s or PT",
        ),
        (
            "spring.kafka.consumer.fetch-max-wait=PT600H",
            "fetch-max-wait: fetch.max.wait.ms: 2160000000 must be at most",
        ),
        ("spring.kafka.consumer.max-poll-records=PT5S", "max.poll.records: 'PT5S' must be a whole number$"),
        ("spring.kafka.consumer.properties.fetch.max.wait.ms=PT5S", f"'PT5S' must be a whole number; {UNCONVERTED}"),
        ("spring.kafka.properties[fetch.max.wait.ms]=5s", f"'5s' must be a whole number; {UNCONVERTED}"),
        ("fetch.max.wait.ms=PT5S", "fetch.max.wait.ms: 'PT5S' must be a whole number$"),
        ("spring.kafka.consumer.fetch-max-wait=5 s", "fetch-max-wait: fetch.max.wait.ms: '5 s' must be a whole number"),
        ("spring.kafka.consumer.fetch-max-wait=5w", "fetch-max-wait: '5w': the unit must be one of ns, us, ms, s, m"),
        ("consumer.max.poll.records=5", "consumer.max.poll.records: has a prefix of Kafka Connect"),
        ("max.poll.records=${RECORDS}", "max.poll.records: .* is a placeholder"),
        ("fetch.wait.max.ms=1\nfetch.max.wait.ms=2", "are the same setting with two values, 1 and 2"),
        ("kafka: {consumer: {fetch-min-size: 1}}", "is YAML without spring.kafka.consumer"),
        ("[consumer]\na=1\n[producer]\nb=1", "is an INI file with several sections; keep only the consumer's"),
    ],
)
def test_settings_that_would_not_start_or_are_unknowable_are_refused(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        read_consumer_file(text)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("interceptor.classes=com.example.Audit", "the load generator cannot run your interceptors"),
        ("group.instance.id=a", "measured group members are dynamic, and two cannot share an ID"),
        (f"partition.assignment.strategy={OWN_ASSIGNOR},com.example.Mine", "an assignor decides which consumer reads"),
        ("value.deserializer=com.example.Json", r"a deserializer runs inside poll\(\)"),
    ],
)
def test_settings_no_load_generator_supports_are_refused_if_they_would_be_measured(line: str, rule: str) -> None:
    text = f"max.poll.records=5\n{line}\n"
    with pytest.raises(ValueError, match=f"{rule}.*; remove the line to measure without it"):
        read_consumer_file(text)
    unmeasured = read_client_file(text, "consumer", is_measured=False)
    assert (unmeasured.used, unmeasured.ignored) == ({"max.poll.records": 5}, {line.split("=", maxsplit=1)[0]: OWN})


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("enable.auto.commit=true\ngroup.id=g", []),
        (
            "enable.auto.commit=true",
            ["enable.auto.commit=true needs a group.id; otherwise Kafka's consumer does not start"],
        ),
        (
            "isolation.level=read_committed",
            ["isolation.level=read_committed: the measured topic contains no transactions"],
        ),
        (
            "fetch.wait.max.ms=1",
            ["defaults differ from Java's; set in the file: check.crcs (false), isolation.level (read_committed)"],
        ),
        (
            "spring.kafka.consumer.max-poll-records=5",
            ["defaults differ from Kafka's; set in the file: enable.auto.commit (false in listeners)"],
        ),
    ],
)
def test_assumptions_of_a_measurement_are_noted(text: str, notes: list[str]) -> None:
    found = read_consumer_file(text).report_lines()
    assert [line.removeprefix("note: ") for line in found if line.startswith("note")] == notes


def test_a_producers_file_names_the_consumers_settings_as_such() -> None:
    found = read_client_file("acks=1\nmax.poll.records=5\nfetch.wait.max.ms=1\n", "producer")
    assert found.used == {"acks": "1"}
    assert set(found.ignored.values()) == {"is a setting of the consumer"}
