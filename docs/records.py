"""Give the figures that a kept record holds: values with intervals, and means with deviations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

NUMBER = r"(?<![\w.,])[+-]?\d[\d,]*(?:\.\d+)?"
DEVIATION = re.compile(rf"({NUMBER}) ± ({NUMBER})")
_INTERVAL = re.compile(rf"({NUMBER})(?: ?%)?(?:[^()\d|]{{0,40}}\(| |, )({NUMBER}) ?%? to ({NUMBER})")
_FRESH = ("gain", "final")
_CONFIDENCE = 0.95
_STATISTICS = ("mean", "std", "median", "min", "max")

Interval = tuple[float, float, float]
Deviation = tuple[float, float]


@dataclass
class Figures:
    """The figures of a record.

    Attributes:
        intervals: A value, its low end and its high end each; of a ratio also its change in percent.
        deviations: A mean and its standard deviation each.
    """

    intervals: list[Interval] = field(default_factory=list)
    deviations: list[Deviation] = field(default_factory=list)


@cache
def figures_of(record: Path) -> Figures:
    """Return the figures of a folder of `benchmarks/data`, or of one text or CSV file there."""
    figures = Figures()
    for path in sorted(record.rglob("*")) if record.is_dir() else [record]:
        if path.name == "repetitions.csv":
            _add_repetitions(figures, pd.read_csv(path, low_memory=False))
        elif path.suffix == ".csv":
            _add_table(figures, pd.read_csv(path, low_memory=False))
        elif path.suffix == ".txt":
            _add_text(figures, plain(path.read_text(encoding="utf-8")))
    return figures


def plain(text: str) -> str:
    """Return a text without the marks of Markdown and of significance, its white space folded."""
    return re.sub(r"\s+", " ", re.sub(r"[*`]|\]\([^)]*\)|\[", "", text))


def value_of(text: str) -> float:
    """Return a number as it is printed, with commas between thousands, as a float."""
    return float(text.replace(",", ""))


def _add_text(figures: Figures, text: str) -> None:
    figures.intervals += [(value_of(a), value_of(b), value_of(c)) for a, b, c in _INTERVAL.findall(text)]
    figures.deviations += [(value_of(mean), value_of(sd)) for mean, sd in DEVIATION.findall(text)]


def _add_table(figures: Figures, table: pd.DataFrame) -> None:
    if {"ratio", "ratio_low", "ratio_high"} <= set(table):
        for row in table[["ratio", "ratio_low", "ratio_high"]].dropna().to_numpy(float):
            _add_ratio(figures, row)
    if {"mean", "sd"} <= set(table):
        figures.deviations += [(mean, sd) for mean, sd in table[["mean", "sd"]].dropna().to_numpy(float)]


def _add_repetitions(figures: Figures, repetitions: pd.DataFrame) -> None:
    """Add each configuration's means and medians, and its changes against the baseline within the same fresh blocks.

    Of a campaign that tunes, the fresh blocks count: those that nothing has selected. Of a comparison, all do.
    """
    valid = repetitions.rename(columns={"record_size_bytes": "case"})
    if "outcome" in valid:
        valid = valid[valid.outcome == "valid"]
    fresh = valid[valid.phase.isin(_FRESH)]
    counted = valid if fresh.empty else fresh
    numbers = counted.select_dtypes("number").columns.difference(["case", "block"])
    levels = counted.groupby(["case", "configuration_id"])[list(numbers)]
    mean, sd, mid, low, high = (getattr(levels, name)().to_numpy(float).ravel() for name in _STATISTICS)
    figures.deviations += zip(mean, sd, strict=True)
    figures.intervals += zip(mid, low, high, strict=True)
    for _, case in counted.groupby("case"):
        sides = {name: _by_block(own) for name, own in case.groupby("configuration_id")}
        for reference in sides.keys() & set(fresh.configuration_id[fresh.is_baseline.astype(bool)]):
            for own in sides.keys() - {reference}:
                for ratio in _ratios(sides[reference], sides[own]):
                    _add_ratio(figures, ratio)


def _by_block(repetitions: pd.DataFrame) -> pd.DataFrame:
    return repetitions.set_index(["phase", "block"]).select_dtypes("number")


def _ratios(reference: pd.DataFrame, own: pd.DataFrame) -> Iterator[np.ndarray]:
    """Yield geometric means of the ratios within blocks, each with Student's interval of their logarithms."""
    blocks = reference.index.intersection(own.index)
    with np.errstate(all="ignore"):
        logs = np.log(own.loc[blocks] / reference.loc[blocks]).replace([np.inf, -np.inf], np.nan).dropna(axis=1)
    if len(logs) > 1:
        reach = stats.t.ppf((1 + _CONFIDENCE) / 2, len(logs) - 1) * logs.std() / np.sqrt(len(logs))
        yield from np.exp(pd.DataFrame([logs.mean(), logs.mean() - reach, logs.mean() + reach])).T.to_numpy(float)


def _add_ratio(figures: Figures, row: np.ndarray) -> None:
    value, low, high = map(float, row)
    figures.intervals += [(value, low, high), (100 * (value - 1), 100 * (low - 1), 100 * (high - 1))]
