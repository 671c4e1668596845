"""Answer block by block from the recorded grid, with the noise that it shows or a multiple of it.

With a noise level, a repetition is the mean logarithms of its configuration plus a residual of the recording times the
level and the configuration's own standard deviation; the means are the truth. A block's repetitions take residuals that
followed each other in the recording, p95 latency and throughput together: what the machine did to neighbours in time,
it does to both sides of a comparison. Without one, recorded repetitions answer, and the truth is the mean of the
blocks that never do, as in `benchmarks.search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.strategies.table import (
    BLOCKS,
    Answer,
    Values,
    answering_blocks,
    recorded_table,
    table_study,
    truth_blocks,
)
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.tune import Tune

_TUNED_QUANTILE = 0.9

Places: TypeAlias = Sequence[int] | npt.NDArray[np.int_]


@dataclass(frozen=True)
class Pick:
    """Name what a strategy hands over.

    Attributes:
        place: The configuration's place in the table; None where the baseline stays.
        repetitions: How many it has spent.
        promised: The sum of the log-gains in throughput and p95 latency over the baseline that it promises.
        asked: Whether a person is asked before it comes into force.
    """

    place: int | None
    repetitions: int
    promised: float = 0.0
    asked: bool = False


@dataclass(frozen=True)
class RecordedNoise:
    """Holds what the recording says of its configurations and of its noise, in logarithms of latency and throughput.

    Attributes:
        scales: The standard deviation of a repetition of each configuration, shape (configurations, 2). Its variance is
            halfway between the configuration's own, of five repetitions, and the mean of all.
        residuals: Of all repetitions in the order of measuring, in standard deviations, shape (repetitions, 2).
    """

    scales: Values
    residuals: Values


@cache
def recorded_noise() -> RecordedNoise:
    """Return the noise of the recorded grid."""
    table = recorded_table()
    off = (table.losses - table.losses.mean(axis=1, keepdims=True)) * np.sqrt(BLOCKS / (BLOCKS - 1))
    variances = (off**2).mean(axis=1)
    scales = np.sqrt((variances + variances.mean(axis=0)) / 2)
    every = [Answer(place, block) for place in range(len(off)) for block in range(BLOCKS)]
    measured_in = np.argsort([each.started_at for each in table.repetitions(every)])
    residuals = (off / scales[:, np.newaxis]).reshape(-1, 2)[measured_in]
    return RecordedNoise(scales, residuals / residuals.std(axis=0))


@dataclass(frozen=True)
class World:
    """Describes what a strategy measures: which noise, as a multiple of the recorded, and which seed.

    Attributes:
        noise: None where recorded repetitions answer.
        seed: Of the search, of the noise, and of the split of the recorded blocks.
        tuned: Whether the baseline is a good configuration, better than nine of ten, instead of Kafka's defaults.
    """

    noise: float | None
    seed: int
    tuned: bool = False

    @property
    def baseline(self) -> int:
        """Return the baseline's place in the table."""
        table = recorded_table()
        by_gain = np.argsort(-table.losses.mean(axis=1).sum(axis=1), kind="stable")
        return int(by_gain[int(_TUNED_QUANTILE * len(by_gain))]) if self.tuned else table.baseline

    @property
    def study(self) -> Tune:
        """Return the table's study with this baseline."""
        study = _study()
        return study.model_copy(update={"seed": self.seed, "baseline": {**_templates()[self.baseline].configuration}})

    @property
    def true_gains(self) -> Values:
        """Return the sum of the true log-gains in throughput and p95 latency, shape (configurations,)."""
        recorded = recorded_table().losses
        blocks = range(BLOCKS) if self.noise is not None else truth_blocks(self.seed)
        losses = recorded[:, list(blocks)].mean(axis=1).sum(axis=1)
        gains: Values = losses[self.baseline] - losses
        return gains

    def grid(self, stream: int) -> Grid:
        """Return the grid of this world, with noise of its own for each stream."""
        return Grid(self, np.random.default_rng([self.seed, stream, round(10 * (self.noise or 0)), self.tuned]))


class Grid:
    """Measure blocks of configurations, which are named by their places in the table, and count repetitions."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.baseline = world.baseline
        self.repetitions_measured = 0
        self._rng, self._noise, self._answering = rng, world.noise, answering_blocks(world.seed)

    def block(self, places: Places) -> Values:
        """Measure one repetition of each configuration; return log-losses as the table's, shape (places, 2)."""
        recorded, places = recorded_table().losses, np.asarray(places, dtype=int)
        self.repetitions_measured += len(places)
        if self._noise is None:
            drawn: Values = recorded[places, self._rng.choice(self._answering, len(places))]
            return drawn
        noise = recorded_noise()
        first = self._rng.integers(len(noise.residuals))
        following = (first + np.arange(len(places))) % len(noise.residuals)
        losses: Values = recorded[places].mean(axis=1) + self._noise * noise.scales[places] * noise.residuals[following]
        return losses

    def balanced(self, places: Places) -> Values:
        """Measure a block and return log throughput minus log p95 latency, shape (places,)."""
        scores: Values = -self.block(places).sum(axis=1)
        return scores


@cache
def _study() -> Tune:  # takes a while to read
    return table_study()


@cache
def places_by_id() -> dict[str, int]:
    """Return the place in the table of each configuration by its id."""
    return {each.configuration_id: place for place, each in enumerate(_templates())}


def places_of(configurations: Sequence[Configuration]) -> list[int]:
    """Return the places in the table of these configurations."""
    return [places_by_id()[configuration_id(each)] for each in configurations]


def measured(grid: Grid, configurations: Sequence[Configuration], phase: Phase, block: int) -> list[Repetition]:
    """Measure a block as the library's repetitions."""
    places = places_of(configurations)
    return [
        _templates()[place].with_values(
            {
                "repetition_id": f"{phase}-b{block:03d}-{_templates()[place].configuration_id}",
                "phase": phase,
                "block": block,
                "is_baseline": place == grid.baseline,
                "latency_p95_ms": float(np.exp(latency)),
                "throughput_mib_s": float(np.exp(-throughput)),
            }
        )
        for place, (latency, throughput) in zip(places, grid.block(places), strict=True)
    ]


@cache
def _templates() -> list[Repetition]:
    table = recorded_table()
    return table.repetitions([Answer(place, 0) for place in range(len(table.losses))])
