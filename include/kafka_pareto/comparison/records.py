"""The artifact of step `compare`: the result of one part, with the repetition ids behind each number."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.storage.record import Record
from kafka_pareto.study.factors import FactorValue


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(_Content):
    """An estimate with its 95 % interval; the ends are None with too few values."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def known(self) -> list[float]:
        """Return the estimate and the ends it has, lowest first."""
        return [each for each in (self.low, self.value, self.high) if each is not None]


class Estimate(_Content):
    """One quantity at one level, over the level's valid repetitions.

    Attributes:
        repetitions: Number of repetitions with a value.
        mean: With Student's interval.
        sd: Standard deviation (n-1); None for a single value.
        ratio: Level over reference: geometric mean of the ratios within blocks that measured both, or the ratio of the
            means if a value is zero. None at the reference, or if a mean is zero or below.
        p_value_holm: Paired within blocks, adjusted over all levels and compared quantities of the part.
        welch_p_value: Welch's test: ignores blocks, unadjusted.
        relative: How many times worse than the best level: 1 at the best, 2 at half its performance.
        relative_sd: Propagated from both standard deviations; None at the best.
        letters: Levels that share a letter do not differ significantly (Games-Howell on logs, 5 % over all compared
            quantities and, in a series, points of the part); `a` includes the best. Empty if untested.
    """

    repetitions: int
    mean: Interval | None = None
    sd: float | None = None
    ratio: Interval | None = None
    p_value_holm: float | None = None
    welch_p_value: float | None = None
    relative: float | None = None
    relative_sd: float | None = None
    letters: str = ""


_UNMEASURED = Estimate(repetitions=0)


class Level(_Content):
    """One level of a part; in a grid, one combination.

    Attributes:
        values: One for each factor of the part.
        sets: Of a variant: its settings that differ from the reference. Of the reference: the values its part fixes.
        outcomes: Number of repetitions by outcome.
        estimates: By quantity.
        published: The published values from the study, by quantity.
        predicted: The model's predictions by quantity; None if infinite.
        bottleneck: A code of `bottleneck.limiting_resource`, found in at least half of the repetitions; empty if none
            was found, None if not examined.
        bottleneck_numbers: The evidence, by name with unit: means of those repetitions.
        ceiling_shares: Mean utilization of each machine ceiling, by the names of `bottleneck.shares`.
        notes: The reasons of valid repetitions, like a fixed rate that was not sustained.
        timelines: Of valid repetitions with a per-second record, in block order.
    """

    configuration_id: str
    values: dict[str, FactorValue]
    sets: dict[str, FactorValue] = Field(default_factory=dict)
    is_reference: bool
    outcomes: dict[str, int]
    repetition_ids: list[str]
    estimates: dict[str, Estimate]
    published: dict[str, float] = Field(default_factory=dict)
    predicted: dict[str, float | None] = Field(default_factory=dict)
    bottleneck: str | None = None
    bottleneck_numbers: dict[str, float] = Field(default_factory=dict)
    ceiling_shares: dict[str, float] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    timelines: list[Timeline] = Field(default_factory=list)

    def estimate(self, quantity: str) -> Estimate:
        """Return the estimate of a quantity; an empty one if it was not measured."""
        return self.estimates.get(quantity, _UNMEASURED)

    @property
    def means(self) -> dict[str, float]:
        """Return the mean of each measured quantity."""
        return {name: estimate.mean.value for name, estimate in self.estimates.items() if estimate.mean}


class Interaction(_Content):
    """Interaction of two factors, for one quantity at one combination of a grid.

    Attributes:
        values: The combination.
        ratio: The combination's ratio over the product of its factors' separate ratios; 1 without interaction.
        p_value_holm: Adjusted over all combinations and compared quantities of the grid.
    """

    quantity: str
    values: dict[str, FactorValue]
    ratio: Interval
    p_value_holm: float | None


class Scaling(_Content):
    """Growth of a throughput with the number of clients: Amdahl's law fitted to the blocks.

    Attributes:
        speedup: Over one client, by level.
        limit: Asymptotic speed-up; None for a linear one.
        serial_fraction: From 0 to 1.
    """

    quantity: str
    speedup: dict[str, Interval]
    limit: Interval | None
    serial_fraction: Interval | None


class Band(_Content):
    """Two neighboring levels of an ordered factor between which a latency jumps.

    Attributes:
        ratio: Upper level over lower, beyond the curve's trend; below 1 for a drop.
        p_value_holm: Adjusted over all steps of all quantities along the factor.
    """

    quantity: str
    lower: FactorValue
    upper: FactorValue
    ratio: Interval
    p_value_holm: float


class RangeRatio(_Content):
    """Comparison of two levels of a series over a named range of the second factor.

    Attributes:
        ratio: Level over other: geometric mean over the range's points, within blocks.
        p_value_holm: Adjusted over all ranges, pairs and compared quantities of the part.
    """

    range: str
    quantity: str
    level: FactorValue
    other: FactorValue
    ratio: Interval
    p_value_holm: float | None


class Crossover(_Content):
    """The crossover of two levels of a series.

    Attributes:
        at: With a bootstrap interval over blocks; an end outside the measured points is None. None unless the levels
            differ significantly one way over the first range and the other way over the last.
        is_better_before: Whether `level` is the better one below the crossover; None without a crossover.
        published_at: The crossover of the published numbers by the same fit; None if they do not cross.
    """

    quantity: str
    level: FactorValue
    other: FactorValue
    at: Interval | None = None
    is_better_before: bool | None = None
    published_at: float | None = None


def is_significant(found: Estimate | Interaction | RangeRatio) -> bool:
    """Return whether a difference is significant after Holm's adjustment."""
    return found.p_value_holm is not None and found.p_value_holm < SIGNIFICANCE


class PartComparison(Record):
    """The result of one part: a table (one factor), a grid (two), or a series of tables.

    Attributes:
        part: The part's name, which is the case.
        factors: One or two; in a series, the compared factor, then the one along which it is compared.
        fixed: Settings of the whole part that differ from the study's reference.
        reference: The study's value of each factor.
        compared: The tested quantities.
        blocks: Planned number.
        levels: In the study's order.
        ranges: Bounds by name, for a series.
    """

    kind: Literal["table", "grid", "series"]
    part: str
    factors: list[str]
    fixed: dict[str, FactorValue]
    reference: dict[str, FactorValue]
    compared: list[str]
    blocks: int
    levels: list[Level]
    interactions: list[Interaction] = Field(default_factory=list)
    scaling: list[Scaling] = Field(default_factory=list)
    bands: list[Band] = Field(default_factory=list)
    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    range_ratios: list[RangeRatio] = Field(default_factory=list)
    crossovers: list[Crossover] = Field(default_factory=list)

    @property
    def reference_level(self) -> Level:
        """Return the reference; in a series, the one at the study's own point."""
        references = [level for level in self.levels if level.is_reference]
        return next((level for level in references if level.values == self.reference), references[0])

    def reference_of(self, level: Level) -> Level:
        """Return the level this one is compared with; in a series, the reference at the same point."""
        if self.kind != "series":
            return self.reference_level
        along = self.factors[1]
        return next(each for each in self.levels if each.is_reference and each.values[along] == level.values[along])
