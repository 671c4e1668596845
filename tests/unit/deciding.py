"""Made repetitions for the tests of choice and decision, which test rules, not a measurement."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import parse_study
from tests.recorded import STUDIES, recorded_repetitions

CASE = "8192"
FAST = {"batch.size": 65536, "linger.ms": 5, "acks": "all", "compression.type": "lz4"}
OTHER = {"batch.size": 32768, "linger.ms": 0, "acks": "all", "compression.type": "none"}
WEAK = {"batch.size": 65536, "linger.ms": 5, "acks": "1", "compression.type": "lz4"}
TEMPLATE = recorded_repetitions((CASE,), configurations=0, blocks=1)[0]


@cache
def _paper_with_the_baselines_durability() -> Study:
    text = (STUDIES / "paper.yaml").read_text(encoding="utf-8").replace("durability: acks_0", "#")
    return parse_study(text, "paper.yaml")


def study_of(**confirmation: object) -> Study:
    study = _paper_with_the_baselines_durability()
    changed = {"choose_by": "balanced_gain", **confirmation}
    return study.model_copy(update={"confirmation": study.confirmation.model_copy(update=changed)})


def repetitions(
    configuration: dict,
    p95_ms: Iterable[float],
    throughput_mib_s: Iterable[float],
    phase: Phase = "gain",
    outcome: str = "valid",
) -> list[Repetition]:
    """One repetition per block."""
    name = configuration_id(configuration)
    is_baseline = configuration == study_of().baseline_configuration()
    return [
        TEMPLATE.with_values(
            {
                "repetition_id": f"{phase}-r00-{CASE}-b{block:03d}-{name}",
                "phase": phase,
                "configuration": configuration,
                "configuration_id": name,
                "is_baseline": is_baseline,
                "block": block,
                "outcome": outcome,
                "latency_p95_ms": latency,
                "throughput_mib_s": throughput,
            }
        )
        for block, (latency, throughput) in enumerate(zip(p95_ms, throughput_mib_s, strict=True))
    ]


def around(mean: float, spread: float = 0.03, blocks: int = 10, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).normal(1.0, spread, blocks)
    return mean * values / values.mean()


def candidates(*configurations: dict, accepted: bool = True) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"configuration_id": configuration_id(c), "durability_accepted": accepted, "feasible": True, **c}
            for c in configurations
        ]
    )


def baseline(p95_ms: float = 100, throughput: float = 20, phase: Phase = "gain", blocks: int = 10) -> list[Repetition]:
    values = around(p95_ms, seed=2, blocks=blocks), around(throughput, seed=3, blocks=blocks)
    return repetitions(study_of().baseline_configuration(), *values, phase)


def decided(p95_ms: float, throughput: float, spread: float = 0.01, pick: dict = FAST) -> Decision:
    """The decision on a pick with these means, against a baseline of 100 ms and 20 MiB/s."""
    values = (around(mean, spread, blocks=20, seed=seed) for seed, mean in ((5, p95_ms), (6, throughput)))
    gain = [*baseline(blocks=20), *repetitions(pick, *values)]
    return decide(
        study_of(),
        CASE,
        Choice(configuration_id=configuration_id(pick), chosen_by="balanced_gain"),
        candidates(FAST),
        choice_repetitions=[],
        gain_repetitions=gain if pick == FAST else [],
    )
