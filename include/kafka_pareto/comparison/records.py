"""Defines the artifact of the step `compare`: what one part of a comparison came to, with the numbers' repetitions."""

from __future__ import annotations

import math
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.storage.record import Record
from kafka_pareto.study.factors import FactorValue


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(_Content):
    """Holds an estimate with its 95 % interval; the ends are None where too few values give one."""

    value: float
    low: float | None = None
    high: float | None = None


class Estimated(Protocol):
    """Is what a statistic returns: a value with the ends of its interval, each NaN where the data give none."""

    @property
    def value(self) -> float:
        """Returns the estimate."""

    @property
    def low(self) -> float:
        """Returns the interval's lower end."""

    @property
    def high(self) -> float:
        """Returns the interval's upper end."""


def interval_of(found: Estimated) -> Interval | None:
    """Returns an estimate as a record holds it; None where there is no value."""
    return (
        Interval(value=found.value, low=known(found.low), high=known(found.high))
        if math.isfinite(found.value)
        else None
    )


def known(value: float) -> float | None:
    """Returns a number, and None for NaN and infinity."""
    return value if math.isfinite(value) else None


class Estimate(_Content):
    """Holds one quantity at one level, over the level's valid repetitions.

    Attributes:
        repetitions: How many have a value.
        mean: With Student's interval.
        sd: Standard deviation, n-1; None for a single value.
        ratio: Level over reference, the geometric mean of the ratios within the blocks that measured both; of the
            means where a value is zero. None at the reference, or where a mean is zero or below.
        p_value_holm: Of no difference in those blocks, adjusted over all levels and compared quantities of the part;
            None for a quantity that the driver does not compare.
        welch_p_value: The same by Welch's test, which ignores blocks; not adjusted.
        relative: The best level's mean over this one's where more is better, else this one's over the best's: 1 at the
            best, 2 where it does half as well.
        relative_sd: Its standard deviation, propagated from both; None where either has none, and at the best.
        letters: Levels of the part that share a letter are not told apart (Games-Howell on logs, at 5 % over the part's
            compared quantities together); `a` goes with the best. Empty where untested.
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


class Level(_Content):
    """Holds one level of a part: for a grid, one combination.

    Attributes:
        values: The level of each of the part's factors.
        sets: Of a variant, what it sets otherwise than the reference; of the reference, what its part fixes of that.
        outcomes: How many repetitions ended with each outcome.
        estimates: By quantity.
        published: What the published work states, by quantity, as the study holds it.
        predicted: What the study's model predicts, by quantity; None where it is infinite. Empty where it has no model.
        bottleneck: What limited the level, as a code of `bottleneck.limiting_resource`; empty where none was found, or
            in fewer than half of its repetitions. None where nobody looked.
        bottleneck_numbers: What the verdict was found by, by name with unit: the means of those repetitions.
        ceiling_shares: The mean share of each ceiling of the machine at which the level ran, by `bottleneck.shares`'
            names; empty where no ceilings were measured.
        notes: The reasons that valid repetitions carry, like a fixed rate that was not held; one for each that has any.
        timelines: Of the valid repetitions that were looked at second by second, in the order of their blocks.
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

    @property
    def means(self) -> dict[str, float]:
        """Returns the mean of each quantity that was measured."""
        return {name: estimate.mean.value for name, estimate in self.estimates.items() if estimate.mean}


class Interaction(_Content):
    """Holds how one factor's effect depends on the other, for one quantity and one combination of a grid.

    Attributes:
        values: The combination.
        ratio: What the combination brings over the product of its two factors' own ratios; 1 where they do not
            interact.
        p_value_holm: Of 1, adjusted over all combinations and compared quantities of the grid.
    """

    quantity: str
    values: dict[str, FactorValue]
    ratio: Interval
    p_value_holm: float | None


class Scaling(_Content):
    """Holds how a throughput grows with a number of clients.

    Attributes:
        quantity: The throughput.
        speedup: Over one client, by level.
        limit: The speed-up that it tends to, by Amdahl's law fitted to the blocks; None where it does not bend.
        serial_fraction: The law's share that no further client speeds up, from 0 to 1.
    """

    quantity: str
    speedup: dict[str, Interval]
    limit: Interval | None
    serial_fraction: Interval | None


class Band(_Content):
    """Names two neighbouring levels of an ordered factor between which a latency jumps.

    Attributes:
        ratio: The jump, upper level over lower, beyond the trend of the curve around; below 1 for a jump down.
        p_value_holm: Of 1, adjusted over all steps of all quantities that are looked at along the factor.
    """

    quantity: str
    lower: FactorValue
    upper: FactorValue
    ratio: Interval
    p_value_holm: float


class RangeRatio(_Content):
    """Holds how one level of a series compares with another over a named range of the factor along which both run.

    Attributes:
        level: Of the compared factor.
        other: The level that it is compared with.
        ratio: The geometric mean over the range's points of level over other, within blocks.
        p_value_holm: Of 1, adjusted over all ranges, pairs and compared quantities of the part.
    """

    range: str
    quantity: str
    level: FactorValue
    other: FactorValue
    ratio: Interval
    p_value_holm: float | None


class Crossover(_Content):
    """Holds where one level of a series overtakes another.

    Attributes:
        at: With a bootstrap interval over blocks; an end is None where it lies outside the measured points. None where
            no crossover is shown: the two do not differ one way over the first range and the other way over the last.
        is_better_before: True where the level is the better one below the crossover, and the worse one above; None
            where no crossover is shown.
        published_at: Where the published numbers cross, by the same fit; None where they do not, or there are none.
    """

    quantity: str
    level: FactorValue
    other: FactorValue
    at: Interval | None = None
    is_better_before: bool | None = None
    published_at: float | None = None


class PartComparison(Record):
    """Holds what one part of a comparison came to: a table with one factor, a grid with two, or a series of tables.

    Attributes:
        part: The case: the part's name.
        factors: The varied factors, one or two; of a series the compared one, then the one along which it is compared.
        fixed: What the part sets otherwise than the study's reference, at every level.
        reference: What every level is compared with: the value of each varied factor of the study.
        compared: The quantities that are tested.
        blocks: How many blocks were planned.
        levels: In the study's order.
        ranges: Of a series, by name: from and to.
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
        """Returns the level that the others are compared with; of a series the one with the study's reference."""
        references = [level for level in self.levels if level.is_reference]
        return next((level for level in references if level.values == self.reference), references[0])

    def reference_of(self, level: Level) -> Level:
        """Returns the level that this one is compared with; in a series the one at the same point."""
        if self.kind != "series":
            return self.reference_level
        along = self.factors[1]
        return next(each for each in self.levels if each.is_reference and each.values[along] == level.values[along])
