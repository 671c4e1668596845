"""Loads sent by librdkafka to a real broker: they arrive, are measured like Java's, and need the user's credentials."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import load_settings
from tests.system.broker_fixtures import RunningBrokers

pytestmark = pytest.mark.brokers

TIMED = TimedLoad(warmup_s=0.5, seconds=2.5, paced_warmup_s=0.5, paced_seconds=2.5, paced_rate_records_s=300.0)
PACED_ONLY = TIMED.model_copy(update={"warmup_s": 0.0, "seconds": 0.0})
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PASSWORD = "a-store's password"  # noqa: S105 (of a store made for the test)


def request_of(topic: str, timed: TimedLoad = PACED_ONLY, **properties: PropertyValue) -> LoadRequest:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return LoadRequest(
        topic, 1024, named, timeout_s=60, timed=timed, client="librdkafka", throughput_records_s=20_000.0
    )


@contextmanager
def topic_of(brokers: RunningBrokers, client_config: Path | None = None) -> Iterator[str]:
    name = f"librdkafka-{secrets.token_hex(4)}"
    with Cluster(brokers.bootstrap_servers, client_config, brokers.settings) as cluster:
        cluster.create_topic(name, 3, 1)
        yield name


@pytest.fixture(scope="module")
def warm(single_broker: RunningBrokers) -> Iterator[LoadGenerator]:
    with LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings, keeps_jvm=True) as tool:
        yield tool


@pytest.fixture
def topic(single_broker: RunningBrokers) -> Iterator[str]:
    with topic_of(single_broker) as name:
        yield name


def end_offset(brokers: RunningBrokers, topic: str) -> int:
    with Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster:
        return cluster.end_offset(topic)


def test_both_parts_are_sent_counted_and_measured(
    warm: LoadGenerator, single_broker: RunningBrokers, topic: str
) -> None:
    result = warm.run(request_of(topic, TIMED, linger_ms=20, compression_type="lz4"))

    assert result.errors == ""
    assert result.records_sent == result.records_attempted == end_offset(single_broker, topic) > 0
    figures, client, fast = result.figures, result.client, result.unthrottled_client
    assert figures is not None
    assert figures.paced_rate_records_s == pytest.approx(300, rel=0.1)
    assert 0 < figures.latency_p50_ms <= figures.latency_p95_ms
    assert client.queue_time_avg_ms is not None
    assert 5 < client.queue_time_avg_ms < 400, "milliseconds: at 300 records/s a batch waits for its linger"
    assert client.records_per_request_avg is not None
    assert 1 < client.records_per_request_avg < 10
    assert client.request_latency_avg_ms is not None
    assert 0 < client.request_latency_avg_ms < figures.latency_p95_ms
    assert fast is not None
    assert fast.records_per_request_avg is not None
    assert fast.records_per_request_avg > client.records_per_request_avg
    assert client.batch_size_avg_bytes is not None


def test_a_full_queue_makes_the_sender_wait_and_loses_nothing(warm: LoadGenerator, topic: str) -> None:
    request = replace(request_of(topic, TIMED, queue_buffering_max_messages=100), throughput_records_s=None)
    result = warm.run(request)

    assert result.records_sent == result.records_attempted > 0
    assert result.unthrottled_client is not None
    assert result.unthrottled_client.buffer_wait_s is not None
    assert result.unthrottled_client.buffer_wait_s > 0.1


def test_several_producers_share_the_rate(warm: LoadGenerator, topic: str) -> None:
    result = warm.run(replace(request_of(topic), producers=3))

    assert result.errors == ""
    assert result.records_sent == result.records_attempted > 0
    assert result.figures is not None
    assert result.figures.paced_rate_records_s == pytest.approx(300, rel=0.1)


def test_sampled_records_arrive_with_their_keys_values_and_headers(
    warm: LoadGenerator, single_broker: RunningBrokers, topic: str, tmp_path: Path
) -> None:
    lines = [
        {
            "key": "a",
            "value": "with headers",
            "headers": [{"name": "h", "value": "1"}, {"name": "empty", "value": None}],
        },
        {"key": "b", "value": "plain"},
        {"key": "c", "value": None},
        {"value": "no key", "headers": [{"name": "é", "value": "é"}]},
    ]
    sample = tmp_path / "sample.jsonl"
    sample.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = warm.run(replace(request_of(topic), payload_file=sample, is_sampled=True))

    assert result.records_sent == result.records_attempted > len(lines)
    arrived = set(read(single_broker, topic, result.records_sent))
    assert arrived == {
        (b"a", b"with headers", (("h", b"1"), ("empty", None))),
        (b"b", b"plain", ()),
        (b"c", None, ()),
        (None, b"no key", (("é", "é".encode()),)),
    }


def read(brokers: RunningBrokers, topic: str, records: int) -> Iterator[tuple[object, ...]]:
    consumer = Consumer({"bootstrap.servers": brokers.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    try:
        for _ in range(records):
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            yield message.key(), message.value(), tuple(message.headers() or ())
    finally:
        consumer.close()


def test_an_unknown_setting_is_named(warm: LoadGenerator, topic: str) -> None:
    with pytest.raises(LoadToolError, match=r"No such configuration property.*buffer\.memory"):
        warm.run(request_of(topic, buffer_memory=1 << 25))


def test_records_that_cannot_be_delivered_are_failures(single_broker: RunningBrokers, topic: str) -> None:
    with LoadGenerator("127.0.0.1:1", None, single_broker.settings) as nowhere:
        result = nowhere.run(request_of(topic, delivery_timeout_ms=1_500))
    assert result.figures is None
    assert result.records_sent == 0
    assert "_MSG_TIMED_OUT" in result.errors


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningBrokers, Path]]:
    """A broker that asks for a certificate and a password, and the `client.properties` of its user."""
    folder = tmp_path_factory.mktemp("tls")
    server, client = (key_store(folder, name) for name in ("server", "client"))
    trusted = trust_store(folder, "server", "client")
    stores = {
        "ssl.truststore.location": str(trusted),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    user = 'username="tuner" password="tuners-own; secret"'
    config = folder / "client.properties"
    ours = stores | {
        "ssl.keystore.location": str(client),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{LOGIN} {user};",
    }
    config.write_text("".join(f"{name}={value}\n" for name, value in ours.items()), "utf-8")
    secure = stores | {
        "ssl.keystore.location": str(server),
        "ssl.client.auth": "required",
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",  # the first is a mere name
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (f'{LOGIN} {user} user_tuner="tuners-own; secret";'),
    }
    with RunningBrokers(1, load_settings(), properties=secure, client_config=config) as brokers:
        yield brokers, config


def key_store(folder: Path, name: str) -> Path:
    store = folder / f"{name}.p12"
    keytool(
        *(
            "-genkeypair",
            "-alias",
            name,
            "-keyalg",
            "EC",
            "-dname",
            f"CN={name}",
            "-ext",
            "san=ip:127.0.0.1,dns:localhost",
        ),
        *("-storetype", "PKCS12", "-keystore", str(store)),
    )
    keytool("-exportcert", "-alias", name, "-keystore", str(store), "-file", str(folder / f"{name}.cer"))
    return store


def trust_store(folder: Path, *names: str) -> Path:
    store = folder / "trusted.jks"
    for name in names:
        keytool(
            *("-importcert", "-noprompt", "-alias", name, "-file", str(folder / f"{name}.cer")),
            *("-storetype", "JKS", "-keystore", str(store)),
        )
    return store


def keytool(*options: str) -> None:
    subprocess.run(
        ["keytool", *options, "-storepass", PASSWORD], check=True, capture_output=True, env=java_environment()
    )


def sent_with(brokers: RunningBrokers, config: Path, topic: str) -> LoadResult:
    with LoadGenerator(brokers.bootstrap_servers, config, brokers.settings) as tool:
        return tool.run(request_of(topic, delivery_timeout_ms=10_000))


def test_javas_stores_and_login_work_for_librdkafka_too(secured: tuple[RunningBrokers, Path]) -> None:
    brokers, config = secured
    with topic_of(brokers, config) as name:
        result = sent_with(brokers, config, name)
    assert result.errors == ""
    assert result.records_sent == result.records_attempted > 0


def test_a_wrong_password_is_refused_and_not_shown(secured: tuple[RunningBrokers, Path], tmp_path: Path) -> None:
    brokers, config = secured
    other = tmp_path / "client.properties"
    other.write_text(config.read_text("utf-8").replace('username="tuner" password="', 'username="tuner" password="Z9x'))
    with topic_of(brokers, config) as name:
        result = sent_with(brokers, other, name)
    assert result.records_sent == 0
    assert "SaslAuthenticationException" in result.errors
    assert result.wall_s < 10, "not only when the records time out"
    assert "Z9x" not in result.errors


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"sasl.mechanism": "OAUTHBEARER"}, "must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"ssl.truststore.location": "/nowhere.jks"}, "nowhere.jks"),
    ],
)
def test_what_librdkafka_cannot_use_is_named(
    lines: Mapping[str, str], said: str, secured: tuple[RunningBrokers, Path], tmp_path: Path
) -> None:
    brokers, config = secured
    other = tmp_path / "client.properties"
    given = dict(line.split("=", 1) for line in config.read_text("utf-8").splitlines()) | dict(lines)
    other.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    with pytest.raises(LoadToolError, match=said):
        sent_with(brokers, other, "any")
