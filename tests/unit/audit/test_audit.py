"""Check what an audit computes and says, on batches written out here."""

from __future__ import annotations

import pytest

from kafka_pareto.audit.audit import settings_in
from kafka_pareto.audit.estimates import Prices, month_cost_of_daily_byte, predicted, stored_ratio
from kafka_pareto.audit.reading import Producer, Quantiles, Replay, Sample, Sent, SentBatch, Sizes, Topic, Trial, Unread
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from kafka_pareto.audit.text import audit_text, bytes_text, topic_rows
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import PropertyValue

pytestmark = pytest.mark.fast

DAY_RECORDS = 1_000_000
WHAT_IF: list[dict[str, PropertyValue]] = [{"linger.ms": 60}]


def batches(count: int, size: int, records: int = 2) -> tuple[SentBatch, ...]:
    """Return equal batches, one a millisecond."""
    return tuple(SentBatch(last_ms=place, records=records, bytes=size) for place in range(count))


def sample(stored: int = 400, again: int = 400, day: int | None = DAY_RECORDS, fault: str = "") -> Sample:
    """Return a sample of 800 records in this many batches of 500 B; other settings need half the bytes."""
    sizes = Quantiles(p50=100, p95=120, largest=130)
    replay = Replay(
        fault=fault,
        settings={"batch.size": 16384, "linger.ms": 5, "compression.type": "none"},
        producers=(7,),
        stored=batches(stored, 500),
        sent=(
            Sent(
                requests=again,
                batches_of_producers=(again,),
                batches=batches(again, 200_000 // again, 800 // again),
            ),
            Sent(requests=50, batches_of_producers=(100,), batches=batches(100, 1000, 8)),
        ),
    )
    producer = Producer(
        id=7, epoch=0, is_transactional=True, codecs=("none",), batches=stored, records=800, bytes=200_000, last_ms=4000
    )
    return Sample(
        records=800,
        batches=stored,
        stored_bytes=500 * stored,
        payload_bytes=90_000,
        keyed=200,
        first_ms=0,
        last_ms=4000,
        late=8,
        late_by_ms=1500,
        records_day=day,
        sizes=Sizes(
            key_bytes=sizes,
            value_bytes=sizes,
            header_bytes=Quantiles(p50=0, p95=0, largest=0),
            batch_bytes=sizes,
            batch_records=sizes,
        ),
        codecs={"none": stored},
        records_of_partition={0: 800},
        producer_count=1,
        producers=(producer,),
        trials=(Trial(codec="zstd", batch_bytes=0, uncompressed_bytes=1000, bytes=250, cpu_ns_per_byte=4.0),),
        replay=replay,
    )


def topic(found: Sample | None, name: str = "orders") -> AuditedTopic:
    read = Topic(
        topic=name,
        partitions=2,
        replicas=3,
        compression_type="producer",
        timestamp_type="CreateTime",
        min_insync_replicas=1,
        retention_ms=604_800_000,
        read_bytes=200_000,
        is_cut=False,
        sample=found,
    )
    return AuditedTopic(read=read, prediction=predicted(found, WHAT_IF) if found else None)


def test_settings_and_their_values_give_all_combinations() -> None:
    assert settings_in("linger.ms=5,60 compression.type=lz4,zstd") == [
        {"linger.ms": linger, "compression.type": codec} for linger in (5, 60) for codec in ("lz4", "zstd")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linger.ms", "'linger.ms': must be a setting and its values, like linger.ms=5,60"),
        ("acks=1", "acks: must be one of linger.ms, batch.size, compression.type, "),
        ("linger.ms=soon", "linger.ms: 'soon' must be a whole number"),
        ("linger.ms=-1", "linger.ms: -1 must be at least 0"),
        ("batch.size=0", "batch.size: 0 must be 1 to 67108864"),
        ("linger.ms=5 linger.ms=6", "linger.ms: must not repeat; give its values with commas between them"),
        (" ", "' ': must be 1 to 50 combinations of settings"),
        ("compression.type=rar", "compression.type: 'rar' must be one of none, gzip, snappy, lz4, zstd"),
    ],
)
def test_other_settings_and_values_are_refused_by_rule(text: str, message: str) -> None:
    with pytest.raises(BadInputError, match=f"^what-if: {message}"):
        settings_in(text)


def test_a_ratio_that_is_the_same_all_the_time_is_exact_and_one_that_is_not_has_an_interval() -> None:
    steady = stored_ratio(batches(400, 500), batches(400, 250))
    assert [steady.value, steady.low, steady.high] == pytest.approx([0.5, 0.5, 0.5])

    changing = stored_ratio(batches(400, 500), (*batches(400, 250)[:200], *batches(400, 500)[200:]))
    assert changing.value == 0.75
    assert changing.low is not None
    assert changing.high is not None
    # 20 parts, half at 0.5 and half at 1: the standard error of the mean ratio is 0.0574, Student's factor 2.09.
    assert changing.high - changing.low == pytest.approx(2 * 2.09 * 0.0574, rel=0.1)


