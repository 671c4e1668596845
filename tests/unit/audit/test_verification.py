"""Judge producers by batches written out here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest

from kafka_pareto.audit.reading import Client, Producer, Sent, Topic
from kafka_pareto.audit.verification import Rollout, VerifiedProducer, use_at_time, verified
from kafka_pareto.audit.verification_text import verification_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_USE
from kafka_pareto.kafka.known_properties import PropertyValue
from tests.unit.audit.test_audit import sample, topic

pytestmark = pytest.mark.fast

Settings: TypeAlias = Mapping[str, PropertyValue]
NEW: Settings = {"linger.ms": 60, "compression.type": "zstd"}
OLD: Settings = {"linger.ms": 5}
# Records per batch that 800 records have with the new settings, and with the old ones.
EXPECTED, PREVIOUS = 20, 2


def producer(
    records_per_batch: float = EXPECTED, codecs: tuple[str, ...] = ("zstd",), id_: int | None = 7, last_ms: int = 4000
) -> Producer:
    return Producer(
        id=id_,
        epoch=None if id_ is None else 0,
        is_transactional=False,
        codecs=codecs,
        batches=round(800 / records_per_batch),
        records=800,
        bytes=200_000,
        last_ms=last_ms,
    )


def read_with(*producers: Producer, depths: tuple[int, ...] = (EXPECTED, PREVIOUS), fault: str = "") -> Topic:
    """The topic as read, whose replay has these records per batch with each of the settings."""
    found = sample(fault=fault)
    ids = [] if fault else [each.id for each in producers if each.id is not None]
    sent = [Sent(requests=1, batches_of_producers=tuple(800 // depth for _ in ids), batches=()) for depth in depths]
    replay = found.replay.model_copy(update={"producers": tuple(ids), "sent": (sent[0], *sent)})
    changed = {"producers": producers, "producer_count": len(producers), "replay": replay}
    return topic(found).read.model_copy(update={"sample": found.model_copy(update=changed)})


def judged(read: Topic, expected: Settings = NEW, previous: Settings | None = OLD, *unknown: str) -> VerifiedProducer:
    rollout = Rollout("new.properties", expected, previous, frozenset(unknown))
    (found,) = verified(read, "b:9092", rollout).producers
    return found


def test_a_producer_whose_batches_are_those_of_the_settings_uses_them() -> None:
    found = judged(read_with(producer()))
    assert (found.use, found.reasons, found.expected_records_per_batch) == ("in use", (), EXPECTED)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (producer(codecs=("none",)), "codec none instead of zstd"),
        (producer(codecs=("lz4", "zstd")), "codec lz4 instead of zstd"),
        (producer(PREVIOUS), "2.0 records per batch instead of 20.0, as with the previous settings"),
    ],
)
def test_another_codec_or_batches_of_the_previous_settings_contradict(sent: Producer, reason: str) -> None:
    found = judged(read_with(sent))
    assert (found.use, found.reasons) == ("not in use", (reason,))


@pytest.mark.parametrize(
    ("records_per_batch", "reason"),
    [
        (10, "10.0 records per batch instead of 20.0; the application may call flush() or wait for each record"),
        (40, "40.0 records per batch instead of 20.0; brokers may answer more slowly than linger.ms"),
    ],
)
def test_batches_that_neither_settings_would_send_are_inconclusive(records_per_batch: int, reason: str) -> None:
    found = judged(read_with(producer(records_per_batch)))
    assert (found.use, found.reasons) == ("inconclusive", (reason,))
    assert judged(read_with(producer(40), depths=(EXPECTED, 40))).use == "not in use"


def test_idempotence_is_compared_with_the_settings() -> None:
    without = judged(read_with(producer(id_=None), fault="producers without idempotence send no ID"))
    assert without.use == "not in use"
    assert without.reasons == ("not idempotent", "producers without idempotence send no ID")
    assert judged(read_with(producer()), {**NEW, "acks": "1"}).reasons == ("idempotent, unlike the settings",)


def test_a_setting_whose_default_depends_on_the_client_is_not_compared() -> None:
    read = read_with(producer(id_=None), fault="producers without idempotence send no ID")
    assert judged(read, NEW, OLD, "enable.idempotence").use == "inconclusive"
    why = "the settings do not state batch.size, whose default depends on the client"
    same_codec = {**OLD, "compression.type": "zstd"}
    (unset,) = verified(read_with(producer()), "b:9092", Rollout("new", NEW, same_codec, why_unpredicted=why)).producers
    assert (unset.use, unset.reasons) == ("inconclusive", (why,))


def test_another_codec_than_before_shows_the_new_settings_without_the_records_per_batch() -> None:
    rollout = Rollout("new", NEW, OLD, why_unpredicted="librdkafka fills batches by its own rules")
    (uses,) = verified(read_with(producer(PREVIOUS)), "b:9092", rollout).producers
    assert (uses.use, uses.reasons, uses.expected_records_per_batch) == ("in use", (), None)
    (late,) = verified(read_with(producer(codecs=("none",))), "b:9092", rollout).producers
    assert (late.use, late.reasons) == ("not in use", ("codec none instead of zstd",))


def test_a_codec_that_the_broker_chooses_is_not_compared_and_an_unknown_one_is_doubtful() -> None:
    read = read_with(producer(codecs=("gzip",)))
    assert judged(read.model_copy(update={"compression_type": "gzip"})).use == "in use"
    unknown = judged(read.model_copy(update={"compression_type": None}))
    assert (unknown.use, "DescribeConfigs" in unknown.reasons[0]) == ("inconclusive", True)


def test_batches_that_did_not_shrink_may_be_uncompressed() -> None:
    found = judged(read_with(producer(codecs=("none", "zstd"))))
    assert (found.use, found.reasons) == ("inconclusive", ("some batches are not compressed",))


@pytest.mark.parametrize(
    ("client", "compressed_bytes", "others", "use", "reason"),
    [
        ("librdkafka", 1000, (), "inconclusive", "batches are not compressed; librdkafka does not "),
        ("librdkafka", 250, (), "not in use", "codec none instead of zstd"),
        ("librdkafka", 250, (producer(id_=8),), "inconclusive", "batches are not compressed; librdkafka does not "),
        ("java", 1000, (), "not in use", "codec none instead of zstd"),
    ],
)
def test_only_librdkafka_sends_what_does_not_shrink_uncompressed(
    client: Client, compressed_bytes: int, others: tuple[Producer, ...], use: str, reason: str
) -> None:
    read = read_with(producer(codecs=("none",)), *others)
    assert read.sample is not None
    trials = tuple(each.model_copy(update={"bytes": compressed_bytes}) for each in read.sample.trials)
    read = read.model_copy(update={"sample": read.sample.model_copy(update={"trials": trials})})
    found = verified(read, "b:9092", Rollout("new.properties", NEW, OLD, client=client)).producers[0]
    assert (found.id, found.use, len(found.reasons)) == (7, use, 1)
    assert found.reasons[0].startswith(reason)


def test_settings_that_send_the_same_batches_are_inconclusive() -> None:
    read = read_with(producer(codecs=("none",)), depths=(EXPECTED, 19))
    found = judged(read, {"linger.ms": 60})
    assert found.use == "inconclusive"
    assert found.reasons == ("at this rate the previous settings would send the same batches",)
    assert judged(read_with(producer(), depths=(EXPECTED, 19))).use == "in use", "the codec differs"


@pytest.mark.parametrize("read", [read_with(producer(100)), read_with(producer(), fault="records have no time")])
def test_few_batches_or_records_without_times_leave_codec_and_idempotence(read: Topic) -> None:
    found = judged(read)
    assert (found.use, found.expected_records_per_batch) == ("inconclusive", None)


def test_the_worst_producer_comes_first_and_one_that_stopped_is_not_judged() -> None:
    read = read_with(
        producer(), producer(40, id_=8), producer(codecs=("none",), id_=9), producer(codecs=("gzip",), id_=5)
    )
    assert read.sample is not None
    silent = [each.model_copy(update={"last_ms": 4000 - 60_000 * (each.id == 5)}) for each in read.sample.producers]
    read = read.model_copy(update={"sample": read.sample.model_copy(update={"producers": tuple(silent)})})
    found = verified(read, "b:9092", Rollout("new.properties", NEW, OLD))
    assert [(each.id, each.use) for each in found.producers] == [
        (9, "not in use"),
        (8, "inconclusive"),
        (7, "in use"),
        (5, "stopped"),
    ]
    assert (found.use, EXIT_OF_USE[found.use]) == ("not in use", 1)
    lines = verification_text(found).splitlines()
    assert lines[0] == "Topic orders on b:9092: the last 800 records, over 4.0 s"
    assert lines[4].split()[:5] == ["9", "not", "in", "use", "800"]
    assert "at the end    codec none instead of zstd" in lines[4]
    assert "60 s earlier" in lines[7]
    assert lines[-1] == "Producers: 1 not in use, 1 inconclusive, 1 in use, 1 stopped"


def test_the_history_names_each_change_and_when_it_came() -> None:
    rollout = Rollout("new.properties", NEW, OLD)
    moments = [
        producer(last_ms=4_000),
        producer(PREVIOUS, codecs=("none",), last_ms=3_604_000),
        producer(PREVIOUS, codecs=("none",), last_ms=7_204_000),
    ]
    history = []
    for sent in moments:
        read = read_with(sent)
        assert read.sample is not None
        later = read.sample.model_copy(update={"last_ms": sent.last_ms, "codecs": {sent.codecs[0]: 1}})
        history.append(use_at_time(read, later, rollout))
    found = verified(read_with(moments[-1]), "b:9092", rollout).model_copy(update={"history": tuple(history)})

    assert [(each.use, each.records_per_batch) for each in history] == [
        ("in use", EXPECTED),
        ("not in use", PREVIOUS),
        ("not in use", PREVIOUS),
    ]
    text = verification_text(found)
    between = "between 1970-01-01 00:00:04 and 1970-01-01 01:00:04"
    assert f"\nCodec changed from zstd to none {between}\nUse of the settings changed from in use to" in text
    assert f" to not in use {between}\n\nProducers: " in text
    assert "1970-01-01 02:00:04  not in use  1 not in use" in text
    assert "\nNo changes\n" in verification_text(found.model_copy(update={"history": tuple(history[1:])}))
    assert "\nOnly one period has" in verification_text(found.model_copy(update={"history": tuple(history[2:])}))


def test_with_more_producers_than_judged_nobody_can_be_sure() -> None:
    read = read_with(producer())
    assert read.sample is not None
    read = read.model_copy(update={"sample": read.sample.model_copy(update={"producer_count": 101})})
    found = verified(read, "b:9092", Rollout("new.properties", NEW, OLD))
    assert found.use == "inconclusive"
    assert verification_text(found).endswith("1 in use; 100 more producers not judged")


def test_a_topic_without_records_is_named() -> None:
    read = read_with(producer()).model_copy(update={"sample": None})
    with pytest.raises(BadInputError, match="topic orders: has no records"):
        verified(read, "b:9092", Rollout("new.properties", NEW))
