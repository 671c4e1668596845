"""A user's own producer settings are understood or refused, never half-read."""

from __future__ import annotations

import pytest

from kafka_pareto.kafka.user_settings import ClientFile, read_producer_file
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast

FILES = FIXTURES / "user_settings"
REMOVED = "is not a tunable setting of Kafka's producer"


def read(name: str) -> ClientFile:
    return read_producer_file((FILES / name).read_text(encoding="utf-8"))


def test_spring_boots_yaml_is_read_with_its_own_names_and_kafkas_below_properties():
    found = read("spring.yaml")
    assert (found.form, found.ignored) == ("Spring Boot", {})
    assert found.used == {"acks": "all", "batch.size": 32768, "linger.ms": 10}


def test_names_that_kafka_removed_are_excluded_by_name_and_the_others_are_used():
    found = read("deprecated.properties")
    assert found.used == {"retries": 3}
    assert found.ignored.keys() == {"block.on.buffer.full", "metadata.fetch.timeout.ms", "timeout.ms"}
    assert all(reason.startswith(REMOVED) for reason in found.ignored.values())
    assert f"ignored block.on.buffer.full: {REMOVED}" in found.report_lines()


def test_a_byte_order_mark_is_not_part_of_the_first_name():
    assert read("bom.properties").used == {"acks": "all", "linger.ms": 5}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (
            "librdkafka.properties",
            "linger.ms and queue.buffering.max.ms are the same setting with two values, 5 and 10",
        ),
        (
            "conflict.properties",
            "acks=1 must be all with enable.idempotence=true; otherwise Kafka's producer does not start",
        ),
        ("classes.properties", "interceptor.classes: the load generator cannot run your interceptors; remove the line"),
        (
            "placeholder.properties",
            r"linger.ms: '\$\{LINGER:10\}' is a placeholder of Spring or a template",
        ),
    ],
)
def test_files_that_would_mean_something_else_are_refused_by_name_and_rule(name: str, rule: str):
    with pytest.raises(ValueError, match=rule):
        read(name)


def test_librdkafkas_names_are_javas_where_there_is_one_and_named_where_there_is_none():
    found = read_producer_file(
        "request.required.acks=-1\nqueue.buffering.max.ms=10\nqueue.buffering.max.kbytes=65536\nmax.in.flight=5\n"
        "compression.codec=lz4\nmessage.timeout.ms=60000\nbatch.num.messages=500\nbootstrap.servers=a:9092\n"
    )
    assert found.form == "librdkafka"
    assert found.used == {
        "acks": "all",
        "linger.ms": 10,
        "buffer.memory": 65536 * 1024,
        "max.in.flight.requests.per.connection": 5,
        "compression.type": "lz4",
        "delivery.timeout.ms": 60000,
    }
    assert found.ignored["batch.num.messages"] == "has no equivalent in the measured Java client"
    assert found.report_lines()[-1] == (
        "note: defaults differ from Java's; set in the file: batch.size (1000000), enable.idempotence (false)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "spring.kafka.producer.batch-size=32KB\nspring.kafka.producer.properties.linger.ms=10\nserver.port=80\n",
        "spring.kafka.producer.batchSize=32768\nspring.kafka.properties[linger.ms]=10\nserver.port=80\n",
        "server: {port: 80}\nspring:\n  kafka:\n    properties: {linger.ms: 3}\n    producer:\n"
        "      batch_size: 32 KB\n      properties: {linger: {ms: 10}}\n",
    ],
)
def test_spring_settings_bind_in_every_spelling_and_those_of_the_producer_go_first(text: str):
    found = read_producer_file(text)
    assert found.used == {"batch.size": 32768, "linger.ms": 10}
    assert found.ignored == {"server.port": "is not under spring.kafka"}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("spring.kafka.producer.transaction-id-prefix=tx", "transaction-id-prefix: transactions cannot be measured"),
        ("partitioner.class=com.example.P\nacks=1", "partitioner.class: a partitioner decides"),
        ("partitioner=murmur2_random\nacks=1", "partitioner: a partitioner decides"),
        ("retries=0\nenable.idempotence=TRUE", "retries=0 must be above 0 with enable.idempotence=true"),
        ("max.in.flight=9\nenable.idempotence=true", "=9 must be at most 5 with enable.idempotence=true"),
        (
            "delivery.timeout.ms=20000",
            r"delivery.timeout.ms=20000 must be at least linger.ms \+ request.timeout.ms \(5 \+ 30000\)",
        ),
        ("spring.kafka.producer.batch-size=big", "batch-size: batch.size: 'big' must be a whole number"),
        ("kafka:\n  producer:\n    acks: all\n", "is YAML without spring.kafka.producer"),
        ("spring: {kafka: {producer: {acks: all}}}\n---\nspring: {kafka: {producer: {acks: 0}}}\n", "several YAML"),
        ("linger.ms={{ linger }}", "is a placeholder"),
        ("transactional.id=\nacks=all", "transactional.id: must not be empty; remove the line"),
        ("partitioner.class=\nacks=all", "partitioner.class: must not be empty; remove the line"),
        ("linger.ms=5\u00a0\nacks=all", r"linger.ms: '5\\xa0' must be a whole number"),  # String.trim() leaves it
        ("compression.gzip.level=0", "compression.gzip.level: 0 must be -1 \\(the default\\) or 1 to 9"),
        ("max.block.ms=9223372036854775808", "must be at most 9223372036854775807"),
        ("connections.max.idle.ms=-9223372036854775809", "must be at least -9223372036854775808"),
        ("buffer.memory=16383", "buffer.memory=16383 must be at least batch.size=16384"),
        ("producer.linger.ms=9\nrequest.timeout.ms=1", "producer.linger.ms: has a prefix of Kafka Connect, "),
        ("producer.override.acks=1\nacks=all", "producer.override.acks: has a prefix of Kafka Connect, "),
        ("us.producer.acks=1\nacks=all", "us.producer.acks: has a prefix of Kafka Connect, MirrorMaker or"),
        ("us->eu.producer.acks=1\nacks=all", "us->eu.producer.acks: has a prefix of Kafka Connect, MirrorM"),
        ("batch.size=@batch@", "is a placeholder"),
    ],
)
def test_settings_that_would_not_start_or_are_unknowable_are_refused(text: str, rule: str):
    with pytest.raises(ValueError, match=rule):
        read_producer_file(text)


