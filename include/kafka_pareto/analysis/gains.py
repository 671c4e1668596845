"""Compare a candidate's objectives with the reference's (the active settings, or the baseline) in the same blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Literal

import numpy as np
import numpy.typing as npt

from kafka_pareto.analysis import paired_tests, sequential
from kafka_pareto.analysis.paired_tests import CONFIDENCE
from kafka_pareto.analysis.repetition_values import (
    coefficient_of_variation,
    is_mean,
    paired,
    per_repetition_value,
    smallest_value,
    spread_of,
)
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.tune import Tune

SIGNIFICANCE = 0.05

Resolution = Literal["better", "worse", "no difference shown", "not resolved"]
# A CV across repetitions is rarely significant with a campaign's blocks, and its interval is less certain.
SHARE_OF_A_CV = 0.1


class Gain(Frozen):
    """One objective of the candidate against the reference, from fresh blocks; None where unknown.

    Attributes:
        reference_value: Over the blocks used: a geometric mean, or a CV; so is `candidate_value`.
        change_fraction: Candidate over reference, minus one, with its interval.
        confidence: Of the interval. The intervals against one reference hold jointly at 95 % over all objectives and
            cases, against advice over those of one case; those of means hold at any stopping time.
        hedges_g: Unpaired difference in standard deviations.
        cliffs_delta: Unpaired, from -1 (the candidate's values are all lower) to 1 (all higher).
        blocks_to_tell: Blocks for a conclusive result (a difference, or no relevant one) if the measured change is the
            true one, up to 100,000.
    """

    objective: ObjectiveName
    reference_value: float | None
    candidate_value: float | None
    change_fraction: float | None
    change_low_fraction: float | None
    change_high_fraction: float | None
    confidence: float = CONFIDENCE
    hedges_g: float | None
    cliffs_delta: float | None
    resolution: Resolution
    reference_repetition_ids: list[str]
    candidate_repetition_ids: list[str]
    blocks_to_tell: int | None = None

    @property
    def worst_fraction(self) -> float | None:
        """Return how much worse it is at the bad end of its interval: 0.1 is 10 %; negative is better."""
        ends = (self.change_low_fraction, self.change_high_fraction)
        worse = -1 if is_maximised(self.objective) else 1
        return max((worse * end for end in ends if end is not None), default=None)

    @property
    def is_unjudged(self) -> bool:
        """Return whether it has no interval."""
        return self.change_low_fraction is None

    def may_be_worse_by(self, fraction: float) -> bool:
        """Return whether it is worse by more than this at the bad end of its interval."""
        return self.is_unjudged if self.worst_fraction is None else self.worst_fraction > fraction

    def lies_within(self, fraction: float) -> bool:
        """Return whether its whole interval lies within this change."""
        low, high = self.change_low_fraction, self.change_high_fraction
        return low is not None and high is not None and -fraction <= low and high <= fraction


def level_of(objective: ObjectiveName, study: Tune, cases: int | None = None) -> float:
    """Return the error level of this objective's interval at one case.

    All objectives and cases, by default the study's, share 5 %; a CV across repetitions gets a tenth of another
    objective's share.
    """
    shares = {
        each: 1.0 if is_mean(each, study.protocol.variability) else SHARE_OF_A_CV for each in study.objective_names
    }
    return SIGNIFICANCE * shares[objective] / (sum(shares.values()) * (cases or len(study.cases)))


def compare(
    objective: ObjectiveName,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    study: Tune,
    cases: int | None = None,
) -> Gain:
    """Compare valid repetitions of the same blocks, in the same order; a block without both values is skipped.

    The intervals of this number of `cases`, by default the study's, hold jointly.
    """
    of_reference, of_candidate, complete = paired_values(objective, reference, candidate, study.protocol)
    return gain_of(objective, of_reference, of_candidate, study, cases).model_copy(
        update={
            "reference_repetition_ids": [r.repetition_id for r in compress(reference, complete)],
            "candidate_repetition_ids": [r.repetition_id for r in compress(candidate, complete)],
        }
    )


def gain_of(
    objective: ObjectiveName, reference: Values, candidate: Values, study: Tune, cases: int | None = None
) -> Gain:
    """Compare values of the same blocks in measuring order, as from `paired_values`, without repetition ids."""
    level, blocks = level_of(objective, study, cases), len(reference)
    if is_mean(objective, study.protocol.variability):
        values = [float(np.exp(np.mean(np.log(side)))) if blocks else float("nan") for side in (reference, candidate)]
        beside = paired_tests.effect_sizes(reference, candidate)
        rounded_to = 2 * smallest_value(objective, study.protocol)
        log_change, sd = sequential.log_ratio_of_means(reference, candidate, rounded_to)
    else:
        values = [coefficient_of_variation(side) for side in (reference, candidate)]
        beside = paired_tests.EffectSizes()
        log_change, sd = sequential.log_ratio_of_cvs(reference, candidate)
    half_width = sd * float(sequential.half_width(blocks, level))
    known = half_width if np.isfinite(half_width) else float("nan")
    ends = (log_change, log_change - known, log_change + known)
    change, low, high = (_known(np.expm1(each)) for each in ends)
    gain = Gain(
        objective=objective,
        reference_value=_known(values[0]),
        candidate_value=_known(values[1]),
        change_fraction=change,
        change_low_fraction=low,
        change_high_fraction=high,
        confidence=1 - level,
        hedges_g=_known(beside.hedges_g),
        cliffs_delta=_known(beside.cliffs_delta),
        resolution="not resolved",
        reference_repetition_ids=[],
        candidate_repetition_ids=[],
    )
    wanted = study.confirmation.wanted_effect_fraction
    resolution = resolution_of(gain, wanted)
    if resolution != "not resolved" or not np.isfinite([log_change, sd]).all():
        return gain.model_copy(update={"resolution": resolution})
    matters = float(np.log1p(-wanted)), float(np.log1p(wanted))
    blocks_to_tell = sequential.blocks_to_answer(log_change, sd, level, matters, blocks + 1)
    return gain.model_copy(update={"blocks_to_tell": blocks_to_tell})


def resolution_of(gain: Gain, wanted_effect_fraction: float) -> Resolution:
    """Classify the gain by its interval.

    - `better` or `worse`: the interval excludes no change.
    - `no difference shown`: it includes no change and lies within the wanted effect on both sides, so any difference is
      irrelevant to the user.
    - `not resolved`: neither, that is inconclusive; a relevant difference is possible.
    """
    low, high = gain.change_low_fraction, gain.change_high_fraction
    if low is None or high is None:
        return "not resolved"
    if low > 0 or high < 0:
        return "better" if (low > 0) is is_maximised(gain.objective) else "worse"
    return "no difference shown" if gain.lies_within(wanted_effect_fraction) else "not resolved"


def paired_values(
    objective: ObjectiveName, reference: Sequence[Repetition], candidate: Sequence[Repetition], protocol: Protocol
) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """Return both sides' values in complete blocks, shape (blocks,), and the mask of complete blocks.

    For means, a 0 counts as half of the tool's resolution; without a resolution its block is dropped, as it has no
    logarithm. For a CV across repetitions, return the values that it is computed from.
    """
    by_mean = is_mean(objective, protocol.variability)
    compared = objective if by_mean else spread_of(objective)
    measured = np.array(
        [[per_repetition_value(r, compared, protocol.variability) for r in side] for side in (reference, candidate)],
        dtype=float,
    )
    if by_mean:
        measured = np.maximum(measured, smallest_value(objective, protocol))
    complete = (np.isfinite(measured) & ((measured > 0) | (not by_mean))).all(axis=0)
    of_reference, of_candidate = measured[:, complete]
    return of_reference, of_candidate, complete


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def gains_over(
    study: Tune,
    other_id: str,
    pick_id: str,
    repetitions: Sequence[Repetition],
    objectives: Sequence[ObjectiveName],
    cases: int | None = None,
) -> list[Gain]:
    """Compare the pick with another configuration in each objective; as for `compare`."""
    sides = paired(other_id, pick_id, repetitions)
    return [compare(objective, *sides, study, cases) for objective in objectives]
