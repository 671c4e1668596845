"""Compares one objective of a candidate with that of a reference, measured in the same blocks. Pure.

The reference is what is in force: the baseline, or settings that came into force in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, model_validator

from kafka_pareto.analysis import paired_tests, sequential
from kafka_pareto.analysis.paired_tests import Change, UnpairedComparison
from kafka_pareto.analysis.repetition_values import is_mean, per_repetition_value, smallest_value, spread_of
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.trials import coefficient_of_variation
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.driver import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol

SIGNIFICANCE = 0.05

Resolution = Literal["better", "worse", "no difference shown", "not resolved"]
# In its far tail the bootstrap of a CV claims too often (`tests/simulations/sequential.py`: a change of one in 6.6 % of
# unchanged campaigns at 5 %). Where nobody fixed the blocks before, the whole campaign is to keep its 5 %.
CAUTION_ABOUT_CVS = 10
_OF_CVS = "bootstrap of the log-ratio of CVs over blocks, expanded percentile interval"


class Gain(BaseModel):
    """Holds one objective of the candidate against the reference, from the blocks of one phase.

    Attributes:
        reference_value: The reference's objective over the blocks used: a mean, or a CV. None where there is none.
        candidate_value: The same of the candidate.
        change_fraction: Candidate over reference, minus one; `change_low_fraction` to `change_high_fraction` is its
            95 % interval, not widened for the number of comparisons.
        p_value: Two-sided, of no change.
        p_value_holm: Adjusted over all objectives, and over all cases once the report has seen them.
        welch_p_value: Welch's test, which ignores blocks, as the next three do. None for a CV across repetitions, of
            which each side has but one.
        mann_whitney_p_value: Mann and Whitney's test.
        hedges_g: Hedges' g: the difference in standard deviations.
        cliffs_delta: Cliff's delta: from -1 (the candidate's values are all lower) to 1 (all higher).
        resolution: See `resolve`.
        blocks_to_tell: Blocks that would resolve the gain, if the true change is the one that was measured. Set where
            it is not resolved, once the report has seen all cases. None beyond 100,000, without an interval, and for
            too few blocks for any claim.
        at_any_stop: Whether interval and p-value hold whatever made the blocks end. The values are geometric means.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: ObjectiveName
    reference_value: float | None
    candidate_value: float | None
    change_fraction: float | None
    change_low_fraction: float | None
    change_high_fraction: float | None
    p_value: float | None
    p_value_holm: float | None
    welch_p_value: float | None
    mann_whitney_p_value: float | None
    hedges_g: float | None
    cliffs_delta: float | None
    method: str
    resolution: Resolution
    reference_repetition_ids: list[str]
    candidate_repetition_ids: list[str]
    blocks_to_tell: int | None = None
    at_any_stop: bool = False

    @property
    def is_unjudged(self) -> bool:
        """Returns whether it is not resolved and has no interval, though it is not known to be equal."""
        return self.resolution == "not resolved" and self.change_low_fraction is None and self.change_fraction != 0

    @model_validator(mode="before")
    @classmethod
    def _of_the_baseline(cls, stored: Any) -> Any:
        """Reads what was stored when every reference was the baseline, and named so."""
        if not isinstance(stored, dict) or "baseline_value" not in stored:
            return stored
        return {name.replace("baseline_", "reference_"): value for name, value in stored.items()}


def compare(
    objective: ObjectiveName,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    protocol: Protocol,
    rng: np.random.Generator,
) -> Gain:
    """Compares valid repetitions of the same blocks, in the same order. The result is not yet adjusted or resolved.

    A block in which one side lacks the value that is compared is left out.
    """
    of_reference, of_candidate, complete = paired_values(objective, reference, candidate, protocol)
    if is_mean(objective, protocol.variability):
        change = paired_tests.mean_change(of_reference, of_candidate)
        values = [float(np.mean(side)) if len(side) else float("nan") for side in (of_reference, of_candidate)]
        method = "ratio of means, Student's t on differences within blocks"
        beside = paired_tests.unpaired_comparison(of_reference, of_candidate)
    else:
        change = paired_tests.cv_change(of_reference, of_candidate, rng)
        values = [coefficient_of_variation(side) for side in (of_reference, of_candidate)]
        method, beside = _OF_CVS, UnpairedComparison()
    sides = list(compress(reference, complete)), list(compress(candidate, complete))
    return _gain(objective, change, values, method, sides, beside)


def compare_at_any_stop(
    objective: ObjectiveName,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    protocol: Protocol,
    rng: np.random.Generator,
) -> Gain:
    """Compares as `compare` does, by what holds whenever the blocks end: geometric means, and their ratio.

    A CV across repetitions is compared by `compare`, since no blocks end because of it; who adjusts the p-values takes
    `CAUTION_ABOUT_CVS` into account.
    """
    if not is_mean(objective, protocol.variability):
        return compare(objective, reference, candidate, protocol, rng)
    of_reference, of_candidate, complete = positive_values(objective, reference, candidate, protocol)
    change = sequential.change_at_any_stop(of_reference, of_candidate, 2 * smallest_value(objective, protocol))
    values = [_geometric_mean(side) for side in (of_reference, of_candidate)]
    method = "ratio of geometric means, t test of log-ratios within blocks that holds at any stop"
    beside = paired_tests.unpaired_comparison(of_reference, of_candidate)
    sides = list(compress(reference, complete)), list(compress(candidate, complete))
    return _gain(objective, change, values, method, sides, beside).model_copy(update={"at_any_stop": True})


