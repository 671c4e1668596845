"""Measurement protocol common to all drivers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.study.section import Count, Fraction, Section

MINIMUM_NOISE_REPETITIONS = 5  # fewer say nothing about a spread


class OutlierRule(Section):
    """Decides when a repetition is rejected and measured again, only for causes outside its configuration.

    `other_cpu_fraction` limits the CPU share of everything on the client's machine except the load. Leave it unset if
    the brokers run there too.
    """

    cpu_steal_fraction: Fraction | None = None
    other_cpu_fraction: Fraction | None = None


class Adaptive(Section):
    """Saves repetitions in the design phase; `repetitions` becomes a trial's maximum.

    A trial ends when the 95 % intervals of its mean p95 latency and throughput are within ± `interval_fraction`, or
    when another trial is clearly better in both. A trial that cannot be recommended ends at the minimum.
    """

    minimum_repetitions: Annotated[int, Field(ge=2)] = 3
    interval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.05


class Protocol(Section):
    """Sets the order, number and acceptance of repetitions. Each driver adds keys for a single repetition.

    `blocks` measures every configuration once, in random order, before any again; `sequential`, the paper's order,
    completes one configuration first. `cool_down_s` is the pause before each load. `variability` takes the CVs across a
    trial's repetitions, or as the mean of those within each run. `noise_repetitions` measure the baseline alone before
    the design.
    """

    repetitions: Count
    order: Literal["blocks", "sequential"] = "blocks"
    cool_down_s: Annotated[float, Field(ge=0)] = 0.0
    max_attempts: Count = 3
    minimum_valid_repetitions: Annotated[int, Field(ge=2)] = 3
    variability: Literal["across_repetitions", "within_run"] = "across_repetitions"
    outliers: OutlierRule = OutlierRule()
    adaptive: Adaptive | None = None
    noise_repetitions: Annotated[int, Field(ge=0)] = 0

    _not_of_a_repetition: ClassVar[frozenset[str]] = frozenset(
        [
            "repetitions",
            "minimum_valid_repetitions",
            "adaptive",
            "noise_repetitions",
            "order",
            "max_attempts",
            "outliers",
        ]
    )

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        if 0 < self.noise_repetitions < MINIMUM_NOISE_REPETITIONS:
            raise ValueError(
                f"noise_repetitions {self.noise_repetitions} must be 0 or at least {MINIMUM_NOISE_REPETITIONS}; "
                "fewer give no noise floor"
            )
        if self.adaptive is None:
            return self
        if self.order != "blocks":
            raise ValueError("adaptive repetitions need order blocks, so that trials are compared after equal numbers")
        if self.adaptive.minimum_repetitions > self.repetitions:
            raise ValueError("adaptive.minimum_repetitions must not exceed repetitions")
        if self.adaptive.minimum_repetitions < self.minimum_valid_repetitions:
            raise ValueError("adaptive.minimum_repetitions must not be below minimum_valid_repetitions")
        return self

    @property
    def takes_less_if_faster(self) -> bool:
        """Return whether a faster configuration ends a repetition sooner, because it sends a number of records."""
        return False

    @property
    def holds_for(self) -> str:
        """Return which producers a decision measured this way applies to; empty if the driver has one way only."""
        return ""

    @property
    def other_study(self) -> str:
        """Return the shipped study for other producers; empty if there is none."""
        return ""

    def of_a_repetition(self) -> dict[str, Any]:
        """Return the keys that define how a single repetition is run."""
        return self.model_dump(exclude=set(self._not_of_a_repetition))
