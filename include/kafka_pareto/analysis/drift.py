"""Tests for drift: a ratio of the settings in force to the baseline that has changed by more than matters. Pure.

A slower machine slows both sides down, so their ratio stays. The ratios are therefore compared, never the values
themselves. The error counts the differences between the blocks of one check. It does not count what the day itself does
to the ratio: the drift fraction must leave room for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.repetition_values import paired, per_repetition_value, smallest_value
from kafka_pareto.analysis.rounding import ROUNDING, Values
from kafka_pareto.analysis.student import student_above, student_critical
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study


class Ratio(Frozen):
    """Holds one objective of the settings in force over the baseline's, from blocks that have both.

    Attributes:
        ratio: The geometric mean of the blocks' ratios: a single slow repetition moves it less than a ratio of means;
            `low` to `high` is its 95 % interval, None where the blocks have no spread.
        log_ratio: The mean of the blocks' log-ratios.
        log_deviation: Their standard deviation.
    """

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    log_ratio: float
    log_deviation: float


class RatioChange(Frozen):
    """Compares the ratio that a check found with its reference.

    Attributes:
        reference: What it is compared with; None where there is nothing yet.
        change_fraction: `found` over `reference`, minus one; `change_low_fraction` to `change_high_fraction` is its 95
            % interval, not widened for the number of comparisons.
        p_value: Of no change beyond the drift fraction, to either side.
        p_value_holm: Adjusted over all comparisons of the check.
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
    """Returns the configuration over the baseline, block by block; None for fewer than two blocks with both valid.

    Args:
        objective: p95 latency or throughput.
        repetitions: Those of one case; other configurations among them are ignored.
        configuration_id: Of the settings in force.
        study: What they were measured by.
    """
    protocol = study.protocol
    values = np.array(
        [
            [per_repetition_value(repetition, objective, protocol.variability) for repetition in side]
            for side in paired(study.baseline_id(), configuration_id, repetitions)
        ],
        dtype=float,
    )
    return ratio_between(*np.maximum(values, smallest_value(objective, protocol)))


def ratio_between(baseline: Values, in_force: Values) -> Ratio | None:
    """Returns the ratio over the blocks that have a value of either side; None for fewer than two.

    Args:
        baseline: One value per block, shape (blocks,); NaN where there is none.
        in_force: The same of the settings in force, in the same blocks.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratios = np.log(in_force / baseline)
    log_ratios = log_ratios[np.isfinite(log_ratios)]
    if len(log_ratios) < paired_tests.MINIMUM_BLOCKS:
        return None
    return _ratio(float(np.mean(log_ratios)), float(np.std(log_ratios, ddof=1)), len(log_ratios))


def change_between(
    objective: ObjectiveName, reference: Ratio | None, found: Ratio | None, drift_fraction: float
) -> RatioChange:
    """Compares two ratios. The result is not yet adjusted for the number of comparisons, and so not yet drifted.

    This is Welch's test on the logarithms, as a minimum-effect test (Murphy and Myors, Journal of Applied Psychology
    84, 1999). Enough blocks find any difference, however small. The null hypothesis is therefore a change of at most
    `drift_fraction`, times or divided by 1 + it, and the p-value is the largest that any such change has. Nothing is
    claimed where neither side has a spread.
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
    """Returns the changes of one check, judged at 5 % after Holm over all of them."""
    p_values = paired_tests.holm([float("nan") if each.p_value is None else each.p_value for each in changes])
    return [
        each
        if each.p_value is None
        else each.model_copy(update={"p_value_holm": p_value, "drifted": p_value < SIGNIFICANCE})
        for each, p_value in zip(changes, p_values, strict=True)
    ]


def change_points(history: Sequence[tuple[Mapping[ObjectiveName, Ratio], float]]) -> list[bool]:
    """Finds the places in a history, oldest first, where its level changed by more than what counted as drift there.

    Each ratio is compared with all since the last change point together: more blocks than those of any single check.

    Args:
        history: Ratios by objective, and the drift fraction that they are judged by.
    """
    found: list[bool] = []
    level: list[Mapping[ObjectiveName, Ratio]] = []
    for ratios, drift_fraction in history:
        changes = [
            change_between(
                objective, pooled([past[objective] for past in level if objective in past]), ratio, drift_fraction
            )
            for objective, ratio in ratios.items()
        ]
        is_left = any(change.drifted for change in adjusted(changes))
        level = [ratios] if is_left else [*level, ratios]
        found.append(is_left)
    return found


def pooled(ratios: Sequence[Ratio]) -> Ratio | None:
    """Returns the ratio over the blocks of all of these together; None for none."""
    if not ratios:
        return None
    blocks = np.array([each.blocks for each in ratios])
    log_ratios = np.array([each.log_ratio for each in ratios])
    within = np.array([each.log_deviation**2 for each in ratios])
    mean = float(np.average(log_ratios, weights=blocks))
    squares = float(np.sum((blocks - 1) * within) + np.sum(blocks * (log_ratios - mean) ** 2))
    return _ratio(mean, float(np.sqrt(squares / (blocks.sum() - 1))), int(blocks.sum()))


def _ratio(log_ratio: float, log_deviation: float, blocks: int) -> Ratio:
    if log_deviation < ROUNDING:  # the blocks are equal and have no spread to judge by
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
