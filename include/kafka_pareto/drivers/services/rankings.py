"""Rank topologies by mean latency, at each load or over each range of loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_pareto.comparison.records import Estimate, Level, PartComparison, is_significant
from kafka_pareto.drivers.services.studies import TOPOLOGY, CompareServices, load_of
from kafka_pareto.study.factors import Configuration, FactorValue, configuration_id

LATENCY = "latency_mean_ms"


@dataclass(frozen=True)
class Ranking:
    """The topologies of a part at one load or over one range of loads.

    Attributes:
        loads: The load, or both ends of the range; an empty text if the part has one load.
        fastest: The topology with the lowest latency.
        slower: How many times slower each other one is, and whether that is significant.
    """

    part: str
    loads: tuple[str, ...]
    fastest: str
    slower: Mapping[str, tuple[float, bool]]

    @property
    def is_conclusive(self) -> bool:
        """Return whether any topology is significantly slower than the fastest one."""
        return any(is_significant for _, is_significant in self.slower.values())


def is_capacity(study: CompareServices, part: PartComparison) -> bool:
    """Return whether all levels of a part search the highest sustained rate."""
    loads = (load_of(str(study.effective(level)["load"])) for level in study.levels_of(part.part))
    return all(load.kind == "capacity" for load in loads)


def rankings_of(study: CompareServices, part: PartComparison) -> list[Ranking]:
    """Rank the topologies of a part; empty if it has one, or searches capacities, where latency is not compared."""
    if is_capacity(study, part):
        return []
    if part.kind == "series" and part.factors[0] == TOPOLOGY:
        return [found for name in part.ranges if (found := _over_range(part, name))]
    configurations = {configuration_id(each): each for each in study.levels_of(part.part)}
    by_load: dict[str, dict[str, Level]] = {}
    for level in part.levels:
        settings = configurations[level.configuration_id]
        topology = str(study.effective(settings)[TOPOLOGY])
        if LATENCY in level.means:
            by_load.setdefault(_load_text(study, part, settings), {})[topology] = level
    return [_ranking(part, load, levels) for load, levels in by_load.items() if len(levels) > 1]


def _load_text(study: CompareServices, part: PartComparison, settings: Configuration) -> str:
    """Return the settings that vary within the part, without the topology."""
    levels = study.levels_of(part.part)
    varied = [name for name in settings if name != TOPOLOGY and len({str(each[name]) for each in levels}) > 1]
    return ", ".join(f"{name} {settings[name]}" for name in varied)


def _ranking(part: PartComparison, load: str, levels: Mapping[str, Level]) -> Ranking:
    """Rank by mean; two levels differ significantly if they share no letter."""
    fastest = min(levels, key=lambda name: levels[name].means[LATENCY])
    best = levels[fastest]
    slower = {
        name: (level.means[LATENCY] / best.means[LATENCY], _differ(level.estimate(LATENCY), best.estimate(LATENCY)))
        for name, level in levels.items()
        if name != fastest
    }
    return Ranking(part.part, (load,), fastest, slower)


def _differ(one: Estimate, other: Estimate) -> bool:
    return bool(one.letters and other.letters) and not set(one.letters) & set(other.letters)


def _over_range(part: PartComparison, name: str) -> Ranking | None:
    """Rank by the ratios over a range; None if they do not compare one topology with all others."""
    times: dict[tuple[FactorValue, FactorValue], tuple[float, bool]] = {}
    for each in part.range_ratios:
        if (each.range, each.quantity) == (name, LATENCY):
            times[each.level, each.other] = (each.ratio.value, is_significant(each))
            times[each.other, each.level] = (1 / each.ratio.value, is_significant(each))
    topologies = list(dict.fromkeys(level.values[TOPOLOGY] for level in part.levels))
    for fastest in topologies:
        others = [other for other in topologies if other != fastest]
        if all(times.get((other, fastest), (0.0, False))[0] >= 1 for other in others):
            slower = {str(other): times[other, fastest] for other in others}
            return Ranking(part.part, tuple(f"{end:.0f}" for end in part.ranges[name]), str(fastest), slower)
    return None
