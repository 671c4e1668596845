"""Adaptive repetitions: choose the trials of the design that continue after each block, from the stored ones.

A trial is rejected by one that is better in all means. A wrong rejection costs at most the difference between the two,
so the threshold is loose; `benchmarks/adaptive.py` measures the regret of the choice, repeated looks included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafka_pareto.analysis.repetition_values import per_repetition_value, smallest_value
from kafka_pareto.analysis.student import student_critical
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.constraints import satisfies
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import tune_study

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

REJECTION_LEVEL = 0.15
_CONFIDENCE = 0.95
# On the recorded cold bursts the trials' log-variances spread by 0.3 to 0.9 more than sampling explains: a prior of
# 3 to 8 degrees of freedom (trigamma(d/2) equals that excess, Smyth 2004).
_PRIOR_DEGREES = 5.0


def active_candidates(
    candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study
) -> list[Candidate]:
    """Return the candidates that the next block measures, in the order given; none once the repetitions are used up.

    From the minimum number of repetitions on, failed ones included, a trial ends if

    - it may not be recommended: it breaks a constraint, guarantees less than the study accepts, or lost or
      duplicated records. It only trains the surrogates, which need no more precision;
    - no repetition of it was valid;
    - the 95 % intervals of the mean logs of p95 latency and throughput are within ± `interval_fraction`;
    - another that may be recommended is clearly better: its mean is better in each, and the mean of their within-block
      log-ratios together is above zero by a one-sided test at 15 %.

    Intervals and test use Student's t with moderated variances (Smyth, Statistical Applications in Genetics and
    Molecular Biology 3, 2004, eq. 3): a trial's own, shrunk towards that of all, since two or three repetitions hardly
    determine a variance. A stopped trial stays stopped. The baseline continues as long as any other.

    Args:
        candidates: All configurations of the design at one record size, the baseline among them.
        repetitions: Their repetitions in all earlier blocks.
        study: The campaign's study.
    """
    adaptive = study.protocol.adaptive
    blocks = {repetition.block for repetition in repetitions}
    if adaptive is None or len(blocks) < adaptive.minimum_repetitions:
        return list(candidates)
    losses = _log_losses(candidates, repetitions, study)
    counts = Counter(repetition.configuration_id for repetition in repetitions)
    in_every_block = np.array([counts[candidate.configuration_id] == len(blocks) for candidate in candidates])
    measured = np.isfinite(losses[0]).any(axis=1)
    narrow = np.isfinite(losses[0]).sum(axis=1) >= adaptive.minimum_repetitions
    for values in losses:
        narrow &= _half_widths(values) <= np.log1p(adaptive.interval_fraction)
    remaining = {each.configuration_id for each in remaining_candidates(candidates, repetitions, study)}
    remains = np.array([each.configuration_id in remaining for each in candidates])
    continues = in_every_block & measured & remains & ~narrow
    active = [each for each, on in zip(candidates, continues, strict=True) if on or each.is_baseline]
    return [] if all(each.is_baseline for each in active) else active


def remaining_candidates(
    candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study
) -> list[Candidate]:
    """Return the candidates that may be recommended and are not clearly worse than another, to choose from."""
    may_be_recommended = _may_be_recommended(candidates, repetitions, study)
    dominated = (_clearly_better(_log_losses(candidates, repetitions, study)) & may_be_recommended).any(axis=1)
    left = may_be_recommended & ~dominated
    return [each for each, stays in zip(candidates, left, strict=True) if stays or each.is_baseline]


def planned_candidates(
    candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study
) -> list[list[Candidate]]:
    """Return the candidates of each block, as decided by the repetitions of earlier blocks; at most the protocol's."""
    planned = []
    for block in range(study.protocol.repetitions):
        active = active_candidates(candidates, [r for r in repetitions if r.block < block], study)
        if not active:
            break
        planned.append(active)
    return planned