def compare_weighted(
    objective: ObjectiveName,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    protocol: Protocol,
    rng: np.random.Generator,
    weights: Values,
) -> Gain:
    """Compares as `compare_at_any_stop` does, with the blocks weighted so that no selection flatters the ratio.

    Args:
        objective: A CV across repetitions is compared by `compare`.
        reference: The valid repetitions of what the candidate is compared with, one per block.
        candidate: The candidate's, of the same blocks.
        protocol: What they were measured by.
        rng: For the bootstrap of the CVs.
        weights: Of the blocks, shape (blocks,).
    """
    if not is_mean(objective, protocol.variability):
        return compare(objective, reference, candidate, protocol, rng)
    of_reference, of_candidate, complete = positive_values(objective, reference, candidate, protocol)
    known = weights[complete]
    if not known.sum() > 0:
        return compare_at_any_stop(objective, reference, candidate, protocol, rng)
    known = known / known.sum()
    least_sd = sequential.least_sd(of_reference, of_candidate, 2 * smallest_value(objective, protocol))
    change = sequential.weighted_change(of_reference, of_candidate, known, least_sd)
    values = [_geometric_mean(side, known) for side in (of_reference, of_candidate)]
    method = "ratio of geometric means, weighted against what stop and claim have selected, Student's t"
    sides = list(compress(reference, complete)), list(compress(candidate, complete))
    return _gain(objective, change, values, method, sides, UnpairedComparison())


def positive_values(
    objective: ObjectiveName, reference: Sequence[Repetition], candidate: Sequence[Repetition], protocol: Protocol
) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """Returns what `paired_values` returns, without blocks of which one side is 0 and has no logarithm."""
    of_reference, of_candidate, complete = paired_values(objective, reference, candidate, protocol)
    positive = (of_reference > 0) & (of_candidate > 0)
    complete[complete] = positive
    return of_reference[positive], of_candidate[positive], complete


def paired_values(
    objective: ObjectiveName, reference: Sequence[Repetition], candidate: Sequence[Repetition], protocol: Protocol
) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """Returns both sides' values of the blocks that have both, shape (blocks,), and which blocks these are.

    For means, a 0 counts as half of the tool's resolution, so that a change from it has a size. For a CV across
    repetitions they are the values that it is computed from.
    """
    by_mean = is_mean(objective, protocol.variability)
    compared = objective if by_mean else spread_of(objective)
    measured = np.array(
        [[per_repetition_value(r, compared, protocol.variability) for r in side] for side in (reference, candidate)],
        dtype=float,
    )
    complete = np.isfinite(measured).all(axis=0)
    least = smallest_value(objective, protocol) if by_mean else -np.inf
    of_reference, of_candidate = np.maximum(measured[:, complete], least)
    return of_reference, of_candidate, complete


def resolve(gain: Gain, p_value_holm: float, wanted_effect_fraction: float) -> Gain:
    """Returns the gain with its adjusted p-value (NaN: it may claim nothing), and what that shows.

    - `better` or `worse`: a change, at 5 % after Holm, however small.
    - `no difference shown`: no such change, and the whole 95 % interval lies within the study's wanted effect to either
      side, so that a difference, if there is one, does not matter to the user. The interval may exclude zero. These are
      two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987) at 2.5 % each,
      stricter than the customary 5 %, which would take the 90 % interval.
    - `not resolved`: neither. A difference that matters is possible; these blocks cannot tell.
    """
    resolution: Resolution = "not resolved"
    low, high = gain.change_low_fraction, gain.change_high_fraction
    if p_value_holm < SIGNIFICANCE and gain.change_fraction:
        wanted = gain.change_fraction > 0 if is_maximised(gain.objective) else gain.change_fraction < 0
        resolution = "better" if wanted else "worse"
    elif np.isfinite(p_value_holm) and low is not None and high is not None:
        within = -wanted_effect_fraction <= low and high <= wanted_effect_fraction
        resolution = "no difference shown" if within else "not resolved"
    return gain.model_copy(update={"p_value_holm": _known(p_value_holm), "resolution": resolution})


def _gain(
    objective: ObjectiveName,
    change: Change,
    values: Sequence[float],
    method: str,
    sides: tuple[Sequence[Repetition], Sequence[Repetition]],
    beside: UnpairedComparison,
) -> Gain:
    return Gain(
        objective=objective,
        reference_value=_known(values[0]),
        candidate_value=_known(values[1]),
        change_fraction=_known(change.change_fraction),
        change_low_fraction=_known(change.low_fraction),
        change_high_fraction=_known(change.high_fraction),
        p_value=_known(change.p_value),
        p_value_holm=None,
        welch_p_value=_known(beside.welch_p_value),
        mann_whitney_p_value=_known(beside.mann_whitney_p_value),
        hedges_g=_known(beside.hedges_g),
        cliffs_delta=_known(beside.cliffs_delta),
        method=method,
        resolution="not resolved",
        reference_repetition_ids=[r.repetition_id for r in sides[0]],
        candidate_repetition_ids=[r.repetition_id for r in sides[1]],
    )


def _geometric_mean(values: Values, weights: Values | None = None) -> float:
    return float(np.exp(np.average(np.log(values), weights=weights))) if len(values) else float("nan")


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
