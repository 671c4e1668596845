from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.known_properties import DEFAULTS
from kafka_pareto.report.latency_breakdown import Breakdown, breakdown_rows, explanation, latency_breakdown
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

CASE = "8192"

# What two clients said on a real broker at 569 records/s: with Kafka's defaults, and with large batches of gzip.
DEFAULTS_TOLD = {
    "latency_p50_ms": 3.127,
    "latency_p9999_ms": 18.991,
    "latency_from_send_p95_ms": 4.187,
    "queue_time_avg_ms": 1.733,
    "queue_time_max_ms": 16.0,
    "request_latency_avg_ms": 1.116,
    "request_latency_max_ms": 32.0,
    "batch_size_avg_bytes": 8264.0,
    "compression_rate_avg": 1.0,
    "records_per_request_avg": 1.094,
    "buffer_wait_s": 0.0,
    "buffer_exhausted_records": 0.0,
    "record_retries": 0.0,
}
BATCHES_TOLD = DEFAULTS_TOLD | {
    "latency_p50_ms": 32.671,
    "latency_from_send_p95_ms": 54.431,
    "queue_time_avg_ms": 48.086,
    "queue_time_max_ms": 57.0,
    "request_latency_avg_ms": 8.629,
    "request_latency_max_ms": 27.0,
    "batch_size_avg_bytes": 148521.6,
    "compression_rate_avg": 0.636,
    "records_per_request_avg": 28.471,
}


@cache
def decision_and_blocks() -> tuple[Decision, list[Repetition]]:
    """Return the recorded baseline and one pick in gain blocks, with the same client metrics in every block."""
    study = paper_study()
    recorded = recorded_repetitions((CASE,), phase="gain")
    pick = next(r for r in recorded if not r.is_baseline and r.configuration["batch.size"] == 131072)
    told = [
        repetition.with_values(DEFAULTS_TOLD if repetition.is_baseline else BATCHES_TOLD)
        for repetition in recorded
        if repetition.is_baseline or repetition.configuration_id == pick.configuration_id
    ]
    row = {"configuration_id": pick.configuration_id, "durability_accepted": True, "feasible": True}
    decision = decide(
        study,
        CASE,
        Choice(configuration_id=pick.configuration_id, chosen_by="r1"),
        pd.DataFrame([{**row, **pick.configuration}]),
        choice_repetitions=[],
        gain_repetitions=told,
    )
    return decision, told


def breakdown_of(**pick: float | None) -> Breakdown:
    """Return the defaults against a pick that differs only in these figures."""
    decision, blocks = decision_and_blocks()
    own = decision.pick_configuration_id
    changed = [r.with_values({**DEFAULTS_TOLD, **pick} if r.configuration_id == own else {}) for r in blocks]
    breakdown = latency_breakdown(decision, changed, DEFAULTS)
    assert breakdown is not None
    return breakdown


def test_figures_are_medians_that_one_wild_repetition_does_not_move():
    decision, blocks = decision_and_blocks()
    wild = [r.with_values({"request_latency_avg_ms": 900.0}) if r.block == 3 else r for r in blocks]
    breakdown = latency_breakdown(decision, wild, DEFAULTS)
    assert breakdown is not None
    assert breakdown.pick is not None
    assert breakdown.reference.request_latency_avg_ms == pytest.approx(1.116)
    assert breakdown.pick.request_latency_avg_ms == pytest.approx(8.629)
    assert breakdown.pick.batch_share == pytest.approx(148521.6 / 131072)


def test_every_figure_traces_to_the_repetitions_it_comes_from():
    decision, blocks = decision_and_blocks()
    blocks = [r.with_values({"outcome": "failed"}) if r.block == 0 else r for r in blocks]
    breakdown = latency_breakdown(decision, blocks, DEFAULTS)
    assert breakdown is not None
    expected = [r.repetition_id for r in blocks if r.is_baseline and r.outcome == "valid"]
    assert breakdown.reference.repetition_ids == expected


def test_the_choice_blocks_speak_where_there_are_no_gain_blocks():
    decision, blocks = decision_and_blocks()
    only_choice = [r.with_values({"phase": "choice"}) for r in blocks]
    of_both = [*blocks, *(r.with_values({"queue_time_avg_ms": 77.0}) for r in only_choice)]
    from_choice, from_gain = (latency_breakdown(decision, found, DEFAULTS) for found in (only_choice, of_both))
    assert from_choice is not None
    assert from_gain is not None
    assert (from_choice.phase, from_gain.phase) == ("choice", "gain")
    assert from_gain.reference.queue_time_avg_ms == pytest.approx(1.733)


def test_without_the_clients_metrics_there_is_no_breakdown():
    decision, _ = decision_and_blocks()
    assert latency_breakdown(decision, recorded_repetitions((CASE,), phase="gain"), DEFAULTS) is None


def test_the_table_omits_values_no_client_reported():
    rows = breakdown_rows(breakdown_of(), "baseline", "pick")
    assert rows[0] == ("Latency breakdown (medians)", "baseline", "pick")
    labels = [row[0] for row in rows]
    assert "records per request" in labels
    assert "records resent" not in labels
    assert "records resent" in [row[0] for row in breakdown_rows(breakdown_of(record_retries=3.0), "baseline", "pick")]


def test_longer_in_the_accumulator_and_a_faster_response_are_a_trade_off():
    said = explanation(breakdown_of(queue_time_avg_ms=10.733, request_latency_avg_ms=0.5))
    assert said == ["Records wait 9 ms longer in the accumulator, but broker responses take 0.616 ms less."]


def test_larger_requests_are_given_by_their_ratio():
    decision, blocks = decision_and_blocks()
    breakdown = latency_breakdown(decision, blocks, DEFAULTS)
    assert breakdown is not None
    assert explanation(breakdown) == [
        "Records wait 46.4 ms longer in the accumulator, and broker responses take 7.51 ms longer.",
        "26x fewer requests: 28.5 records per request instead of 1.09; batches compress to 64 % of their "
        "original size instead of 100 %.",
    ]


def test_a_shorter_wait_for_buffer_space_is_reported():
    decision, blocks = decision_and_blocks()
    waiting = [r.with_values({"buffer_wait_s": 2.5}) if r.is_baseline else r for r in blocks]
    breakdown = latency_breakdown(decision, waiting, DEFAULTS)
    assert breakdown is not None
    assert explanation(breakdown)[-1] == "The wait for buffer space is 2.5 s shorter."


@pytest.mark.parametrize(
    "little",
    [
        {"queue_time_avg_ms": 1.833},
        {"records_per_request_avg": 1.3},
        {"compression_rate_avg": 0.85},
        {"buffer_wait_s": 0.05},
    ],
)
def test_a_small_difference_is_not_made_a_reason(little: dict[str, float]):
    assert explanation(breakdown_of(**little)) == ["The client's metrics show no relevant difference."]
