"""Test for drift: a relevant change in the ratio of the active settings to the baseline.

A slower machine slows both sides, so only ratios are compared. The error reflects differences between the
blocks of one check, not between days: the drift fraction must leave room for those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.repetition_values import paired, per_repetition_value, smallest_value
from kafka_pareto.analysis.rounding import ROUNDING, Values, rounding_sd
from kafka_pareto.analysis.student import student_above, student_critical
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study


class Ratio(Frozen):
    """One objective's ratio, active settings over baseline, from blocks that have both.

    It is the geometric mean of the blocks' ratios, which a single slow repetition moves less than a ratio of means. The
    95 % interval is None if the blocks have no spread. `log_deviation` is the standard deviation of their log-ratios,
    at least that of the tool's rounding.
    """

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    log_ratio: float
    log_deviation: float


class RatioChange(Frozen):
    """A check's ratio compared with its reference, if there is one yet.

    The interval of `change_fraction`, found over reference minus one, is not adjusted for multiple comparisons.
    `p_value` is of no change beyond the drift fraction in either direction, `p_value_holm` adjusted over the check's
    comparisons.
    """

    objective: ObjectiveName
    found: Ratio | None
    reference: Ratio | None
    change_fraction: float | None = None
    change_low_fraction: float | None = None
    change_high_fraction: float | None = None
    p_value: float | None = None
    p_value_holm: float | None = None
    drifted: bool = False


def ratio_of(
    objective: ObjectiveName, repetitions: Sequence[Repetition], configuration_id: str, study: Study
) -> Ratio | None:
    """Return the ratio of the configuration to the baseline in one case; None below two blocks with both valid.

    `objective` is a mean; other configurations' repetitions are ignored.
    """
    protocol = study.protocol
    values = np.array(
        [
            [per_repetition_value(repetition, objective, protocol.variability) for repetition in side]
            for side in paired(study.baseline_id(), configuration_id, repetitions)
        ],
        dtype=float,
    )
    smallest = smallest_value(objective, protocol)
    baseline, active = np.maximum(values, smallest)
    return ratio_between(baseline, active, 2 * smallest)


def ratio_between(baseline: Values, active: Values, resolution: float = 0.0) -> Ratio | None:
    """Return the ratio of values of the same blocks, shape (blocks,), NaN if missing; None below two pairs.

    `resolution` is the smallest difference that the tool shows, 0 for any.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratios = np.log(active / baseline)
    known = np.isfinite(log_ratios)
    log_ratios = log_ratios[known]
    if len(log_ratios) < paired_tests.MINIMUM_BLOCKS:
        return None
    least = rounding_sd(resolution, baseline[known], active[known])
    return _ratio(float(np.mean(log_ratios)), max(float(np.std(log_ratios, ddof=1)), least), len(log_ratios))


def change_between(
    objective: ObjectiveName, reference: Ratio | None, found: Ratio | None, drift_fraction: float
) -> RatioChange:
    """Compare two ratios, not yet adjusted for multiple comparisons and so never `drifted`.

    Welch's test on the logarithms, as a minimum-effect test (Murphy and Myors, Journal of Applied Psychology 84, 1999),
    since enough blocks find any difference, however small. The null hypothesis is a change of at most `drift_fraction`,
    times or divided by 1 + it; the p-value is the largest over such changes. Without spread on both sides there is no
    test.
    """
    unknown = RatioChange(objective=objective, found=found, reference=reference)
    if found is None or reference is None:
        return unknown
    difference = found.log_ratio - reference.log_ratio
    variances = np.array([side.log_deviation**2 / side.blocks for side in (found, reference)])
    error = float(np.sqrt(variances.sum()))
    if not error:
        return unknown.model_copy(update={"change_fraction": float(np.expm1(difference))})
    # Welch and Satterthwaite's degrees of freedom.
    freedom = error**4 / float(np.sum(variances**2 / [found.blocks - 1, reference.blocks - 1]))
    half_width = error * float(student_critical((1 - paired_tests.CONFIDENCE) / 2, freedom))
    margin = float(np.log1p(drift_fraction))
    tails = student_above((abs(difference) + np.array([-margin, margin])) / error, freedom)
    return unknown.model_copy(
        update={
            "change_fraction": float(np.expm1(difference)),
            "change_low_fraction": float(np.expm1(difference - half_width)),
            "change_high_fraction": float(np.expm1(difference + half_width)),
            "p_value": min(float(np.sum(tails)), 1.0),
        }
    )


def adjusted(changes: Sequence[RatioChange]) -> list[RatioChange]:
    """Return the changes of one check, judged at 5 % after Holm's adjustment over all of them."""
    p_values = paired_tests.holm([float("nan") if each.p_value is None else each.p_value for each in changes])
    return [
        each
        if each.p_value is None
        else each.model_copy(update={"p_value_holm": p_value, "drifted": p_value < SIGNIFICANCE})
        for each, p_value in zip(changes, p_values, strict=True)
    ]


def change_points(history: Sequence[tuple[Mapping[ObjectiveName, Ratio], float]]) -> list[bool]:
    """Mark the changes of a history, oldest first, by more than its drift fraction.

    Each entry (ratios by objective, drift fraction) is compared with all since the last change point, pooled: more
    blocks than any single check has.
    """
    found: list[bool] = []
    level: list[Mapping[ObjectiveName, Ratio]] = []
    for ratios, drift_fraction in history:
        changes = []
        for objective, ratio in ratios.items():
            before = pooled([past[objective] for past in level if objective in past])
            changes.append(change_between(objective, before, ratio, drift_fraction))
        is_left = any(change.drifted for change in adjusted(changes))
        level = [ratios] if is_left else [*level, ratios]
        found.append(is_left)
    return found


def pooled(ratios: Sequence[Ratio]) -> Ratio | None:
    """Return the ratio over the blocks of all of these; None without any."""
    if not ratios:
        return None
    blocks = np.array([each.blocks for each in ratios])
    log_ratios = np.array([each.log_ratio for each in ratios])
    within = np.array([each.log_deviation**2 for each in ratios])
    mean = float(np.average(log_ratios, weights=blocks))
    squares = float(np.sum((blocks - 1) * within) + np.sum(blocks * (log_ratios - mean) ** 2))
    return _ratio(mean, float(np.sqrt(squares / (blocks.sum() - 1))), int(blocks.sum()))


def _ratio(log_ratio: float, log_deviation: float, blocks: int) -> Ratio:
    if log_deviation < ROUNDING:  # equal blocks have no spread
        log_deviation = 0.0
    critical = float(student_critical((1 - paired_tests.CONFIDENCE) / 2, blocks - 1))
    half_width = critical * log_deviation / np.sqrt(blocks)
    low, high = (float(np.exp(log_ratio + side * half_width)) for side in (-1, 1))
    return Ratio(
        ratio=float(np.exp(log_ratio)),
        low=low if log_deviation else None,
        high=high if log_deviation else None,
        blocks=blocks,
        log_ratio=log_ratio,
        log_deviation=log_deviation,
    )
