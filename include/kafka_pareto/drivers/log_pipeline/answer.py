"""The first screen of a comparison of log pipelines: the time in each stage, the longest stage, and the label.

For a soak test: latency, longest stage and drift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafka_pareto.analysis.wording import share
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import Level, PartComparison, is_significant
from kafka_pareto.comparison.screen import MOST_LINES, WIDTH, fitting, listed, screen_table
from kafka_pareto.comparison.words import NONE, fixed_text, level_text, number_text, quantity_named
from kafka_pareto.drivers.log_pipeline.soak import LEAST_LINES, drift_lines
from kafka_pareto.drivers.log_pipeline.stages import STAGES
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy
from kafka_pareto.study.compare import Compare

_LATENCY = "latency_mean_ms"
_P95 = "latency_p95_ms"
_P99 = "latency_p99_ms"
_STAGES = tuple(f"{stage}_ms" for stage in STAGES)
_GAP = 2
_LABELS: Mapping[str, str] = {"too_short_to_tell": "inconclusive"}


def answer_lines(
    study: Compare,
    parts: Sequence[PartComparison],
    repetitions: Mapping[str, Sequence[Repetition]],
) -> list[str]:
    """Return the answer in about 14 lines of 80 columns: the first part's stages, then one line per further part."""
    first, *others = parts
    labels = {part.part: _labels(repetitions.get(part.part, ())) for part in parts}
    protocol = LogPipelineStudy.of(study).protocol
    if protocol.keeps_running:
        closing = _lost_lines(repetitions)
        room = (MOST_LINES - len(closing)) // len(parts)
        lines = [
            line
            for part in parts
            for line in _soak_lines(part, labels[part.part], repetitions.get(part.part, ()), protocol.seconds, room)
        ]
        return [*lines, *closing]
    return [
        *_stage_table(first, labels[first.part]),
        *_longest_lines(first),
        *(_part_line(part, labels[part.part]) for part in others),
        *_lost_lines(repetitions),
    ]


def _soak_lines(
    part: PartComparison, labels: Mapping[str, str], windows: Sequence[Repetition], window_s: float, most: int
) -> list[str]:
    """Return the latency of a soak test's only level, its longest stage, and its drift."""
    level = part.reference_level
    latencies = f"mean {_mean(level, _LATENCY)} ms, p99 {_mean(level, _P99)} ms"
    label = labels.get(level.configuration_id, NONE)
    lines = [fitting(f"{part.part}{fixed_text(part)}: latency {latencies}; {label}"), *_longest_lines(part)]
    return [*lines, *drift_lines(windows, window_s, max(most - len(lines), LEAST_LINES))]


def _labels(repetitions: Sequence[Repetition]) -> dict[str, str]:
    """Return the most frequent label of each configuration."""
    found: dict[str, Counter[str]] = {}
    for each in repetitions:
        if label := each.quantities.get("label"):
            found.setdefault(each.configuration_id, Counter())[str(label)] += 1
    return {level: _label_text(labels.most_common(1)[0][0]) for level, labels in found.items()}


def _label_text(label: str) -> str:
    return _LABELS.get(label, label)


def _stage_table(part: PartComparison, labels: Mapping[str, str]) -> list[str]:
    """Return the stages of the reference and the fastest levels that fit, and a line with the other levels."""
    names = (*_STAGES, _LATENCY, _P95)
    side = ("ms (* significant)", *(quantity_named(name).words for name in names), "label")
    free = WIDTH - max(map(len, side))
    shown: list[tuple[str, ...]] = []
    hidden: list[str] = []
    for level in _fastest_first(part):
        label = labels.get(level.configuration_id, NONE)
        column = (level_text(level), *(_mean(level, name) for name in names), label)
        free -= max(map(len, column)) + _GAP
        if free >= 0 and not hidden:
            shown.append(column)
        else:
            hidden.append(f"{level_text(level)} (mean {_mean(level, _LATENCY)} ms, {label})")
    rows = list(zip(side, *shown, strict=True))
    return [*screen_table(rows, "right"), *([listed("Not shown: ", hidden)] if hidden else [])]


def _fastest_first(part: PartComparison) -> list[Level]:
    """Return the reference, then the others by mean latency."""
    others = [level for level in part.levels if level is not part.reference_level]
    return [part.reference_level, *sorted(others, key=_latency_ms)]


def _latency_ms(level: Level) -> float:
    return level.means.get(_LATENCY, float("inf"))


def _mean(level: Level, quantity: str) -> str:
    if quantity not in level.means:
        return NONE
    return f"{number_text(level.means[quantity])}{'*' if is_significant(level.estimate(quantity)) else ''}"


def _longest_lines(part: PartComparison) -> list[str]:
    """Return the longest stage of the reference and of the fastest level."""
    reference, fastest = part.reference_level, min(part.levels, key=_latency_ms)
    levels = [reference] if fastest is reference else [reference, fastest]
    shares: dict[str, list[str]] = {}
    for level in levels:
        if stages := [name for name in _STAGES if name in level.means]:
            longest = max(stages, key=lambda name: level.means[name])
            fraction = level.means[longest] / sum(level.means[name] for name in stages)
            shares.setdefault(quantity_named(longest).words, []).append(f"{share(fraction)} ({level_text(level)})")
    found = [f"{stage}, {', '.join(texts)}" for stage, texts in shares.items()]
    return [listed("Longest stage: ", found, "; ")] if found else []


def _part_line(part: PartComparison, labels: Mapping[str, str]) -> str:
    """Return a part's fastest level with its label, and the reference's latency."""
    reference, fastest = part.reference_level, min(part.levels, key=_latency_ms)
    label = labels.get(fastest.configuration_id, NONE)
    text = f"{part.part}{fixed_text(part)}: fastest is {level_text(fastest)}, {_mean(fastest, _LATENCY)} ms, {label}"
    if fastest is reference:
        return fitting(f"{text} (the reference)")
    return fitting(f"{text}; {level_text(reference)} {_mean(reference, _LATENCY)} ms")


def _lost_lines(repetitions: Mapping[str, Sequence[Repetition]]) -> list[str]:
    """Count lost, duplicated and in-flight events; empty if there are none."""
    every = [each.quantities for found in repetitions.values() for each in found]
    words = {"events_lost": "lost", "events_doubled": "duplicated", "events_pending": "in flight"}
    sums = {word: sum(int(each.get(name) or 0) for each in every) for name, word in words.items()}
    return [listed("Events: ", [f"{number:,} {word}" for word, number in sums.items()])] if any(sums.values()) else []
