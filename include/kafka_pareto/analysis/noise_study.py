"""Measures how much the baseline differs from itself, and so which effects the planned blocks can find. Pure.

An A/A study: the same settings measured again and again. Each repetition and its successor are a block whose two sides
are equal, so that every difference between them is noise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from kafka_pareto.analysis.gains import SIGNIFICANCE, Gain
from kafka_pareto.analysis.paired_tests import CONFIDENCE, MINIMUM_BLOCKS, fewest_blocks_for_cv
from kafka_pareto.analysis.repetition_values import is_mean, per_repetition_value, spread_of
from kafka_pareto.analysis.rounding import ROUNDING, Values, has_spread
from kafka_pareto.analysis.sequential import half_widths
from kafka_pareto.analysis.student import student_critical
from kafka_pareto.analysis.trials import coefficient_of_variation
from kafka_pareto.campaign.records import NoiseOfObjective, NoiseReport, Repetition
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.driver import label_of
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import MINIMUM_NOISE_REPETITIONS
from kafka_pareto.study.tune import Tune

_POWER = 0.8
# How often two sides must have an interval. No more is asked: the commonest of a dozen values is overestimated.
_GIVEN_AN_INTERVAL = 0.5
MOST_BLOCKS = 100_000
_LARGEST_EFFECT_FRACTION = 1000.0


def noise_report(study: Tune, case: str, repetitions: Sequence[Repetition], comparisons: int) -> NoiseReport:
    """Returns the noise floor and minimum detectable effect of each objective, for the gain blocks of the study.

    Args:
        study: The campaign's study.
        case: The case of the repetitions.
        repetitions: The baseline's, one after the other; only valid ones are used.
        comparisons: How many comparisons the campaign's report makes: objectives times cases. The smallest p-value has
            to pass Holm's first step, 5 % over this number.
    """
    valid = sorted((r for r in repetitions if r.outcome == "valid"), key=lambda r: r.block)
    return NoiseReport(
        case=case,
        repetitions=len(valid),
        blocks=study.confirmation.gain_blocks,
        comparisons=comparisons,
        wanted_effect_fraction=study.confirmation.wanted_effect_fraction,
        objectives=[_noise_of(objective, study, valid, comparisons) for objective in study.objective_names],
        repetition_ids=[r.repetition_id for r in valid],
    )


def noise_lines(report: NoiseReport) -> list[str]:
    """Returns the report in sentences, for log and card."""
    return [
        f"{case_label(report.case)}: what {report.blocks} blocks can tell among {report.comparisons} comparisons, "
        f"from {report.repetitions} repetitions of the baseline:",
        *(_line(noise, report) for noise in report.objectives),
    ]


@dataclass(frozen=True)
class Spread:
    """Holds the spread of the log-ratio of two equal sides: its standard deviation times the square root of the blocks.

    Attributes:
        limit: The value that it approaches with many blocks.
        few_blocks: The excess with few blocks: `over(n)` is `limit` times (1 + few_blocks / n^2).
    """

    limit: float
    few_blocks: float = 0.0

    def over(self, blocks: int) -> float:
        """Returns the spread with this many blocks."""
        return self.limit * (1 + self.few_blocks / blocks**2)


def spread_of_mean(values: Values) -> Spread:
    """Returns the spread of the ratio of means.

    It is computed from the mean square of successive differences (von Neumann, Kent, Bellinson and Hart, Annals of
    Mathematical Statistics 12, 1941): slow drift cancels in it, as it does within blocks.
    """
    relative = values / np.mean(values)
    return Spread(float(np.sqrt(np.mean(np.diff(relative) ** 2))))


def spread_of_cv(values: Values) -> Spread:
    """Returns the spread of the ratio of CVs.

    The delta method gives n var(log CV) = (kurtosis - 1) / 4 - skewness x CV + CV^2, for a normal distribution 1/2 +
    CV^2. A dozen values hardly show a tail, so at least the normal's variance is assumed. The excess with few blocks is
    measured: on normal values, `cv_change` needed a larger change than this variance alone predicts to find it with 80
    % power. The factor was 1.7 (6 blocks), 1.5 (7), 1.2 (10) and 1.1 (20).
    """
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps need none of it)

    cv = coefficient_of_variation(values)
    normal = 0.5 + cv**2
    sampled = (stats.kurtosis(values, fisher=False) - 1) / 4 - stats.skew(values) * cv + cv**2
    return Spread(float(np.sqrt(2 * max(normal, sampled))), few_blocks=25.0)


def minimum_detectable_effect_fraction(spread: Spread, blocks: int, comparisons: int) -> float | None:
    """Returns the change that so many blocks find with 80 % power, at 5 % over the number of comparisons.

    Returns:
        None where not even a thousandfold change would be found, as with two or three blocks.
    """
    from statsmodels.stats.power import TTestPower  # noqa: PLC0415  (takes two seconds to import)

    # One-sided at half the level. The two-sided test adds a negligible tail that scipy cannot always compute.
    level = SIGNIFICANCE / comparisons / 2
    deviations = TTestPower().solve_power(nobs=blocks, alpha=level, power=_POWER, alternative="larger")
    log_change = float(deviations) * spread.over(blocks)
    return float(np.expm1(log_change)) if log_change < np.log1p(_LARGEST_EFFECT_FRACTION) else None


def blocks_needed(spread: Spread, effect_fraction: float, comparisons: int, minimum: int) -> int | None:
    """Returns the blocks that find this change with the same power and level; None beyond 100,000."""
    level = SIGNIFICANCE / comparisons / 2
    return _fewest_blocks(lambda blocks: _power(spread, float(np.log1p(effect_fraction)), blocks, level), minimum)


def blocks_to_tell(gain: Gain, wanted_effect_fraction: float, comparisons: int) -> int | None:
    """Returns the blocks with which `resolve` has an answer with 80 % power, if the true change is the measured one.

    There are two answers. One is that there is a change, at 5 % over the number of comparisons. The other is that its
    95 % interval lies within the wanted effect. The noise is that of the gain's own blocks: the interval is treated as
    Student's on the log of the change, which is exact for a mean; or, where it holds at any stop, as what it is.

    Returns:
        None beyond 100,000, and where there is no interval or one without any width.
    """
    blocks = len(gain.candidate_repetition_ids)
    change, low, high = gain.change_fraction, gain.change_low_fraction, gain.change_high_fraction
    if change is None or low is None or high is None:
        return None
    with np.errstate(divide="ignore"):
        seen, half_interval = float(np.log1p(change)), (np.log1p(high) - np.log1p(low)) / 2
    if half_interval <= ROUNDING:
        return None
    if gain.at_any_stop:
        sd = half_interval / half_widths(np.ones(blocks))[-1]
        return _blocks_to_answer(seen, float(sd), wanted_effect_fraction, SIGNIFICANCE / comparisons, blocks + 1)
    spread = Spread(float(half_interval * np.sqrt(blocks) / student_critical((1 - CONFIDENCE) / 2, blocks - 1)))
    to_spare = [float(np.log1p(wanted_effect_fraction)) - seen, seen - float(np.log1p(-wanted_effect_fraction))]

    def power(blocks: int) -> float:
        changed = _power(spread, abs(seen), blocks, SIGNIFICANCE / comparisons / 2)
        within = sum(_power(spread, distance, blocks, SIGNIFICANCE / 2) for distance in to_spare) - 1
        return changed + max(within, 0)

    return _fewest_blocks(power, blocks + 1)


def _blocks_to_answer(
    log_change: float, sd: float, wanted_effect_fraction: float, level: float, minimum: int
) -> int | None:
    """Returns the blocks after which a sequential comparison has answered in 80 % of cases; None beyond 100,000."""
    ends = _changes_shown(sd, 1 - CONFIDENCE)
    within = log_change - ends >= np.log1p(-wanted_effect_fraction)
    within &= log_change + ends <= np.log1p(wanted_effect_fraction)
    return _first((abs(log_change) >= _changes_shown(sd, level)) | within, minimum)


def _changes_shown(sd: float, level: float) -> Values:
    """Returns the log-changes that a sequential comparison shows with 80 % power, from 1, 2, … to 100,000 blocks."""
    off = special.ndtri(_POWER) / np.sqrt(np.arange(1, MOST_BLOCKS + 1))
    return sd * (half_widths(np.ones(MOST_BLOCKS), level) + off)


def _first(answered: npt.NDArray[np.bool_], minimum: int) -> int | None:
    found = np.flatnonzero(answered[minimum - 1 :])
    return int(found[0]) + minimum if len(found) else None


def _power(spread: Spread, log_change: float, blocks: int, level: float) -> float:
    """Returns the power of a one-sided t test on that many blocks."""
    from statsmodels.stats.power import TTestPower  # noqa: PLC0415

    return float(TTestPower().power(log_change / spread.over(blocks), blocks, level, alternative="larger"))


def _fewest_blocks(power: Callable[[int], float], minimum: int) -> int | None:
    """Returns the fewest blocks, from the minimum on, that have the power. It must not fall as blocks are added."""
    numbers = range(minimum, MOST_BLOCKS + 1)
    at = bisect_left(numbers, _POWER, key=power)
    return numbers[at] if at < len(numbers) else None


def _noise_of(objective: ObjectiveName, study: Tune, valid: Sequence[Repetition], comparisons: int) -> NoiseOfObjective:
    variability, confirmation = study.protocol.variability, study.confirmation
    by_mean = is_mean(objective, variability)
    compared = objective if by_mean else spread_of(objective)
    found = [value for r in valid if (value := per_repetition_value(r, compared, variability)) is not None]
    values = np.array(found, dtype=np.float64)
    noise = NoiseOfObjective(
        objective=objective,
        value=None,
        noise_floor_fraction=None,
        minimum_detectable_effect_fraction=None,
        blocks_for_wanted_effect=None,
    )
    if len(values) < MINIMUM_NOISE_REPETITIONS or not has_spread(values):
        return noise
    if by_mean and confirmation.is_sequential:
        return noise.model_copy(update=_noise_at_any_stop(study, values, comparisons))
    spread = spread_of_mean(values) if by_mean else spread_of_cv(values)
    minimum = MINIMUM_BLOCKS if by_mean else fewest_blocks_for_cv(values, _GIVEN_AN_INTERVAL)
    wanted = blocks_needed(spread, confirmation.wanted_effect_fraction, comparisons, minimum)
    update = {
        "value": float(np.mean(values)) if by_mean else coefficient_of_variation(values),
        "blocks_for_wanted_effect": wanted,
    }
    if (blocks := confirmation.gain_blocks) >= minimum:
        half_interval = student_critical((1 - CONFIDENCE) / 2, blocks - 1) * spread.over(blocks) / np.sqrt(blocks)
        update["noise_floor_fraction"] = float(np.expm1(half_interval))
        update["minimum_detectable_effect_fraction"] = minimum_detectable_effect_fraction(spread, blocks, comparisons)
    return noise.model_copy(update=update)


def _noise_at_any_stop(study: Tune, values: Values, comparisons: int) -> dict[str, float | int | None]:
    confirmation, sd = study.confirmation, spread_of_mean(values).limit
    at_last = confirmation.gain_blocks - 1
    shown = _changes_shown(sd, SIGNIFICANCE / comparisons)
    half_interval, least = float(sd * half_widths(np.ones(at_last + 1))[-1]), float(shown[at_last])
    return {
        "value": float(np.mean(values)),
        "noise_floor_fraction": float(np.expm1(half_interval)) if np.isfinite(half_interval) else None,
        "minimum_detectable_effect_fraction": float(np.expm1(least))
        if least < np.log1p(_LARGEST_EFFECT_FRACTION)
        else None,
        "blocks_for_wanted_effect": _first(
            shown <= np.log1p(confirmation.wanted_effect_fraction), confirmation.minimum_blocks
        ),
    }


def _line(noise: NoiseOfObjective, report: NoiseReport) -> str:
    label, effect = label_of(noise.objective), noise.minimum_detectable_effect_fraction
    if noise.value is None:
        return f"{label}: not known from {report.repetitions} valid repetitions."
    if noise.noise_floor_fraction is None:
        found = f"{report.blocks} blocks give no interval of its change"
    else:
        changes = (
            "no change would be found" if effect is None else f"changes of {change_text(effect)} and more are found"
        )
        found = f"noise floor {change_text(noise.noise_floor_fraction)}; {changes}"
    needed = noise.blocks_for_wanted_effect
    blocks = f"more than {MOST_BLOCKS:,}" if needed is None else f"{needed:,}"
    many = needed is None or needed >= 10 * report.blocks
    remark = ", as small changes of a CV do" if many and noise.objective.endswith("_cv") else ""
    return f"{label}: {found}; {report.wanted_effect_fraction:.0%} takes {blocks} blocks{remark}."


def change_text(fraction: float) -> str:
    """Says how large a change is; from doubling on as a multiple."""
    return f"{fraction:.0%}" if fraction < 1 else f"{1 + fraction:.1f}-fold"