def test_addresses_logins_and_serializers_are_the_clients_own_and_a_misspelt_name_is_named():
    found = read_producer_file(
        "bootstrap.servers=a:9092\nclient.id=shop\nkey.serializer=S\nsecurity.protocol=SSL\ninterceptor.classes=\n"
        "linger.mss=5\nschema.registry.url=http://r\nacks=1\n"
    )
    assert found.used == {"acks": "1"}
    own = {name for name, reason in found.ignored.items() if reason == "depends on your client and is not measured"}
    assert own == {"bootstrap.servers", "client.id", "key.serializer", "security.protocol"}
    assert found.ignored["interceptor.classes"] == "is empty"
    assert found.ignored["linger.mss"] == f"{REMOVED}; did you mean linger.ms?"
    assert found.ignored["schema.registry.url"].startswith(REMOVED)


def test_idempotence_by_default_gives_way_to_acks_as_in_kafka():
    assert read_producer_file("acks=1\n").used == {"acks": "1"}
    assert read_producer_file("linger.ms=20000\n").used == {"linger.ms": 20000}


def test_the_longest_times_are_those_of_kafkas_types():
    text = "max.block.ms=9223372036854775807\nlinger.ms=99999999999\ndelivery.timeout.ms=2147483647\n"
    assert read_producer_file(text).used == {
        "max.block.ms": 9223372036854775807,
        "linger.ms": 99999999999,  # the producer waits at most 2147483647 ms, which the timeout allows
        "delivery.timeout.ms": 2147483647,
    }


def test_more_requests_in_flight_than_idempotence_allows_are_read_as_before_kafka_4_and_noted():
    text = "max.in.flight.requests.per.connection=6\n"
    found = read_producer_file(text)
    assert found.used == {"max.in.flight.requests.per.connection": 6}
    assert found.report_lines()[-1].startswith(
        "note: max.in.flight.requests.per.connection=6 is measured without idempotence"
    )
    assert not any(line.startswith("note") for line in read_producer_file("linger.ms=1\n").report_lines())
    stated = read_producer_file(f"{text}enable.idempotence=false\n")
    assert not any(line.startswith("note") for line in stated.report_lines())


@pytest.mark.parametrize(
    "line",
    ['"hunter2";', "---", "// acks=all", "foo\x1b[31mbar=1", "a\0c\0k\0s\0=1"],
)
def test_a_line_without_a_name_is_refused_and_not_shown(line: str):
    with pytest.raises(ValueError, match="has a line that is not name=value") as refused:
        read_producer_file(f"acks=all\n{line}\n")
    assert line[:4] not in str(refused.value)


def test_a_trailing_backslash_is_not_a_setting():
    found = read_producer_file("acks=1\n\\")
    assert (found.used, found.ignored) == ({"acks": "1"}, {})


def test_separators_continuations_escapes_and_line_ends_are_javas():
    found = read_producer_file(
        "! note\r\nacks = 1\r\nlinger.ms : 7\r\nbatch.size 1000\r\ncompression.type=\\\r\n   lz4\r\n"
        "ret\\u0072ies=3\r\nmax.block.ms=1\rmax.block.ms=2\r\n"
    )
    assert found.used == {
        "acks": "1",
        "linger.ms": 7,
        "batch.size": 1000,
        "compression.type": "lz4",
        "retries": 3,
        "max.block.ms": 2,
    }


@pytest.mark.parametrize(
    "text",
    [
        'acks=all \\\nsasl.jaas.config=x required password="hidden";\n',
        "acks=all \\\nsasl.password: hidden\n",
        f"acks={'hidden' * 20}\n",
        'spring:\n  kafka:\n    producer:\n      acks: "all password=hidden"\n',
    ],
)
def test_a_value_that_may_hold_further_lines_is_refused_and_not_shown(text: str):
    with pytest.raises(ValueError, match=r"acks: must be one word or number .* a backslash at the end") as refused:
        read_producer_file(text)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("value", ["10 # ms", "5 ms", "32KB", "'5'"])
def test_a_short_malformed_value_is_shown(value: str):
    with pytest.raises(ValueError, match=f"linger.ms: .{value}.* must be a whole number"):
        read_producer_file(f"linger.ms={value}\n")
