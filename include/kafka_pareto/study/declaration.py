"""Defines what a driver declares: its objectives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Objective:
    """Describes a quantity that a study may optimise.

    Attributes:
        name: With its unit, as in `p95_latency_ms`.
        label: As people read it, without the unit.
        unit: As people read it; empty for a share.
        maximised: True where more is better.
        quantity: For a mean, the repetition's quantity that is averaged. For a spread, the quantity that holds the
            spread within a single run.
        spread_of: For a spread, the mean whose coefficient of variation across repetitions this is; empty for a mean.
    """

    name: str
    label: str
    unit: str
    maximised: bool
    quantity: str
    spread_of: str = ""

    @property
    def axis_label(self) -> str:
        """Returns the label with its unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Driver:
    """Declares what is loaded and measured.

    Attributes:
        name: As studies name it.
        objectives: In the order of tables and pages.
        identity: By which facts of a fingerprint the measured system is known to be the same one.
    """

    name: str
    objectives: tuple[Objective, ...]
    identity: tuple[str, ...]

    @cached_property
    def objective_names(self) -> tuple[str, ...]:
        """Lists the names of the objectives."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """Lists the objectives that are means. They judge first: a repetition measures a mean well, a spread hardly."""
        return tuple(each.name for each in self.objectives if not each.spread_of)
