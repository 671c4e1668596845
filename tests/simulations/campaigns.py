"""Simulated campaigns: recorded repetitions, resampled, through the project's own decisions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from kafka_pareto.analysis.gains import Gain, compare
from kafka_pareto.analysis.noise_study import noise_report
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import tune_study
from tests.recorded import paper_study, recorded_repetitions

NOISE_REPETITIONS = 12
STUDY = tune_study(paper_study())
PICK_ID = "pick"


@cache
def recorded_configurations(case: str) -> list[list[Repetition]]:
    by_id: dict[str, list[Repetition]] = {}
    for repetition in recorded_repetitions((case,)):
        by_id.setdefault(repetition.configuration_id, []).append(repetition)
    return list(by_id.values())


class EqualArms:
    """One case of an A/A campaign: baseline and pick are the same recorded configuration.

    `shared_sd` is the standard deviation of the log of a factor by which a block slows both sides.
    """

    def __init__(self, case: str, rng: np.random.Generator, shared_sd: float) -> None:
        self._case = case
        recorded = recorded_configurations(case)
        self._configuration = recorded[rng.integers(len(recorded))]
        blocks = STUDY.confirmation.gain_blocks
        slowed = np.exp(rng.normal(0, shared_sd, blocks))
        self.baseline = self.drawn(STUDY.baseline_id(), slowed, rng)
        self.pick = self.drawn(PICK_ID, slowed, rng)

    def drawn(self, configuration_id: str, slowed: np.ndarray, rng: np.random.Generator) -> list[Repetition]:
        drawn = [self._configuration[at] for at in rng.integers(len(self._configuration), size=len(slowed))]
        return [
            repetition.with_values(
                {
                    "repetition_id": f"gain-{self._case}-b{block:03d}-{configuration_id}",
                    "phase": "gain",
                    "block": block,
                    "configuration_id": configuration_id,
                    "latency_p95_ms": repetition.number("latency_p95_ms") * slow,
                    "throughput_mib_s": repetition.number("throughput_mib_s") / slow,
                }
            )
            for block, (repetition, slow) in enumerate(zip(drawn, slowed, strict=True))
        ]

    def gains(self) -> list[Gain]:
        return [compare(objective, self.baseline, self.pick, STUDY) for objective in STUDY.objective_names]

    def with_planted_gain(self, objective: ObjectiveName, rng: np.random.Generator) -> Gain | None:
        """Give the pick a gain of twice what a noise report calls detectable; None without such an effect."""
        report = noise_report(STUDY, self._case, self.drawn("baseline", np.ones(NOISE_REPETITIONS), rng))
        noise = report.objectives[PRODUCER.objective_names.index(objective)]
        if noise.minimum_detectable_effect_fraction is None:
            return None
        factor = 1 + 2 * noise.minimum_detectable_effect_fraction
        return compare(objective, self.baseline, improved(self.pick, objective, factor), STUDY)


def improved(repetitions: Sequence[Repetition], objective: ObjectiveName, factor: float) -> list[Repetition]:
    """Improve `objective` alone by this factor."""
    field = "latency_p95_ms" if objective in ("p95_latency_ms", "latency_cv") else "throughput_mib_s"
    values = np.array([r.number(field) for r in repetitions])
    if objective.endswith("_cv"):
        values = values.mean() + (values - values.mean()) / factor
    else:
        values = values * factor if is_maximised(objective) else values / factor
    return [r.with_values({field: value}) for r, value in zip(repetitions, values.tolist(), strict=True)]


def simulated_campaign(rng: np.random.Generator, shared_sd: float) -> list[EqualArms]:
    return [EqualArms(case, rng, shared_sd) for case in STUDY.cases]
