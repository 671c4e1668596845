"""Adaptive repetitions: which trials continue, which stop and why, and the loss of the choice on recorded data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from benchmarks import adaptive as benchmark
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.measurement.racing import active_candidates, planned_candidates, remaining_candidates
from kafka_pareto.study.protocol import Adaptive
from kafka_pareto.study.study import Study
from tests.recorded import recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

UNREST = (1.0, 1.03, 0.98, 1.01, 0.99)
"""Block effects on latency: a few per cent."""

FAILED: dict[str, Any] = {"outcome": "failed", "latency_p95_ms": None, "throughput_mib_s": None}


def study_with(interval_fraction: float = 0.001, minimum: int = 2, promise: Durability = Durability.acks_0) -> Study:
    study = benchmark.adaptive_study(promise)
    adaptive = Adaptive(minimum_repetitions=minimum, interval_fraction=interval_fraction)
    return study.model_copy(update={"protocol": study.protocol.model_copy(update={"adaptive": adaptive})})


def candidate(name: str, acks: str = "all", is_baseline: bool = False) -> Candidate:
    configuration = {"batch.size": 65536, "linger.ms": 5, "acks": acks, "compression.type": "none"}
    return Candidate(name, is_baseline, configuration)


BASELINE = candidate("baseline", is_baseline=True)


def measured(figures: Mapping[str, tuple[float, float]], blocks: int = 3) -> list[Repetition]:
    """Repetitions with these p95 latencies (ms) and throughputs (MiB/s), but for some unrest of each trial's own."""
    template = recorded_repetitions(("8192",), configurations=0, blocks=1)[0]
    repetitions = []
    for place, (name, (latency_ms, throughput_mib_s)) in enumerate(figures.items()):
        for block in range(blocks):
            unrest = UNREST[(block + place) % len(UNREST)]
            changes = {
                "repetition_id": f"{name}-{block}",
                "configuration_id": name,
                "is_baseline": name == "baseline",
                "block": block,
                "latency_p95_ms": latency_ms * unrest,
                "throughput_mib_s": throughput_mib_s / unrest,
            }
            repetitions.append(template.with_values(changes))
    return repetitions


def spoilt(repetitions: list[Repetition], name: str, blocks: set[int], **changes: Any) -> list[Repetition]:
    return [
        row.with_values(changes) if row.configuration_id == name and row.block in blocks else row for row in repetitions
    ]


def names(candidates: list[Candidate]) -> set[str]:
    return {each.configuration_id for each in candidates}


def test_without_the_rule_and_before_the_minimum_every_trial_continues() -> None:
    candidates = [BASELINE, candidate("good"), candidate("bad")]
    repetitions = measured({"baseline": (20.0, 50.0), "good": (10.0, 100.0), "bad": (80.0, 10.0)}, blocks=2)
    fixed = study_with().model_copy(update={"protocol": study_with().protocol.model_copy(update={"adaptive": None})})
    assert active_candidates(candidates, repetitions, fixed) == candidates
    assert active_candidates(candidates, repetitions, study_with(minimum=3)) == candidates
    assert active_candidates(candidates, [], study_with()) == candidates


def test_a_trial_beaten_in_both_stops_and_one_better_in_either_continues() -> None:
    candidates = [BASELINE, candidate("good"), candidate("bad"), candidate("fast"), candidate("much")]
    figures = {"good": (10.0, 100.0), "bad": (40.0, 50.0), "fast": (5.0, 60.0), "much": (40.0, 160.0)}
    active = active_candidates(candidates, measured({"baseline": (20.0, 50.0), **figures}), study_with())
    assert names(active) == {"baseline", "good", "fast", "much"}


def test_a_difference_within_the_noise_stops_no_trial() -> None:
    candidates = [BASELINE, candidate("good"), candidate("nearly_as_good")]
    figures = {"baseline": (10.2, 98.0), "good": (10.0, 100.0), "nearly_as_good": (10.1, 99.5)}
    assert active_candidates(candidates, measured(figures), study_with()) == candidates


def test_the_baseline_continues_whatever_it_measures_until_no_other_does() -> None:
    candidates = [BASELINE, candidate("good"), candidate("fast")]
    repetitions = measured({"baseline": (90.0, 5.0), "good": (10.0, 100.0), "fast": (5.0, 60.0)})
    assert "baseline" in names(active_candidates(candidates, repetitions, study_with()))
    assert active_candidates(candidates, repetitions, study_with(interval_fraction=0.5)) == []


