"""Build the first screen of a comparison of topologies: orders/s, the fastest at each load, the effects of faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.answer import effect_lines
from kafka_pareto.comparison.records import Level, PartComparison, is_significant
from kafka_pareto.comparison.screen import MOST_LINES, blocks_text, interval_text, listed, screen_table
from kafka_pareto.comparison.sentences import effects_of
from kafka_pareto.comparison.words import NONE, number_text
from kafka_pareto.drivers.services.rankings import LATENCY, Ranking, is_capacity, rankings_of
from kafka_pareto.drivers.services.studies import TOPOLOGY, CompareServices
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.faults import NO_FAULT

_RATE = "orders_s"
_FAULT = "fault"
_FEWEST_EFFECT_LINES = 4


def answer_lines(
    study: Compare, parts: Sequence[PartComparison], repetitions: Mapping[str, Sequence[Repetition]]
) -> list[str]:
    """Return the answer in at most 14 lines of 80 columns."""
    services = CompareServices.of(study)
    capacities = [part for part in parts if TOPOLOGY in part.factors and is_capacity(services, part)]
    faults = [part for part in parts if part.factors == [_FAULT]]
    rankings = {part.part: rankings_of(services, part) for part in parts}
    others = [part for part in parts if part not in [*capacities, *faults] and not rankings[part.part]]

    closing = [_orders_line(repetitions)]
    lines = [line for part in capacities for line in _capacity_table(part)]
    if ranked := [each for found in rankings.values() for each in found]:
        lines += _ranking_table(ranked)
        alike = [part for part, found in rankings.items() if found and not any(each.is_conclusive for each in found)]
        # Parts without an effect share the line of parts without a ranking.
        alike += [part.part for part in others if not effects_of(part)]
        others = [part for part in others if effects_of(part)]
        lines += [listed(f"No significant difference ({blocks_text(parts)}): ", alike)] if alike else []
    if faults:
        lines += _fault_lines(faults, MOST_LINES - len(lines) - len(closing))
    if others:
        lines += effect_lines(others, max(MOST_LINES - len(lines) - len(closing), _FEWEST_EFFECT_LINES))
    room = MOST_LINES - len(closing)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more lines"]
    return [*lines, *closing]


def _capacity_table(part: PartComparison) -> list[str]:
    """Return the highest sustained rate of each topology, the highest first."""
    reference = part.reference_level.values[TOPOLOGY]
    rows = [("topology", "sustained orders/s", "95 % interval", f"ratio to {reference} (* significant)")]
    for level in sorted(part.levels, key=lambda level: -level.means.get(_RATE, 0.0)):
        mean = level.estimate(_RATE).mean
        measured = (number_text(mean.value), interval_text(mean)) if mean else (NONE, NONE)
        rows.append((str(level.values[TOPOLOGY]), *measured, _times_reference(level, _RATE)))
    return screen_table(rows, "right")


def _times_reference(level: Level, quantity: str) -> str:
    estimate = level.estimate(quantity)
    if level.is_reference:
        return "reference"
    return f"{_times(estimate.ratio.value)}{'*' if is_significant(estimate) else ''}" if estimate.ratio else NONE


def _ranking_table(rankings: Sequence[Ranking]) -> list[str]:
    """Return a row for each load; consecutive loads of a part share one if the same topology is fastest."""
    groups: list[list[Ranking]] = []
    for each in rankings:
        if groups and (groups[-1][0].part, groups[-1][0].fastest) == (each.part, each.fastest):
            groups[-1].append(each)
        else:
            groups.append([each])
    rows = [("part: load", "lowest latency", "slowdown of others (* significant)")]
    rows += [(_where(group), group[0].fastest, _slower(group)) for group in groups]
    return screen_table(rows)


def _where(group: Sequence[Ranking]) -> str:
    """Return the part and its loads, as `paced: load 30%-90%`."""
    first, last = group[0].loads[0], group[-1].loads[-1]
    name = first[: first.rfind(" ") + 1]
    if first == last:
        loads = first
    elif "," not in first and last.startswith(name):
        loads = f"{first}-{last.removeprefix(name)}"
    else:
        loads = f"{len(group)} loads"
    return f"{group[0].part}: {loads}" if loads else group[0].part


def _slower(group: Sequence[Ranking]) -> str:
    texts = []
    for name in dict.fromkeys(name for each in group for name in each.slower):
        found = [each.slower[name] for each in group if name in each.slower]
        low, high = (_times(end(ratio for ratio, _ in found)) for end in (min, max))
        significant = sum(is_significant for _, is_significant in found)
        mark = "*" if significant == len(found) else f" (* in {significant} of {len(found)})" if significant else ""
        texts.append(f"{name} {low}{f'-{high}' if high != low else ''}{mark}")
    return ", ".join(texts)


def _fault_lines(parts: Sequence[PartComparison], room: int) -> list[str]:
    """Return a row per fault, largest latency ratio first, and the parts without a significant fault."""
    found = [(part, level) for part in parts for level in part.levels if level.values[_FAULT] != NO_FAULT]
    found.sort(key=lambda each: -_latency_ratio(each[1]))
    affected = {part.part for part, level in found if is_significant(level.estimate(LATENCY))}
    without = [part.part for part in parts if part.part not in affected]
    shown = found if 1 + len(found) + bool(without) <= room else found[: max(room - 2, 1)]
    rows: list[tuple[str, ...]] = [("fault (* significant)", "latency ms", "no fault", "ratio", "gap s", "recovery s")]
    rows += [_fault_row(part, level) for part, level in shown]
    closing = [f"… and {len(found) - len(shown)} smaller"] if len(shown) < len(found) else []
    if without:
        begun = "; no" if closing else "No"
        named = f"{begun} significant effect on latency ({blocks_text(parts)}): "
        closing = [listed(f"{''.join(closing)}{named}", without)]
    return [*screen_table(rows, "right"), *closing]


def _latency_ratio(level: Level) -> float:
    ratio = level.estimate(LATENCY).ratio
    return ratio.value if ratio else 0.0


def _fault_row(part: PartComparison, level: Level) -> tuple[str, ...]:
    """Return the latency with and without a fault, the longest gap, and when the former p95 was reached again."""
    latencies = (level.means.get(LATENCY), part.reference_of(level).means.get(LATENCY))
    seconds = (level.means.get("silent_s"), level.means.get("recovered_s"))
    return (
        f"{part.part} {level.values[_FAULT]}",
        *map(_number, latencies),
        _times_reference(level, LATENCY),
        *map(_number, seconds),
    )


def _number(value: float | None) -> str:
    return NONE if value is None else number_text(value)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:,.{1 if ratio < 10 else 0}f}"


def _orders_line(repetitions: Mapping[str, Sequence[Repetition]]) -> str:
    """Sum the order counts of all accepted repetitions, whatever their outcome."""
    every = [each.quantities for found in repetitions.values() for each in found]
    names = ("orders_placed", "orders_complete", "orders_out_of_order", "repeats_dropped")
    placed, complete, swapped, repeats = (sum(int(each.get(name) or 0) for each in every) for name in names)
    counts = [f"{placed:,} placed", f"{placed - complete:,} lost", f"{swapped:,} out of order"]
    return listed("Orders: ", [*counts, f"{repeats:,} duplicates dropped"])
