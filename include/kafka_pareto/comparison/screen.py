"""Lines of a comparison's first screen: at most 80 columns and 14 lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import counted
from kafka_pareto.comparison.records import Estimate, Interval, PartComparison, is_significant
from kafka_pareto.comparison.words import NONE, number_text, times_text

WIDTH = 80
MOST_LINES = 14
"""Longest answer: with the addresses and the next steps it then fits a screen of 24 lines."""
_PERCENT_BELOW = 2.0


def fitting(text: str, width: int = WIDTH) -> str:
    """Cut a text to a width, with an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def listed(prefix: str, names: Sequence[str], separator: str = ", ") -> str:
    """Enumerate as many names as fit one line, then the number of further ones."""
    for shown in range(len(names), 0, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        line = f"{prefix}{separator.join(names[:shown])}{more}"
        if len(line) <= WIDTH:
            return line
    return fitting(f"{prefix}{len(names)} in all")


def screen_table(rows: Sequence[Sequence[str]], others: Literal["left", "right"] = "left") -> list[str]:
    """Align the rows; if they are too wide, cut the first column."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    first = WIDTH - sum(width + 2 for width in widths[1:])
    cut = [(fitting(row[0], max(first, 1)), *row[1:]) for row in rows]
    return [fitting(line.rstrip()) for line in table_lines(cut, others)]


def effect_text(ratio: Interval, *, is_better: bool) -> str:
    """Return a ratio as `3.10x worse [2.20, 4.40]`, or as `41 % better [36, 46]` between a half and twice."""
    values = _ends(ratio)
    if 1 / _PERCENT_BELOW < ratio.value < _PERCENT_BELOW:
        texts = [None if each is None else f"{abs(each - 1) * 100:.0f}" for each in values]
        unit = " %"
    else:
        texts = [None if not each else number_text(max(each, 1 / each)) for each in values]
        unit = "x"
    value, *ends = texts
    low, high = reversed(ends) if ratio.value < 1 else ends
    interval = f" [{low}, {high}]" if low and high else ""
    return f"{value}{unit} {'better' if is_better else 'worse'}{interval}"


def interval_text(interval: Interval) -> str:
    """Return the interval's ends as `[2.20, 4.40]`; a dash without them."""
    if interval.low is None or interval.high is None:
        return NONE
    return f"[{number_text(interval.low)}, {number_text(interval.high)}]"


def ratio_cell(estimate: Estimate) -> str:
    """Return a ratio to the reference with a star if significant, and its interval: `1.87* [1.58, 2.21]`."""
    if estimate.ratio is None:
        return NONE
    value, low, high = (None if each is None else times_text(each) for each in _ends(estimate.ratio))
    return f"{value}{'*' if is_significant(estimate) else ''}{f' [{low}, {high}]' if low and high else ''}"


def _ends(interval: Interval) -> tuple[float, float | None, float | None]:
    return (interval.value, interval.low, interval.high)


def blocks_text(parts: Sequence[PartComparison]) -> str:
    """Return the number of blocks that the parts share, as `5 blocks`; the range of it if they differ."""
    numbers = sorted({part.blocks for part in parts})
    return counted(numbers[0], "block") if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} blocks"
