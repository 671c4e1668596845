"""Compare the levels of one part from its repetitions."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from kafka_pareto.analysis.bands import steps_beyond_trend
from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.letters import letters_of
from kafka_pareto.analysis.level_tests import Relative, mean_of, relative_to_best
from kafka_pareto.analysis.paired_tests import holm, welch_p_value
from kafka_pareto.analysis.ratios import Combination, Ratio, interactions, ratio_of_levels
from kafka_pareto.analysis.scaling import fit_scaling
from kafka_pareto.bottleneck.common_verdict import common_verdict
from kafka_pareto.bottleneck.shares import CeilingName, Limit
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.measured import Measured, PlannedLevel, interval_of, known
from kafka_pareto.comparison.records import Band, Estimate, Interaction, Level, PartComparison, Scaling
from kafka_pareto.comparison.series import compare_ranges, crossovers_of
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.quantity import Quantity


class Curve(NamedTuple):
    """The numeric factor of a table, and the quantities examined along it."""

    factor: str
    quantities: Sequence[str]


def compare_part(
    *,
    kind: Literal["table", "grid", "series"],
    part: str,
    factors: Sequence[str],
    fixed: Configuration,
    reference: Configuration,
    planned: Sequence[PlannedLevel],
    blocks: int,
    repetitions: Sequence[Repetition],
    quantities: Sequence[Quantity],
    compared: Sequence[str],
    published: Mapping[str, Mapping[str, float]] | None = None,
    scaling: Curve | None = None,
    bands: Curve | None = None,
    limits: Mapping[str, Limit] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> PartComparison:
    """Compare the levels of a part with its reference in every numeric quantity, over valid repetitions.

    All tests against the reference in the compared quantities are adjusted together: if nothing differs, a part
    reports a difference with a probability of 5 %. Letters, interactions, bands and range comparisons have 5 % each of
    their own.

    Args:
        kind: A table of one factor, a grid of two, or a series of tables along a second factor.
        part: The part's name.
        factors: The varied factors, one or two.
        fixed: Settings of the part that differ from the study's reference.
        reference: The study's value of each factor.
        planned: The levels in display order; exactly one is the reference (in a series, one at each point).
        blocks: Planned number.
        repetitions: Those that passed validation, with any outcome.
        quantities: As the driver declares them.
        compared: The names of the tested quantities.
        published: Published values by configuration id and quantity.
        scaling: The factor that counts clients, from one up, with throughputs.
        bands: An ordered positive factor, with latencies.
        limits: The bottleneck by repetition id; may be incomplete.
        ranges: Ranges of a series' second factor to compare as a whole, lowest first.

    Raises:
        ValueError: If the reference is not unique, a compared quantity is not numeric, or a curve's factor is not the
            table's or has non-numeric levels.
    """
    numeric = [each for each in quantities if each.type is not str]
    measured = Measured(planned, factors, repetitions, factors[1] if kind == "series" else "")
    _require_sense(part, measured, [curve for curve in (scaling, bands) if curve])
    if untested := sorted(set(compared) - {each.name for each in numeric}):
        raise ValueError(f"part {part}: {untested[0]} cannot be compared: the driver declares no such number")
    estimates = _estimates(measured, numeric, compared)
    levels = [_level(measured, each, estimates, published or {}, limits or {}) for each in planned]
    range_ratios = compare_ranges(measured, ranges or {}, compared)
    return PartComparison(
        kind=kind,
        part=part,
        factors=list(factors),
        fixed=dict(fixed),
        reference=dict(reference),
        compared=list(compared),
        blocks=blocks,
        levels=levels,
        interactions=_interactions(measured, compared) if kind == "grid" else [],
        scaling=_scaling(measured, scaling) if scaling else [],
        bands=_bands(measured, bands) if bands else [],
        ranges=dict(ranges or {}),
        range_ratios=range_ratios,
        crossovers=crossovers_of(
            measured, levels, list(ranges or {}), range_ratios, [each for each in numeric if each.name in compared]
        ),
    )


def _require_sense(part: str, measured: Measured, curves: Sequence[Curve]) -> None:
    for group in measured.groups():
        if (references := sum(each.is_reference for each in group)) != 1:
            raise ValueError(f"part {part}: {references} levels are marked as the reference: mark one")
    for curve in curves:
        if [curve.factor] != list(measured.factors):
            raise ValueError(f"part {part}: a curve along {curve.factor} needs a table of this factor alone")


def _level(
    measured: Measured,
    level: PlannedLevel,
    estimates: Mapping[tuple[str, str], Estimate],
    published: Mapping[str, Mapping[str, float]],
    limits: Mapping[str, Limit],
) -> Level:
    name = level.configuration_id
    valid = measured.in_block_order(level)
    found = [limits[each.repetition_id] for each in valid if each.repetition_id in limits]
    verdict = common_verdict([each.verdict for each in found])
    return Level(
        configuration_id=name,
        values={factor: level.configuration[factor] for factor in measured.factors},
        sets=dict(level.sets or {}),
        is_reference=level.is_reference,
        outcomes=dict(Counter(each.outcome for each in measured.repetitions if each.configuration_id == name)),
        repetition_ids=[each.repetition_id for each in valid],
        estimates={quantity: one for (of, quantity), one in estimates.items() if of == name},
        published=dict(published.get(name, {})),
        bottleneck=verdict.code if found else None,
        bottleneck_numbers=dict(verdict.numbers),
        ceiling_shares=_means([each.shares for each in found]),
        notes=[each.reason for each in valid if each.reason],
        timelines=[each.timeline for each in valid if each.timeline],
    )


def _means(found: Sequence[Mapping[CeilingName, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for each in found for name in each)
    return {name: statistics.fmean(each[name] for each in found if name in each) for name in names}


def _estimates(
    measured: Measured, quantities: Sequence[Quantity], compared: Sequence[str]
) -> dict[tuple[str, str], Estimate]:
    found: dict[tuple[str, str], Estimate] = {}
    p_values: dict[tuple[str, str], float] = {}
    groups = measured.groups()
    for quantity, group in product(quantities, groups):
        tested = quantity.name in compared
        samples = [measured.numbers(each, quantity.name) for each in group]
        arrays = [np.array(list(sample.values()), dtype=np.float64) for sample in samples]
        means = [mean_of(array) for array in arrays]
        relatives, letters = [Relative()] * len(group), [""] * len(group)
        if quantity.maximised is not None:
            relatives = relative_to_best(means, quantity.maximised)
        if tested:  # the compared quantities and the groups share the part's 5 % (Bonferroni)
            level_of_each = SIGNIFICANCE / (len(compared) * len(groups))
            letters = letters_of(arrays, maximised=bool(quantity.maximised), significance=level_of_each)
        own = next(at for at, level in enumerate(group) if level.is_reference)
        for at, (level, mean, relative) in enumerate(zip(group, means, relatives, strict=True)):
            ratio = Ratio() if at == own else ratio_of_levels(samples[own], samples[at])
            welch = math.nan if at == own else welch_p_value(arrays[own], arrays[at])
            key = (level.configuration_id, quantity.name)
            if tested:
                p_values[key] = ratio.p_value
            found[key] = Estimate(
                repetitions=len(samples[at]),
                mean=interval_of(mean),
                sd=known(mean.sd),
                ratio=interval_of(ratio),
                welch_p_value=known(welch),
                relative=known(relative.value),
                relative_sd=known(relative.sd),
                letters=letters[at],
            )
    for key, p_value in zip(p_values, holm(list(p_values.values())), strict=True):
        found[key] = found[key].model_copy(update={"p_value_holm": known(p_value)})
    return found


def _interactions(measured: Measured, compared: Sequence[str]) -> list[Interaction]:
    reference = _combination(measured, measured.reference)
    found = [
        (quantity, combination, ratio)
        for quantity in compared
        for combination, ratio in interactions(
            {_combination(measured, each): measured.numbers(each, quantity) for each in measured.planned}, reference
        ).items()
    ]
    adjusted = holm([ratio.p_value for _, _, ratio in found])
    return [
        Interaction(
            quantity=quantity,
            values=dict(zip(measured.factors, combination, strict=True)),
            ratio=interval,
            p_value_holm=known(p_value),
        )
        for (quantity, combination, ratio), p_value in zip(found, adjusted, strict=True)
        if (interval := interval_of(ratio))
    ]


def _combination(measured: Measured, level: PlannedLevel) -> Combination:
    first, second = measured.factors
    return level.configuration[first], level.configuration[second]


def _scaling(measured: Measured, curve: Curve) -> list[Scaling]:
    found = []
    for quantity in curve.quantities:
        by_level = measured.by_level_of(curve.factor, quantity)
        if fit := fit_scaling({int(clients): by_block for clients, by_block in by_level.items()}):
            speedups = {str(clients): interval_of(ratio) for clients, ratio in fit.speedup.items()}
            found.append(
                Scaling(
                    quantity=quantity,
                    speedup={clients: interval for clients, interval in speedups.items() if interval},
                    limit=interval_of(fit.limit),
                    serial_fraction=interval_of(fit.serial_fraction),
                )
            )
    return found


def _bands(measured: Measured, curve: Curve) -> list[Band]:
    steps = [
        (quantity, step)
        for quantity in curve.quantities
        for step in steps_beyond_trend(measured.by_level_of(curve.factor, quantity))
    ]
    adjusted = holm([step.ratio.p_value for _, step in steps])
    return [
        Band(quantity=quantity, lower=step.lower, upper=step.upper, ratio=interval, p_value_holm=p_value)
        for (quantity, step), p_value in zip(steps, adjusted, strict=True)
        if p_value < SIGNIFICANCE and step.is_large and (interval := interval_of(step.ratio))
    ]
