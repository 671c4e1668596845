"""Tells how much worse a candidate may have made a mean, and how often it may fail. Pure.

Harm is judged by itself, one mean at a time, and never adjusted for how much else was compared: an adjustment would
hide the more harm, the more cases are tuned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import paired_values, positive_values
from kafka_pareto.analysis.paired_tests import CONFIDENCE
from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.analysis.sequential import change_at_any_stop
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.driver import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol


class Harm(BaseModel):
    """Holds how much worse a mean may be than what the candidate is compared with.

    Attributes:
        worse_fraction: The estimate: 0.1 is a tenth worse, -0.1 a tenth better. None where there is none.
        worst_fraction: The bad end of the interval. None where the blocks have no spread to judge it by.
        best_fraction: The good end.
        confidence: Of the interval; with several looks each is at a higher one, so that all together err in 5 %.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: ObjectiveName
    worse_fraction: float | None
    worst_fraction: float | None
    best_fraction: float | None
    confidence: float
    blocks: int

    def is_excluded(self, margin_fraction: float) -> bool:
        """Tells whether it is not worse by more than the margin, even at the bad end of its interval."""
        if self.worst_fraction is None:
            return self.worse_fraction == 0
        return self.worst_fraction <= margin_fraction

    def is_shown(self) -> bool:
        """Tells whether it is worse even at the good end of its interval."""
        return self.best_fraction is not None and self.best_fraction > 0


def harm_of(
    objective: ObjectiveName,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    protocol: Protocol,
    looks: int | None = 1,
) -> Harm:
    """Compares valid repetitions of the same blocks, in the same order, in one mean.

    Args:
        objective: A mean.
        reference: Of what the candidate is compared with.
        candidate: The candidate's.
        protocol: What they were measured by.
        looks: How often harm may be judged while blocks are added; each look errs in 5 % over their number
            (Bonferroni). None: after every block, by an interval that holds at any stop.
    """
    if looks is None:
        confidence = CONFIDENCE
        of_reference, of_candidate, _ = positive_values(objective, reference, candidate, protocol)
        change = change_at_any_stop(of_reference, of_candidate, 2 * smallest_value(objective, protocol))
    else:
        confidence = 1 - (1 - CONFIDENCE) / looks
        of_reference, of_candidate, _ = paired_values(objective, reference, candidate, protocol)
        change = paired_tests.mean_change(of_reference, of_candidate, confidence)
    sign = -1 if is_maximised(objective) else 1
    ends = [sign * change.low_fraction, sign * change.high_fraction]
    return Harm(
        objective=objective,
        worse_fraction=_known(sign * change.change_fraction),
        worst_fraction=_known(max(ends)),
        best_fraction=_known(min(ends)),
        confidence=confidence,
        blocks=len(of_candidate),
    )


def failing_more_p_value(failed: int, repetitions: int, reference_failed: int, reference_repetitions: int) -> float:
    """Returns Fisher's exact p-value, one-sided, of failing no more often than what is compared with."""
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps need none of it)

    table = np.array([[failed, repetitions - failed], [reference_failed, reference_repetitions - reference_failed]])
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def largest_failure_fraction(failed: int, repetitions: int) -> float:
    """Returns the upper 95 % bound of the share of repetitions that fail (Clopper and Pearson, Biometrika 26, 1934)."""
    from scipy import stats  # noqa: PLC0415  (as above)

    interval = stats.binomtest(failed, repetitions, alternative="less").proportion_ci(CONFIDENCE, method="exact")
    return float(interval.high)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