def test_a_trial_whose_means_are_known_well_enough_stops() -> None:
    candidates = [BASELINE, candidate("good"), candidate("fast")]
    figures = {"baseline": (20.0, 50.0), "good": (10.0, 100.0), "fast": (5.0, 60.0)}
    unsteady = [
        row.with_values({"latency_p95_ms": 5.0 * 2**row.block}) if row.configuration_id == "fast" else row
        for row in measured(figures)
    ]
    assert names(active_candidates(candidates, unsteady, study_with(interval_fraction=0.6))) == {"baseline", "fast"}


def test_a_trial_that_may_not_be_recommended_stops_at_the_minimum_and_rejects_none() -> None:
    candidates = [BASELINE, candidate("good"), candidate("fast"), candidate("weak", acks="1"), candidate("lossy")]
    figures = {"good": (10.0, 100.0), "fast": (5.0, 60.0), "weak": (1.0, 900.0), "lossy": (1.0, 900.0)}
    repetitions = measured({"baseline": (20.0, 50.0), **figures})
    repetitions = spoilt(repetitions, "lossy", {1}, outcome="records_lost")
    study = study_with(promise=Durability.acks_all_idempotent)
    assert names(active_candidates(candidates, repetitions, study)) == {"baseline", "good", "fast"}
    assert names(remaining_candidates(candidates, repetitions, study)) == {"baseline", "good", "fast"}
    assert names(active_candidates(candidates, repetitions, study_with(minimum=4))) == names(candidates)


def test_a_trial_that_breaks_a_constraint_stops_at_the_minimum() -> None:
    small = Candidate("small", False, {**BASELINE.configuration, "batch.size": 1024})
    repetitions = measured({"baseline": (20.0, 50.0), "good": (10.0, 100.0), "small": (5.0, 120.0)})
    active = active_candidates([BASELINE, candidate("good"), small], repetitions, study_with())
    assert names(active) == {"baseline", "good"}


def test_failed_repetitions_count_as_attempts_so_that_a_hopeless_trial_ends() -> None:
    candidates = [BASELINE, candidate("good"), candidate("hopeless"), candidate("unlucky")]
    figures = {"baseline": (20.0, 50.0), "good": (10.0, 100.0), "hopeless": (5.0, 60.0), "unlucky": (6.0, 70.0)}
    repetitions = spoilt(measured(figures), "hopeless", {0, 1, 2}, **FAILED)
    repetitions = spoilt(repetitions, "unlucky", {1}, **FAILED)
    assert names(active_candidates(candidates, repetitions, study_with())) == {"baseline", "good", "unlucky"}


def test_a_stopped_trial_stays_stopped_whatever_later_blocks_show() -> None:
    candidates = [BASELINE, candidate("good"), candidate("stopped")]
    figures = {"baseline": (20.0, 50.0), "good": (10.0, 100.0), "stopped": (9.0, 60.0)}
    without_its_last = [r for r in measured(figures) if r.configuration_id != "stopped" or r.block < 2]
    assert names(active_candidates(candidates, without_its_last, study_with())) == {"baseline", "good"}


def test_the_plan_follows_from_the_store_in_any_order_and_after_a_kill_in_any_block() -> None:
    recording = benchmark.Recording(8192, Durability.acks_0)
    rows = {(row.configuration_id, row.block): row for row in recorded_repetitions(("8192",))}
    stored: list[Repetition] = []
    for block in range(benchmark.BLOCKS):
        active = active_candidates(recording.candidates, stored, recording.study)
        stored += [rows[each.configuration_id, block] for each in active]
    plan = planned_candidates(recording.candidates, stored, recording.study)
    assert sum(len(active) for active in plan) == len(stored) < len(rows) / 2

    shuffled = [stored[at] for at in np.random.default_rng(1).permutation(len(stored))]
    assert planned_candidates(recording.candidates, shuffled, recording.study) == plan
    for killed_in in (1, 2, len(plan) - 1):
        left = [r for r in stored if r.block < killed_in] + [r for r in stored if r.block == killed_in][:2]
        assert planned_candidates(recording.candidates, left, recording.study)[: killed_in + 1] == plan[: killed_in + 1]


@pytest.mark.parametrize("promise", benchmark.PROMISES)
def test_with_a_third_of_the_repetitions_the_choice_is_within_the_noise_in_nine_of_ten_resamples(
    promise: Durability,
) -> None:
    found = [
        each for size in benchmark.RECORD_SIZES_BYTES for each in benchmark.run(size, promise, resamples=4, seed=42)
    ]
    assert np.mean([each.used_fraction for each in found]) <= 1 / 3
    assert np.mean([each.regret <= each.noise_floor for each in found]) >= 0.9
