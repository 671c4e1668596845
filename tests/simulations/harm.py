"""Simulated confirmations of a pick whose harm or gain is known, through the project's own decisions.

Run as a program, it prints the figures of docs/method.md: `python -m tests.simulations.harm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import adjust_across_cases, decide, further_blocks
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.tune import Tune
from tests.unit.deciding import CASE, FAST, candidates, repetitions, study_of

# Of the log-ratio of pick and baseline within a block.
BLOCK_SD = 0.2
HARMS = (0.05, 0.10, 0.20, 0.50)
CASES = (1, 3, 6)
_P95_MS, _THROUGHPUT_MIB_S, _THROUGHPUT_GAIN, _CV_SD = 50.0, 20.0, 0.5, 0.3


@dataclass(frozen=True)
class Outcomes:
    """Shares of the picks of many campaigns.

    Attributes:
        before: Would have come into force when harm was vetoed only where it was shown after Holm.
        now: Come into force by themselves.
        asked: Go to a person.
    """

    before: float
    now: float
    asked: float


@cache
def _study() -> Tune:
    """Ten gain blocks; CVs are within runs, and both sides' are alike."""
    study = study_of(gain_blocks=10, final_blocks=10, more_blocks=10)
    protocol = study.protocol.model_copy(update={"variability": "within_run"})
    return study.model_copy(update={"protocol": protocol})


class Simulated:
    """One record size: a pick with a true change of p95 latency, and a clear gain in throughput if wanted."""

    def __init__(
        self,
        rng: np.random.Generator,
        p95_change: float,
        throughput_gain: float = _THROUGHPUT_GAIN,
        sd: float = BLOCK_SD,
    ) -> None:
        self._rng, self._sd = rng, sd
        self._ratios = 1 + p95_change, 1 + throughput_gain
        self._gain = self._blocks("gain", 0, 10)
        self.claimed = self._decided([])
        self.decision = self.claimed
        final: list[Repetition] = []
        measured = 0
        while blocks := further_blocks(self.decision, measured, _study().confirmation):
            final += self._blocks("final", 10 + measured, blocks)
            measured += blocks
            self.decision = self._decided(final)

    def _blocks(self, phase: Phase, first: int, count: int) -> list[Repetition]:
        study = _study()
        values = (_P95_MS, _THROUGHPUT_MIB_S)
        baseline = [np.full(count, value) * np.exp(self._rng.normal(0, 0.1, count)) for value in values]
        pick = [
            side * ratio * np.exp(self._rng.normal(0, self._sd, count) - self._sd**2 / 2)
            for side, ratio in zip(baseline, self._ratios, strict=True)
        ]
        measured = [
            *repetitions(study.baseline_configuration(), *baseline, phase),
            *repetitions(FAST, *pick, phase),
        ]
        cvs = np.exp(self._rng.normal(-2, _CV_SD, (len(measured), 2))).tolist()
        return [
            each.with_values(
                {"block": each.block + first, "latency_cv_in_run": latency_cv, "throughput_cv_in_run": throughput_cv}
            )
            for each, (latency_cv, throughput_cv) in zip(measured, cvs, strict=True)
        ]

    def _decided(self, final: list[Repetition]) -> Decision:
        return decide(
            _study(),
            CASE,
            Choice(configuration_id=configuration_id(FAST), chosen_by="balanced_gain"),
            candidates(FAST),
            choice_repetitions=[],
            gain_repetitions=self._gain,
            final_repetitions=final,
            rng=self._rng,
        )


def outcomes(campaigns: int, cases: int, harm: float, seed: int = 1) -> Outcomes:
    """Returns what becomes of picks that harm p95 latency by this share, at so many record sizes."""
    rng = np.random.default_rng([seed, cases, round(1000 * harm)])
    before, now, asked = 0, 0, 0
    for _ in range(campaigns):
        simulated = [Simulated(rng, harm) for _ in range(cases)]
        for decision in adjust_across_cases([each.claimed for each in simulated]):
            shown = {gain.resolution for gain in decision.main_gains}
            before += "better" in shown and "worse" not in shown
        for decision in adjust_across_cases([each.decision for each in simulated]):
            now += decision.recommended
            asked += decision.verdict == "ask_a_person"
    return Outcomes(*(count / (campaigns * cases) for count in (before, now, asked)))


def claimed_and_stated(campaigns: int, change: float, sd: float, seed: int = 2) -> tuple[float, float, float]:
    """How often a true change of p95 latency alone is claimed, and its mean size by the claim and as stated."""
    rng = np.random.default_rng(seed)
    simulated = [Simulated(rng, change, throughput_gain=0.0, sd=sd) for _ in range(campaigns)]
    shown = [each.decision for each in simulated if "p95_latency_ms" in each.claimed.better]
    stated = [each for each in shown if each.stated_gains]
    return len(shown) / campaigns, _mean_change(shown, "gains"), _mean_change(stated, "stated_gains")


def _mean_change(decisions: list[Decision], name: str) -> float:
    changes = [
        gain.change_fraction
        for decision in decisions
        for gain in getattr(decision, name)
        if gain.objective == "p95_latency_ms" and gain.change_fraction is not None
    ]
    return float(np.mean(changes))


def main() -> None:
    """Prints the figures of docs/method.md."""
    for harm in HARMS:
        for cases in CASES:
            print(f"{harm:.0%} at {cases}: {outcomes(600 // cases, cases, harm)}", flush=True)
    share, claimed, stated = claimed_and_stated(1000, -0.2, 0.35)
    print(f"-20 %: claimed in {share:.1%}, by {claimed:.1%} where it was, stated {stated:.1%}")


if __name__ == "__main__":
    main()
