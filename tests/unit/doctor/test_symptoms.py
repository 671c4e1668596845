"""The guide's symptoms in measurements, each measurement with one cause, or two that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import get_args

import pytest

from kafka_pareto.doctor.diagnosis import Cause, cause_text, diagnoses, diagnosis_text
from kafka_pareto.doctor.symptoms import MEASUREMENTS, CauseCode, SymptomCode
from kafka_pareto.kafka.known_properties import DEFAULTS

pytestmark = pytest.mark.fast

CONSUMER = {"fetch.min.bytes": 1, "fetch.max.wait.ms": 500, "max.poll.records": 500, "consumers": 2, "partitions": 6}
CALM: dict[str, Sequence[float | str | None]] = {
    "limited_by": ["", "", ""],
    "paced_rate_records_s": [5_000, 5_000, 5_000],
    "throughput_mib_s": [10, 11, 9],
    "throughput_records_s": [10_000, 11_000, 9_000],
    "latency_p99_ms": [12, 14, 11],
    "buffer_wait_fraction": [0.0, 0.0, 0.0],
    "buffer_exhausted_records": [0, 0, 0],
    "batch_size_avg_bytes": [9_000, 9_100, 9_200],
    "queue_time_avg_ms": [4, 5, 6],
    "request_latency_avg_ms": [3, 3, 3],
}
AT_ONCE = {"queue_time_avg_ms": [1]}
LZ4: Mapping[str, str | int] = {"compression.type": "lz4"}
WAITED = "throughput_plateau, buffer_full"
BEHIND = "growing_lag, high_latency"


def found(settings: Mapping[str, str | int], **measured: Sequence[float | str | None]) -> dict[str, list[str]]:
    """Return the causes of each measurement by its symptoms."""
    return {
        ", ".join(symptom.code for symptom in each.symptoms): [cause.code for cause in each.causes]
        for each in diagnoses({**CALM, **measured}, {**DEFAULTS, **CONSUMER, **settings})
    }


def test_a_calm_load_shows_no_symptom() -> None:
    assert found({}) == {}


def test_nothing_measured_shows_nothing() -> None:
    assert diagnoses({}, {}) == []
    assert diagnoses({"latency_p99_ms": [None, None]}, dict(DEFAULTS)) == []


@pytest.mark.parametrize(
    ("settings", "batch_bytes", "measured", "causes"),
    [
        (LZ4, 16_000, {}, ["batches_are_full"]),
        # The batches of the part that is sent as fast as it goes count.
        (LZ4, 2_000, {"unthrottled_batch_size_avg_bytes": [16_000]}, ["batches_are_full"]),
        # Before a busy cluster, batches are too small or too many.
        (LZ4, 16_000, {"limited_by": ["cpu"]}, ["batches_are_full", "sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["request_handlers"]}, ["batches_are_full", "sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["network_threads"]}, ["batches_are_full", "sent_too_fast"]),
        # Larger batches carry no more if each byte has to wait.
        (LZ4, 16_000, {"limited_by": ["network"]}, ["sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["disk"]}, ["sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["throttled"]}, ["sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["cpu"], "link_wait_fraction": [0.7]}, ["sent_too_fast"]),
        (LZ4, 16_000, {"limited_by": ["gc"]}, ["sent_too_fast"]),
        # A codec helps only if each byte has to wait.
        ({}, 16_000, {"limited_by": ["network"]}, ["uncompressed", "sent_too_fast"]),
        ({}, 16_000, {"limited_by": ["gc"]}, ["sent_too_fast"]),
        # Batches as large as the guide's are not made larger.
        ({**LZ4, "batch.size": 1 << 20}, 1_000_000, {}, []),
        ({"linger.ms": 0}, 4_000, {}, ["no_linger"]),
        # Half-empty batches that fill a small buffer may want either.
        (
            {"linger.ms": 0},
            4_000,
            {"throughput_mib_s": [200], "limited_by": ["buffer_memory"]},
            ["no_linger", "buffer_is_small"],
        ),
    ],
)
def test_a_plateau_is_traced_to_the_senders_wait(
    settings: Mapping[str, str | int],
    batch_bytes: int,
    measured: Mapping[str, Sequence[float | str]],
    causes: list[str],
) -> None:
    plateau = {"buffer_wait_fraction": [0.6, 0.5, 0.7], "batch_size_avg_bytes": [batch_bytes]}
    assert found(settings, **plateau, **measured) == {WAITED: causes}


def test_a_sender_that_does_not_wait_has_no_plateau() -> None:
    assert found({}, batch_size_avg_bytes=[16_384]) == {}


def test_a_wait_reported_only_by_kafkas_own_tool_counts() -> None:
    measured = {**CALM, "buffer_wait_s": [5.0], "records_sent": [100_000]}  # 10 s at 10,000 records/s
    del measured["buffer_wait_fraction"]
    (waited,) = diagnoses(measured, dict(DEFAULTS))
    assert [symptom.code for symptom in waited.symptoms] == ["throughput_plateau", "buffer_full"]


@pytest.mark.parametrize(
    ("settings", "measured", "causes"),
    [
        ({"linger.ms": 100}, {"queue_time_avg_ms": [80]}, ["linger_is_long"]),
        ({"linger.ms": 100}, {"queue_time_avg_ms": [150]}, ["linger_is_long", "backlog"]),
        ({"linger.ms": 5}, {"queue_time_avg_ms": [900]}, ["backlog"]),
        ({"linger.ms": 0}, {"queue_time_avg_ms": [900]}, ["backlog"]),
        ({"fetch.min.bytes": 1 << 20}, {"live_fetch_latency_avg_ms": [60]}, ["fetch_waits"]),
        ({}, {"gc_pause_longest_ms": [150, 20, 140]}, ["gc_pauses"]),
        ({}, {"gc_pause_longest_ms": [150], "queue_time_avg_ms": [900]}, ["gc_pauses"]),  # records queue in a pause
        # A wait that is short beside the latency is not its cause.
        ({}, {"latency_p99_ms": [900], "gc_pause_longest_ms": [120], **AT_ONCE}, []),
        ({"fetch.min.bytes": 1 << 20}, {"latency_p99_ms": [900], "live_fetch_latency_avg_ms": [40], **AT_ONCE}, []),
        ({"linger.ms": 5}, {"latency_p99_ms": [538], "queue_time_avg_ms": [5]}, []),
        ({"linger.ms": 100}, {"latency_p99_ms": [120], "queue_time_avg_ms": [20]}, []),  # batches fill before
        # Pauses at full speed do not explain the latency at the fixed rate.
        ({}, {"gc_pause_longest_ms": [150], "later_gc_pause_longest_ms": [12], **AT_ONCE}, []),
    ],
)
def test_a_high_latency_is_traced_to_the_records_wait(
    settings: Mapping[str, str | int], measured: Mapping[str, Sequence[float]], causes: list[str]
) -> None:
    assert found(settings, **{"latency_p99_ms": [90, 100, 95], **measured}) == {"high_latency": causes}


def test_a_live_groups_waits_explain_its_latency_and_lag_but_not_reading_a_full_topic():
    # The kept campaign impact_consumer: fetches took 264 ms while the topic was read, and its median p99 was 538 ms.
    settings: Mapping[str, str | int] = {"fetch.min.bytes": 1 << 20, "consumers": 6}
    reading = {"fetch_latency_avg_ms": [480], "poll_idle_fraction": [0.02], "records_per_fetch_avg": [900]}
    following = {f"live_{name}": values for name, values in reading.items()}
    seen = {"latency_p99_ms": [538], "lag_slope_records_s": [500], "live_rate_records_s": [10_000], **AT_ONCE}
    assert found(settings, **seen, **reading) == {BEHIND: []}
    assert found(settings, **seen, **following) == {BEHIND: ["polls_are_full", "too_few_partitions"]}
    no_lag = {**seen, "lag_slope_records_s": [0]}
    assert found(settings, **no_lag, **following) == {"high_latency": ["fetch_waits"]}


def test_full_polls_of_a_consumer_waiting_for_records_are_a_sign_of_lag_not_its_cause() -> None:
    lag = {
        "lag_slope_records_s": [500],
        **AT_ONCE,
        "live_rate_records_s": [10_000],
        "live_records_per_fetch_avg": [900],
    }
    assert found({}, **lag, live_poll_idle_fraction=[0.6]) == {"growing_lag": []}


def test_a_consumers_end_to_end_latency_counts_where_no_producers_is_there() -> None:
    (alone,) = diagnoses({"end_to_end_latency_p99_ms": [90]}, CONSUMER)
    assert [(symptom.code, symptom.numbers) for symptom in alone.symptoms] == [("high_latency", {"p99_ms": 90})]
    assert diagnosis_text(alone) == "High latency: p99 90 ms. No cause from the guide matches."


def test_the_latency_of_a_load_as_fast_as_it_goes_is_its_queue_and_no_symptom() -> None:
    assert found({}, latency_p99_ms=[1_500], queue_time_avg_ms=[900], paced_rate_records_s=[None]) == {}


def test_a_single_bad_repetition_is_not_a_symptom() -> None:
    assert found({}, latency_p99_ms=[12, 500, 11]) == {}


def test_a_small_full_buffer_needs_memory_and_then_loses_no_records() -> None:
    full = {"buffer_wait_fraction": [0.1], "buffer_exhausted_records": [3]}
    assert found({}, **full, throughput_mib_s=[200]) == {"buffer_full": ["buffer_is_small"]}
    assert found({}, **full, throughput_mib_s=[3]) == {"buffer_full": ["max_block_reached"]}


def test_a_buffer_is_never_to_be_both_larger_and_smaller() -> None:
    # One measurement advised both: a full buffer that holds little, and records that queue at the fixed rate.
    full = {"buffer_wait_fraction": [0.5], "throughput_mib_s": [200]}
    queued = {"latency_p99_ms": [95], "queue_time_avg_ms": [900]}
    assert found(LZ4, **full, **queued) == {WAITED: [], "high_latency": ["backlog"]}
    assert found(LZ4, **full, latency_p99_ms=[95], **AT_ONCE) == {WAITED: ["buffer_is_small"], "high_latency": []}


@pytest.mark.parametrize("mib_s", [3, 200])
def test_a_buffer_that_is_full_behind_something_else_shows_that_too_much_is_sent_whatever_it_holds(mib_s: int) -> None:
    full = {"buffer_wait_fraction": [0.5], "throughput_mib_s": [mib_s], "limited_by": ["disk"]}
    assert found(LZ4, **full) == {WAITED: ["sent_too_fast"]}


@pytest.mark.parametrize("limit", [None, "in_flight"])
def test_a_full_buffer_that_waits_for_nothing_of_the_clusters_is_not_explained(limit: str | None) -> None:
    full = {"buffer_wait_fraction": [0.5], "throughput_mib_s": [200], "limited_by": [limit]}
    assert found({}, **full) == {WAITED: []}


LAG: Mapping[str, Sequence[float]] = {
    "lag_slope_records_s": [500],
    "live_poll_idle_fraction": [0.02],
    "live_records_per_fetch_avg": [900],
    "live_rate_records_s": [10_000],
}


@pytest.mark.parametrize(
    ("consumers", "records_per_fetch", "causes"),
    [
        (2, 900, ["polls_are_full", "processing_is_slow"]),
        (6, 900, ["polls_are_full", "too_few_partitions"]),
        (2, 100, ["processing_is_slow"]),
        (6, 100, ["too_few_partitions"]),
    ],
)
def test_a_growing_lag_has_one_cause_or_two_separated_by_comparing_polls(
    consumers: int, records_per_fetch: int, causes: list[str]
) -> None:
    seen = {**LAG, "live_records_per_fetch_avg": [records_per_fetch]}
    assert found({"consumers": consumers}, **seen) == {"growing_lag": causes}
    assert found({}, lag_slope_records_s=[-5], live_rate_records_s=[10_000]) == {}


def test_a_lag_that_rises_and_falls_with_each_fetch_does_not_grow() -> None:
    # As planted_causes counted it of a group that kept up, with fetch.min.bytes 1 MiB.
    seen = {"lag_slope_records_s": [56.6], "live_rate_records_s": [498]}
    assert found({}, **seen, lag_slope_error_records_s=[33]) == {}
    assert "growing_lag" in found({}, **seen, lag_slope_error_records_s=[5])


def test_two_matching_causes_are_named_with_the_comparison_that_separates_them() -> None:
    (behind,) = diagnoses({**CALM, **LAG}, {**DEFAULTS, **CONSUMER})
    assert [diagnosis_text(behind), *map(cause_text, behind.causes)] == [
        "Growing lag: 5 % of the records sent are not consumed in time. Two causes fit. Compare max.poll.records to "
        "decide: if a larger value helps, it is the first, otherwise the second.",
        "A fetch returns 1.8 times max.poll.records: raise max.poll.records, if consumers can process that many "
        "within max.poll.interval.ms.",
        "Consumers are idle only 2 % of the time: add consumers or speed up processing.",
    ]


def test_the_guides_four_symptoms_are_rules_and_every_cause_names_its_fix() -> None:
    rules = [rule for rules in MEASUREMENTS for rule in rules]
    assert [rule.code for rule in rules] == list(get_args(SymptomCode))
    assert [cause.code for rule in rules for cause in rule.causes] == list(get_args(CauseCode))
    assert all(cause.factor or cause.code == "gc_pauses" for rule in rules for cause in rule.causes)


@pytest.mark.slow
def test_no_measurement_has_more_than_two_causes_or_a_setting_to_raise_and_to_lower() -> None:
    said: dict[str, str] = {}
    senders = product(
        (None, "", "cpu", "gc", "network", "in_flight", "buffer_memory"),  # limited_by
        (0.1, 0.6),  # buffer_wait_fraction
        (0, 3),  # buffer_exhausted_records
        (4_000, 16_000),  # batch_size_avg_bytes
        (1, 200),  # throughput_mib_s
        (0, 5, 100),  # linger.ms
        (80, 900),  # queue_time_avg_ms
        (20, 150),  # gc_pause_longest_ms
        ("none", "lz4"),
    )
    for limit, waited, given_up, batch, mib_s, linger_ms, queue_ms, pause_ms, codec in senders:
        measured: dict[str, Sequence[float | str | None]] = {
            "limited_by": [limit],
            "buffer_wait_fraction": [waited],
            "buffer_exhausted_records": [given_up],
            "batch_size_avg_bytes": [batch],
            "throughput_mib_s": [mib_s],
            "latency_p99_ms": [90],
            "queue_time_avg_ms": [queue_ms],
            "gc_pause_longest_ms": [pause_ms],
        }
        said |= advised(measured, {"linger.ms": linger_ms, "compression.type": codec})
    consumers = product((0.0, 0.6), (100, 900), (20, 80), (1, 100), (2, 9), (0, 500))
    for idle, per_fetch, fetch_ms, fetch_min, members, slope in consumers:
        measured = {
            "latency_p99_ms": [90],
            "lag_slope_records_s": [slope],
            "live_rate_records_s": [10_000],
            "live_poll_idle_fraction": [idle],
            "live_records_per_fetch_avg": [per_fetch],
            "live_fetch_latency_avg_ms": [fetch_ms],
        }
        said |= advised(measured, {"fetch.min.bytes": fetch_min, "consumers": members})
    assert said.keys() == set(get_args(CauseCode))  # every cause is found somewhere, and can be said
    # A setting's name must not get a sentence's capital.
    assert all("." not in each.split()[0] and each.count(":") == 1 for each in said.values()), said


def advised(measured: Mapping[str, Sequence[float | str | None]], settings: Mapping[str, str | int]) -> dict[str, str]:
    """Return the sentences by cause, after checking that no advice contradicts another."""
    explained = diagnoses({**CALM, **measured}, {**DEFAULTS, **CONSUMER, **settings})
    causes: list[Cause] = []
    for each in explained:
        assert diagnosis_text(each)
        assert len(each.causes) <= 2, (measured, settings)
        assert len(each.causes) < 2 or each.causes[0].factor, (measured, settings)
        causes += each.causes
    changes = {(cause.factor, cause.change) for cause in causes}
    assert len({setting for setting, _ in changes}) == len(changes), (measured, settings, changes)
    return {cause.code: cause_text(cause) for cause in causes}
