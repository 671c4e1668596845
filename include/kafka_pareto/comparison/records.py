"""Defines the artifact of the step `compare`: what one part of a comparison came to, with the numbers' repetitions."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kafka_pareto.storage.record import Record
from kafka_pareto.study.factors import FactorValue


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(_Content):
    """Holds an estimate with its 95 % interval; the ends are None where too few values give one."""

    value: float
    low: float | None = None
    high: float | None = None


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
        bottleneck: What limited the level, as a code of `bottleneck.verdict`; empty where none was found, or
            in fewer than half of its repetitions. None where nobody looked.
        bottleneck_numbers: What the verdict was found by, by name with unit: the means of those repetitions.
        ceiling_shares: The mean share of each ceiling of the machine at which the level ran, by `bottleneck.shares`'
            names; empty where no ceilings were measured.
        notes: The distinct reasons that valid repetitions carry, like a fixed rate that was not held.
    """

    configuration_id: str
    values: dict[str, FactorValue]
    sets: dict[str, FactorValue] = Field(default_factory=dict)
    is_reference: bool
    outcomes: dict[str, int]
    repetition_ids: list[str]
    estimates: dict[str, Estimate]
    published: dict[str, float] = Field(default_factory=dict)
    bottleneck: str | None = None
    bottleneck_numbers: dict[str, float] = Field(default_factory=dict)
    ceiling_shares: dict[str, float] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


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


class PartComparison(Record):
    """Holds what one part of a comparison came to: a table with one factor, or a grid with two.

    Attributes:
        part: The case: the part's name.
        factors: The varied factors, one or two.
        fixed: What the part sets otherwise than the study's reference, at every level.
        reference: What every level is compared with: the value of each varied factor of the study.
        compared: The quantities that are tested.
        blocks: How many blocks were planned.
        levels: In the study's order.
    """

    kind: Literal["table", "grid"]
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

    @property
    def reference_level(self) -> Level:
        """Returns the level that the others are compared with."""
        return next(level for level in self.levels if level.is_reference)