def most_repetitions(candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study) -> int:
    """Return the maximum number of repetitions of the candidates: an incomplete block is completed."""
    most = 0
    for block in range(study.protocol.repetitions):
        active = active_candidates(candidates, [r for r in repetitions if r.block < block], study)
        if sum(r.block == block for r in repetitions) < len(active):
            return most + len(active) * (study.protocol.repetitions - block)
        most += len(active)
    return most


def _log_losses(candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study) -> Values:
    """Return log means, negated if more is better, shape (means, candidates, blocks); NaN without a valid one."""
    rows = {candidate.configuration_id: row for row, candidate in enumerate(candidates)}
    columns = {block: column for column, block in enumerate(sorted({r.block for r in repetitions}))}
    losses = np.full((len(study.means), len(candidates), len(columns)), np.nan)
    signs = np.array([-1.0 if is_maximised(mean) else 1.0 for mean in study.means])
    least = np.array([smallest_value(mean, study.protocol) for mean in study.means])
    for repetition in repetitions:
        row, column = rows.get(repetition.configuration_id), columns[repetition.block]
        if row is None or repetition.outcome != "valid":
            continue
        found = [per_repetition_value(repetition, mean, study.protocol.variability) for mean in study.means]
        values = np.maximum(np.array(found, dtype=float), least)
        if (values > 0).all():
            losses[:, row, column] = signs * np.log(values)
    return losses


def _may_be_recommended(candidates: Sequence[Candidate], repetitions: Sequence[Repetition], study: Study) -> Mask:
    """Return whether a candidate may be recommended; the baseline always may, as the fallback."""
    lost = {r.configuration_id for r in repetitions if r.outcome in ("records_lost", "records_duplicated")}
    tune = tune_study(study)
    rules, weakest = tune.rules(), tune.weakest_durability()
    kept_promises = [
        each.configuration_id not in lost
        and satisfies(rules, each.configuration, tune.variables(repetitions[0].case))
        and study.durability_of(each.configuration) >= weakest
        for each in candidates
    ]
    return np.array([each.is_baseline or kept for each, kept in zip(candidates, kept_promises, strict=True)])


def _half_widths(values: Values) -> Values:
    """Return half of the 95 % interval of each row's mean; infinite for an empty row."""
    counts = np.isfinite(values).sum(axis=-1)
    degrees = _PRIOR_DEGREES + counts - 1
    with np.errstate(divide="ignore"):
        return np.where(
            counts > 0,
            student_critical((1 - _CONFIDENCE) / 2, degrees) * np.sqrt(_moderated_variances(values) / counts),
            np.inf,
        )


def _clearly_better(losses: Values) -> Mask:
    """Return whether the column's candidate is clearly better than the row's, in their shared blocks."""
    gains = -losses.sum(axis=0)
    differences = gains[None, :, :] - gains[:, None, :]
    differences[np.diag_indices(len(gains))] = np.nan  # no candidate competes with itself
    counts = np.isfinite(differences).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        standard_errors = np.sqrt(_moderated_variances(differences) / counts)
        least = student_critical(REJECTION_LEVEL, _PRIOR_DEGREES + counts - 1) * standard_errors
        clear: Mask = _means(differences) > least
        for each in losses:
            clear &= _means(each[:, None, :] - each[None, :, :]) > 0
    return clear


def _moderated_variances(values: Values) -> Values:
    """Return the variance along the last axis, shrunk towards that of all rows; below two values the latter."""
    degrees = np.maximum(np.isfinite(values).sum(axis=-1) - 1, 0)
    squares = np.nansum((values - _means(values)[..., None]) ** 2, axis=-1)
    of_all = squares.sum() / max(degrees.sum(), 1)
    moderated: Values = (_PRIOR_DEGREES * of_all + squares) / (_PRIOR_DEGREES + degrees)
    return moderated


def _means(values: Values) -> Values:
    """Return the means along the last axis over known values; NaN if there are none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Values = np.nansum(values, axis=-1) / np.isfinite(values).sum(axis=-1)
    return means