def test_two_batches_have_no_interval() -> None:
    assert stored_ratio(batches(1, 500), batches(1, 100)).low is None


def test_a_point_states_bytes_batches_requests_and_what_a_day_saves() -> None:
    (point,) = predicted(sample(), WHAT_IF).points

    assert point.settings == {"linger.ms": 60}
    assert point.bytes_per_record == 125
    assert point.records_per_batch == 8
    assert point.requests_per_record == 50 / 800
    assert point.saved_bytes_day is not None
    assert point.saved_bytes_day.value == 125 * DAY_RECORDS
    (unknown,) = predicted(sample(day=None), WHAT_IF).points
    assert unknown.saved_bytes_day is None


def test_nothing_is_predicted_if_no_settings_explain_the_batches_or_the_batches_do_not_tell() -> None:
    unexplained = predicted(sample(again=1600), WHAT_IF)
    assert "(the closest: +0 % bytes, -75 % records per batch)" in unexplained.fault
    assert unexplained.points == ()
    untold = predicted(sample(fault="records have no time"), WHAT_IF)
    assert (untold.fault, untold.points) == ("records have no time", ())


def test_the_text_names_each_number_with_its_unit() -> None:
    report = AuditReport(
        at="2026-11-29T12:00:00+00:00",
        kafka="a:9092",
        seconds=1.25,
        topics=(topic(sample()), topic(None, "empty")),
        unread=(Unread(topic="secret", error="TopicAuthorizationException: Not authorized"),),
    )
    text = audit_text(report)

    assert text.splitlines()[0] == "Audited: a:9092, 2 topics; 400 kB read in 1.2 s, nothing written to the cluster"
    assert "orders: 2 partitions, 3 replicas each" in text
    assert "1,000,000 in the last 24 hours; sample: the latest 800, spanning 4.0 s, 200/s, 25 % with a key" in " ".join(
        text.split()
    )
    assert "1 idempotent, 1 of them transactional" in text
    assert (
        "the fullest partition has 2.0 times the average; 1.0 % of the records are older than one before"
        in " ".join(text.split())
    )
    assert "as stored 0.25 (4.0)" in " ".join(text.split())
    assert "      8.0      125.0    0.50   (0.50-0.50)         375 MB  linger.ms=60" in text
    assert "records      none" in text
    assert "not read     TopicAuthorizationException: Not authorized" in text


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (0, "none in the last 24 hours; sample: the latest 800"),
        (None, "number in the last 24 hours unknown (some are already deleted); sample: the latest 800"),
    ],
)
def test_without_a_number_of_the_last_day_the_text_says_so(day: int | None, said: str) -> None:
    rows = dict(topic_rows(topic(sample(day=day))))
    assert rows["records"].startswith(said)


def test_a_saved_byte_a_day_costs_its_storage_and_its_way_between_zones() -> None:
    read = topic(sample()).read  # three replicas, kept for seven days

    assert month_cost_of_daily_byte(read, Prices(stored_gib_month=0.1)) == pytest.approx(7 * 3 * 0.1 / 2**30)
    between = month_cost_of_daily_byte(read, Prices(between_zones_gib=0.02))
    assert between == pytest.approx(30.4 * (2 + 2 / 3) * 0.02 / 2**30)
    forever = read.model_copy(update={"retention_ms": -1})
    assert month_cost_of_daily_byte(forever, Prices(stored_gib_month=0.1)) is None
    assert month_cost_of_daily_byte(forever, Prices(between_zones_gib=0.02)) == between


def test_with_prices_the_text_says_what_a_month_saves() -> None:
    priced = topic(sample()).model_copy(update={"month_cost_of_daily_byte": 1e-7})
    unpriced = priced.model_copy(update={"month_cost_of_daily_byte": None})
    prices = Prices(stored_gib_month=0.1)
    report = AuditReport(at="", kafka="a:9092", seconds=1.0, topics=(priced, unpriced), unread=(), prices=prices)

    assert "saved a day,     saved" in audit_text(report)
    assert "375 MB     12.50  linger.ms=60" in audit_text(report)
    assert "375 MB   unknown  linger.ms=60" in audit_text(report)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (123_456, "123 kB"), (-2.5e9, "-2.5 GB")]
)
def test_sizes_have_three_digits(value: float, text: str) -> None:
    assert bytes_text(value) == text
