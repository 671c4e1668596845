"""Finds the guide's symptoms in measurements, and the setting that acts on each cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kafka_pareto.doctor.symptom_words import cause_text, symptom_text
from kafka_pareto.doctor.symptoms import RULES, symptoms_found
from kafka_pareto.kafka.producer_config import DEFAULTS

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


def found(settings: Mapping[str, str | int], **measured: Sequence[float | str | None]) -> dict[str, list[str]]:
    symptoms = symptoms_found({**CALM, **measured}, {**DEFAULTS, **CONSUMER, **settings})
    return {symptom.code: [cause.code for cause in symptom.causes] for symptom in symptoms}


def test_a_calm_load_shows_no_symptom() -> None:
    assert found({}) == {}


def test_nothing_measured_shows_nothing() -> None:
    assert symptoms_found({}, {}) == []
    assert symptoms_found({"latency_p99_ms": [None, None]}, dict(DEFAULTS)) == []


def test_full_batches_under_a_waiting_sender_want_larger_ones() -> None:
    plateau = {"buffer_wait_fraction": [0.6, 0.5, 0.7], "batch_size_avg_bytes": [16_000, 16_100, 15_900]}
    causes = found({"compression.type": "lz4"}, **plateau)["throughput_plateau"]
    assert causes == ["batches_are_full"]


@pytest.mark.parametrize("limit", ["network", "disk", "throttled"])
def test_larger_batches_carry_no_more_where_each_byte_has_to_wait(limit: str) -> None:
    plateau = {"buffer_wait_fraction": [0.6], "batch_size_avg_bytes": [16_000], "limited_by": [limit]}
    assert found({"compression.type": "lz4"}, **plateau)["throughput_plateau"] == []


def test_batches_as_large_as_the_guides_are_not_made_larger() -> None:
    plateau = {"buffer_wait_fraction": [0.6], "batch_size_avg_bytes": [1_000_000]}
    settings: Mapping[str, str | int] = {"compression.type": "lz4", "batch.size": 1 << 20}
    assert found(settings, **plateau)["throughput_plateau"] == []


def test_half_empty_batches_without_linger_want_linger() -> None:
    plateau = {"buffer_wait_fraction": [0.6], "batch_size_avg_bytes": [4_000]}
    assert found({"linger.ms": 0}, **plateau)["throughput_plateau"] == ["no_linger", "uncompressed"]


def test_a_sender_that_does_not_wait_has_no_plateau() -> None:
    assert "throughput_plateau" not in found({}, batch_size_avg_bytes=[16_384])


def test_a_wait_that_only_kafkas_own_tool_told_of_counts() -> None:
    measured = {**CALM, "buffer_wait_s": [5.0], "records_sent": [100_000]}  # 10 s at 10,000 records/s
    del measured["buffer_wait_fraction"]
    codes = [symptom.code for symptom in symptoms_found(measured, dict(DEFAULTS))]
    assert codes == ["throughput_plateau", "buffer_full"]


@pytest.mark.parametrize(
    ("settings", "measured", "cause"),
    [
        ({"linger.ms": 100}, {"queue_time_avg_ms": [80]}, "linger_is_long"),
        ({"linger.ms": 5}, {"queue_time_avg_ms": [900]}, "backlog"),
        ({"linger.ms": 0}, {"queue_time_avg_ms": [900]}, "backlog"),
        ({"fetch.min.bytes": 1 << 20}, {"live_fetch_latency_avg_ms": [60]}, "fetch_waits"),
        ({}, {"gc_pause_longest_ms": [150, 20, 140]}, "gc_pauses"),
    ],
)
def test_a_high_latency_is_traced_to_what_the_record_waited_for(
    settings: Mapping[str, str | int], measured: Mapping[str, Sequence[float]], cause: str
) -> None:
    assert cause in found(settings, latency_p99_ms=[90, 100, 95], **measured)["high_latency"]


def test_what_a_group_waits_for_while_it_follows_explains_its_latency_and_its_lag_and_not_its_reading_of_a_full_topic():
    # The kept campaign impact_consumer: fetches took 264 ms while the topic was read, and its median p99 was 538 ms.
    settings: Mapping[str, str | int] = {"fetch.min.bytes": 1 << 20, "consumers": 6}
    reading = {"fetch_latency_avg_ms": [480], "poll_idle_fraction": [0.02], "records_per_fetch_avg": [900]}
    following = {f"live_{name}": values for name, values in reading.items()}
    seen = {"latency_p99_ms": [538], "lag_slope_records_s": [500], "live_rate_records_s": [10_000], **AT_ONCE}
    assert found(settings, **seen, **reading) == {"high_latency": [], "growing_lag": ["too_few_partitions"]}
    assert found(settings, **seen, **following) == {
        "high_latency": ["fetch_waits"],
        "growing_lag": ["polls_are_full", "processing_is_slow", "too_few_partitions"],
    }


def test_full_polls_of_a_consumer_that_waits_for_records_are_what_a_lag_looks_like_and_not_its_cause() -> None:
    lag = {
        "lag_slope_records_s": [500],
        **AT_ONCE,
        "live_rate_records_s": [10_000],
        "live_records_per_fetch_avg": [900],
    }
    assert found({}, **lag, live_poll_idle_fraction=[0.6]) == {"growing_lag": []}


def test_fetches_that_are_short_beside_the_latency_are_not_its_cause_however_large_fetch_min_bytes_is() -> None:
    seen = {"latency_p99_ms": [900], "live_fetch_latency_avg_ms": [40], **AT_ONCE}
    assert found({"fetch.min.bytes": 1 << 20}, **seen) == {"high_latency": []}


def test_a_linger_that_is_short_beside_the_latency_or_that_batches_fill_before_is_not_its_cause() -> None:
    assert found({"linger.ms": 5}, latency_p99_ms=[538], queue_time_avg_ms=[5]) == {"high_latency": []}
    assert found({"linger.ms": 100}, latency_p99_ms=[120], queue_time_avg_ms=[20]) == {"high_latency": []}


def test_pauses_at_full_speed_do_not_explain_the_latency_at_the_fixed_rate() -> None:
    pauses = {"gc_pause_longest_ms": [150], "later_gc_pause_longest_ms": [12]}
    assert found({}, latency_p99_ms=[90], **pauses, **AT_ONCE) == {"high_latency": []}


def test_the_batches_of_the_part_that_is_sent_as_fast_as_it_goes_explain_a_plateau() -> None:
    plateau = {"buffer_wait_fraction": [0.6], "batch_size_avg_bytes": [2_000]}
    causes = found({"compression.type": "lz4"}, **plateau, unthrottled_batch_size_avg_bytes=[16_000])
    assert causes["throughput_plateau"] == ["batches_are_full"]


def test_a_consumers_end_to_end_latency_counts_where_no_producers_is_there() -> None:
    found_alone = symptoms_found({"end_to_end_latency_p99_ms": [90]}, CONSUMER)
    assert [(symptom.code, symptom.numbers) for symptom in found_alone] == [("high_latency", {"p99_ms": 90})]
    assert symptom_text(found_alone[0]) == "The latency is high: p99 90 ms; none of the guide's causes shows."


def test_the_latency_of_a_load_as_fast_as_it_goes_is_its_queue_and_no_symptom() -> None:
    assert found({}, latency_p99_ms=[1_500], queue_time_avg_ms=[900], paced_rate_records_s=[None]) == {}


def test_a_single_bad_repetition_is_no_symptom() -> None:
    assert found({}, latency_p99_ms=[12, 500, 11]) == {}


def test_a_full_buffer_that_holds_little_wants_memory_and_given_up_records_want_patience() -> None:
    full = {"buffer_wait_fraction": [0.1], "buffer_exhausted_records": [3], "throughput_mib_s": [200]}
    assert found({}, **full)["buffer_full"] == ["buffer_is_small", "max_block_reached"]


@pytest.mark.parametrize("mib_s", [3, 200])
def test_a_buffer_that_is_full_behind_something_else_shows_that_too_much_is_sent_whatever_it_holds(mib_s: int) -> None:
    full = {"buffer_wait_fraction": [0.5], "throughput_mib_s": [mib_s], "limited_by": ["disk"]}
    assert found({}, **full)["buffer_full"] == ["sent_too_fast"]


@pytest.mark.parametrize("limit", [None, "in_flight"])
def test_a_full_buffer_that_waits_for_nothing_of_the_clusters_is_not_explained(limit: str | None) -> None:
    full = {"buffer_wait_fraction": [0.5], "throughput_mib_s": [200], "limited_by": [limit]}
    assert found({}, **full)["buffer_full"] == []


def test_a_growing_lag_is_traced_to_polls_processing_or_partitions() -> None:
    lag = {
        "lag_slope_records_s": [500],
        "live_poll_idle_fraction": [0.02],
        "live_records_per_fetch_avg": [900],
        "live_rate_records_s": [10_000],
    }
    assert found({"consumers": 6}, **lag)["growing_lag"] == [
        "polls_are_full",
        "processing_is_slow",
        "too_few_partitions",
    ]
    assert "growing_lag" not in found({}, lag_slope_records_s=[-5], live_rate_records_s=[10_000])


def test_a_lag_that_rises_and_falls_with_each_fetch_does_not_grow() -> None:
    # As planted_causes counted it of a group that kept up, with fetch.min.bytes 1 MiB.
    seen = {"lag_slope_records_s": [56.6], "live_rate_records_s": [498]}
    assert "growing_lag" not in found({}, **seen, lag_slope_error_records_s=[33])
    assert "growing_lag" in found({}, **seen, lag_slope_error_records_s=[5])


def test_the_guides_four_symptoms_are_rules_and_every_cause_says_what_acts_on_it() -> None:
    assert [rule.code for rule in RULES] == ["throughput_plateau", "high_latency", "buffer_full", "growing_lag"]
    assert all(cause.setting or cause.factor for rule in RULES for cause in rule.causes)


def test_every_cause_can_be_said() -> None:
    measured = {
        **CALM,
        "latency_p99_ms": [90],
        "buffer_wait_fraction": [0.5],
        "buffer_exhausted_records": [3],
        "gc_pause_longest_ms": [150],
        "lag_slope_records_s": [500],
        "live_poll_idle_fraction": [0.0],
        "live_records_per_fetch_avg": [900],
        "live_rate_records_s": [10_000],
        "live_fetch_latency_avg_ms": [80],
    }
    said = []
    for queue_ms, mib_s, fill in ((40.0, 1.0, 16_384.0), (900.0, 200.0, 1_000.0)):
        values: dict[str, Sequence[float | str | None]] = {
            **measured,
            "queue_time_avg_ms": [queue_ms],
            "throughput_mib_s": [mib_s],
        }
        values["batch_size_avg_bytes"] = [fill]
        for linger_ms, limit in ((0, ""), (50, ""), (5, "cpu")):
            values["limited_by"] = [limit]
            settings = {**DEFAULTS, **CONSUMER, "linger.ms": linger_ms, "fetch.min.bytes": 100, "consumers": 9}
            for symptom in symptoms_found(values, settings):
                said += [symptom_text(symptom), *(f"{cause.code} {cause_text(cause)}" for cause in symptom.causes)]
    codes = {cause.code for rule in RULES for cause in rule.causes}
    assert codes <= {line.partition(" ")[0] for line in said}
    assert "The lag grows by 5% of what is sent." in said
    assert "polls_are_full A fetch brings 1.8 times what a poll may return: raise max.poll.records." in said
    too_fast = "More is sent than the cluster takes, and a larger buffer would only fill later"
    assert f"sent_too_fast {too_fast}: send less, or add brokers." in said
