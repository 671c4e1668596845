"""Measure the baseline's noise, and the effects that the planned blocks can detect.

An A/A test: each repetition and its successor form a block of two equal sides, whose difference is noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_pareto.analysis.gains import level_of
from kafka_pareto.analysis.repetition_values import (
    Variability,
    coefficient_of_variation,
    is_mean,
    per_repetition_value,
    smallest_value,
    spread_of,
)
from kafka_pareto.analysis.rounding import Values, has_spread, rounding_sd
from kafka_pareto.analysis.sequential import (
    MOST_BLOCKS,
    blocks_to_show,
    half_width,
    least_change_shown,
    normal_variance_of_log_cv,
)
from kafka_pareto.analysis.wording import counted, share
from kafka_pareto.campaign.records import NoiseOfObjective, NoiseReport, Repetition
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import label_of
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import MINIMUM_NOISE_REPETITIONS
from kafka_pareto.study.tune import Tune

_LARGEST_EFFECT_FRACTION = 1000.0


def noise_report(study: Tune, case: str, repetitions: Sequence[Repetition]) -> NoiseReport:
    """Return the noise floor and minimum detectable effect of each objective for the study's gain blocks.

    `repetitions` are the baseline's in one case, in sequence; invalid ones are ignored.
    """
    valid = sorted((r for r in repetitions if r.outcome == "valid"), key=lambda r: r.block)
    return NoiseReport(
        case=case,
        repetitions=len(valid),
        blocks=study.confirmation.gain_blocks,
        comparisons=len(study.objective_names) * len(study.cases),
        wanted_effect_fraction=study.confirmation.wanted_effect_fraction,
        objectives=[_noise_of(objective, study, valid) for objective in study.objective_names],
        repetition_ids=[r.repetition_id for r in valid],
    )


def noise_lines(report: NoiseReport, variability: Variability | None) -> list[str]:
    """Return the report as lines for log and card; `variability` is the protocol's, None without CVs."""
    return [
        f"{case_label(report.case)} ({report.blocks} blocks, {report.comparisons} comparisons; estimated from "
        f"{report.repetitions} baseline repetitions):",
        *(_line(noise, report, variability) for noise in report.objectives),
    ]


def spread_of_mean(values: Values) -> float:
    """Return the standard deviation of the log-ratio of two equal sides in a block, for a mean of positive values.

    From the mean square of successive differences (von Neumann, Kent, Bellinson and Hart, Annals of Mathematical
    Statistics 12, 1941) of the logs: slow drift cancels in it, as it does within blocks.
    """
    return float(np.sqrt(np.mean(np.log(values[1:] / values[:-1]) ** 2)))


def spread_of_cv(values: Values) -> float:
    """Return a block's contribution to the standard deviation of the log-ratio of two equal sides' CVs.

    The delta method gives n var(log CV) = (kurtosis - 1) / 4 - skewness x CV + CV^2. The lower bound is that of a
    normal distribution, as a dozen values hardly show a tail.
    """
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps do not need it)

    cv = coefficient_of_variation(values)
    sampled = (stats.kurtosis(values, fisher=False) - 1) / 4 - stats.skew(values) * cv + cv**2
    return float(np.sqrt(2 * max(normal_variance_of_log_cv(cv), sampled)))


def _noise_of(objective: ObjectiveName, study: Tune, valid: Sequence[Repetition]) -> NoiseOfObjective:
    variability, confirmation = study.protocol.variability, study.confirmation
    by_mean = is_mean(objective, variability)
    compared = objective if by_mean else spread_of(objective)
    found = [value for r in valid if (value := per_repetition_value(r, compared, variability)) is not None]
    values, smallest = np.array(found, dtype=np.float64), smallest_value(objective, study.protocol)
    if by_mean:
        values = np.maximum(values, smallest)
    if len(values) < MINIMUM_NOISE_REPETITIONS or not has_spread(values) or (by_mean and np.min(values) <= 0):
        return NoiseOfObjective(**{**dict.fromkeys(NoiseOfObjective.model_fields), "objective": objective})
    sd = max(spread_of_mean(values), rounding_sd(2 * smallest, values, values)) if by_mean else spread_of_cv(values)
    level, blocks = level_of(objective, study), confirmation.gain_blocks
    wanted = float(np.log1p(confirmation.wanted_effect_fraction))
    return NoiseOfObjective(
        objective=objective,
        value=float(np.mean(values)) if by_mean else coefficient_of_variation(values),
        noise_floor_fraction=_change(sd * float(half_width(blocks, level))),
        minimum_detectable_effect_fraction=_change(sd * least_change_shown(blocks, level)),
        blocks_for_wanted_effect=blocks_to_show(wanted, sd, level, confirmation.minimum_blocks),
    )


def _change(log_change: float) -> float | None:
    """Return the change as a fraction; None above a thousandfold."""
    return float(np.expm1(log_change)) if log_change < np.log1p(_LARGEST_EFFECT_FRACTION) else None


def _line(noise: NoiseOfObjective, report: NoiseReport, variability: Variability | None) -> str:
    label, effect = label_of(noise.objective), noise.minimum_detectable_effect_fraction
    if noise.value is None:
        return f"{label}: unknown after {counted(report.repetitions, 'valid repetition')}."
    if noise.noise_floor_fraction is None:
        found = f"no interval with {report.blocks} blocks"
    else:
        size = "no detectable change" if effect is None else f"smallest detectable change {change_text(effect)}"
        found = f"noise floor {change_text(noise.noise_floor_fraction)}; {size}"
    needed = noise.blocks_for_wanted_effect
    blocks = f"more than {MOST_BLOCKS:,}" if needed is None else f"{needed:,}"
    many = needed is None or needed >= 10 * report.blocks
    is_cv = variability is not None and not is_mean(noise.objective, variability)
    remark = " (normal for a CV)" if many and is_cv else ""
    return f"{label}: {found}; detecting a {share(report.wanted_effect_fraction)} change takes {blocks} blocks{remark}."


def change_text(fraction: float) -> str:
    """Format a change; from doubling as a multiple."""
    return share(fraction) if fraction < 1 else f"{1 + fraction:.1f}x"
