"""Settings files of librdkafka, read for its own producer; those for Java's are in test_settings_forms."""

from __future__ import annotations

import pytest

from kafka_pareto.kafka.user_settings import read_client_file

pytestmark = pytest.mark.fast


def test_aliases_prefixes_and_words_become_one_name_and_value() -> None:
    found = read_client_file(
        "queue.buffering.max.ms=20\ntopic.request.required.acks=-1\ncompression.codec=LZ4\nenable.idempotence=1\n"
        "batch.num.messages=500\nmax.in.flight=5\n",
        "librdkafka",
    )
    assert found.used == {
        "acks": "all",
        "batch.num.messages": 500,
        "compression.type": "lz4",
        "enable.idempotence": True,
        "linger.ms": 20,
        "max.in.flight.requests.per.connection": 5,
    }
    assert found.form == "librdkafka"
    assert found.ignored == {}


def test_what_no_study_varies_is_ignored_and_javas_names_are_not_understood() -> None:
    found = read_client_file(
        "linger.ms=1\nmetadata.broker.list=a:9092\nsasl.username=u\nssl.ca.location=/ca\nlog_level=7\n"
        "statistics.interval.ms=1000\nsocket.keepalive.enable=true\nbuffer.memory=33554432\nfetch.min.bytes=1\n",
        "librdkafka",
    )
    assert found.used == {"linger.ms": 1}
    assert found.ignored.pop("buffer.memory") == "is not a tunable setting of librdkafka's producer"
    assert found.ignored.pop("fetch.min.bytes") == "is a setting of the consumer"
    assert set(found.ignored.values()) == {"depends on your client and is not measured"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("enable.idempotence=true\nacks=1\n", "acks=1 must be all with enable.idempotence=true"),
        ("enable.idempotence=true\nmax.in.flight=6\n", "max.in.flight=6 must be at most 5 with enable.idempotence"),
        ("enable.idempotence=true\nretries=0\n", "retries=0 must be above 0"),
        ("enable.idempotence=true\nqueue.buffering.backpressure.threshold=2\n", "threshold=2 must be 1 with enable"),
        ("linger.ms=9\nmessage.timeout.ms=9\n", r"message\.timeout\.ms=9 must be above linger\.ms \(9\)"),
        ("linger.ms=300000\n", r"linger\.ms=300000 must be below delivery\.timeout\.ms \(300000, the default\)"),
        ("queuing.strategy=lifo\nlinger.ms=1\n", "sends in order"),
        ("linger.ms=5\nqueue.buffering.max.ms=6\n", "are the same setting with two values, 5 and 6"),
        ("transactional.id=x\nlinger.ms=1\n", "transactions cannot be measured"),
        ("linger.ms=-1\n", "must be at least 0"),
    ],
)
def test_a_file_with_which_the_producer_does_not_start_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_client_file(text, "librdkafka")
