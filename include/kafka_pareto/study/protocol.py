"""Defines the protocol: the parts of a study that say how a single repetition is sent and measured."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.study.section import Count, Fraction, Section

MINIMUM_NOISE_REPETITIONS = 5  # fewer say nothing about a spread
_PACED_LASTS_UP_TO = 3  # times as long as planned: until then the load generator works off a backlog


class Paced(Section):
    """Fixes the rate: this fraction of the baseline's capacity, which a short ramp finds before the campaign.

    The load generator sends at this rate for `seconds`, after the unthrottled part. Kafka's tool has one part only,
    sends all of it at this rate, and takes no `seconds`.
    """

    rate_fraction: Annotated[float, Field(gt=0, le=1)]
    warmup_seconds: Annotated[float, Field(ge=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None


class OutlierRule(Section):
    """Decides when a repetition does not count and is measured again: only for what its configuration cannot cause.

    `other_cpu_fraction` bounds the CPU used by everything on the client's machine but the load. Leave it unset where
    the brokers run on that machine too: it would count them.
    """

    cpu_steal_fraction: Fraction | None = None
    other_cpu_fraction: Fraction | None = None


class Adaptive(Section):
    """Spends fewer repetitions in the design phase; the protocol's `repetitions` are then the most that a trial gets.

    A trial ends when the 95 % intervals of its mean p95 latency and throughput are within `interval_fraction` to either
    side, or when another trial is clearly better in both. A trial that may not be recommended anyway ends at the
    minimum.
    """

    minimum_repetitions: Annotated[int, Field(ge=2)] = 3
    interval_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.05


class Protocol(Section):
    """Defines how one repetition is run and in which order repetitions follow each other.

    `blocks` measures every configuration once, in random order, before any is measured again. `sequential`, the paper's
    order, runs all repetitions of one configuration before the next. `cool_down_s` passes before every load of a
    repetition. `variability` defines the two CVs: across a trial's repetitions, or within each run (of the records'
    latencies, and of the throughput of successive windows), averaged over the repetitions. `noise_repetitions` are
    spent on the baseline alone before the design, to learn how much it differs from itself. `timeout_s` limits one
    load, from the start of its process to the end.
    """

    kind: Literal["cold_burst", "steady"]
    load_tool: Literal["kafka_perf_test", "load_generator"] = "kafka_perf_test"
    records: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    warmup_seconds: Annotated[float, Field(ge=0)] = 0.0
    paced: Paced | None = None
    repetitions: Count
    order: Literal["blocks", "sequential"] = "blocks"
    cool_down_s: Annotated[float, Field(ge=0)] = 0.0
    throughput_limit_mib_s: Annotated[float, Field(gt=0)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    max_attempts: Count = 3
    minimum_valid_repetitions: Annotated[int, Field(ge=2)] = 3
    variability: Literal["across_repetitions", "within_run"] = "across_repetitions"
    outliers: OutlierRule = OutlierRule()
    adaptive: Adaptive | None = None
    noise_repetitions: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _sized_one_way(self) -> Self:
        if self.kind == "cold_burst" and (self.records is None or self.seconds is not None or self.warmup_seconds):
            raise ValueError("cold_burst is sized by records alone, without seconds or warmup_seconds")
        if self.kind == "cold_burst" and self.paced is not None:
            raise ValueError("cold_burst is not paced; a fixed rate belongs to steady")
        if self.kind == "steady" and (self.seconds is None or self.records is not None):
            raise ValueError("steady is sized by seconds, not by records")
        return self

    @model_validator(mode="after")
    def _ends_before_its_timeout(self) -> Self:
        if self.timeout_s <= self.longest_sending_s():
            raise ValueError(
                f"timeout_s {self.timeout_s:g} must be above {self.longest_sending_s():g}: a repetition's warm-up and "
                f"seconds, and {_PACED_LASTS_UP_TO} times its paced ones, which a slow configuration may take"
            )
        return self

    @model_validator(mode="after")
    def _enough_noise_to_say_anything(self) -> Self:
        if 0 < self.noise_repetitions < MINIMUM_NOISE_REPETITIONS:
            raise ValueError(
                f"noise_repetitions {self.noise_repetitions} must be 0 or at least {MINIMUM_NOISE_REPETITIONS}; from "
                "fewer no noise floor can be told"
            )
        return self

    @model_validator(mode="after")
    def _tool_can_do_it(self) -> Self:
        generator = self.load_tool == "load_generator"
        if generator and (self.paced is None or self.paced.seconds is None or self.kind != "steady"):
            raise ValueError("load_generator measures steady loads, and needs paced.rate_fraction and paced.seconds")
        if not generator and self.paced is not None and (self.paced.seconds or self.paced.warmup_seconds):
            raise ValueError(
                "kafka_perf_test sends all of a repetition at the fixed rate; give paced.rate_fraction alone"
            )
        if not generator and self.variability == "within_run":
            raise ValueError("variability within_run needs load_tool load_generator; Kafka's own prints no windows")
        return self

    @model_validator(mode="after")
    def _adaptive_fits(self) -> Self:
        if self.adaptive is None:
            return self
        if self.order != "blocks":
            raise ValueError("adaptive repetitions need order blocks, so that trials are compared after equal numbers")
        if self.adaptive.minimum_repetitions > self.repetitions:
            raise ValueError("adaptive.minimum_repetitions must not exceed repetitions")
        if self.adaptive.minimum_repetitions < self.minimum_valid_repetitions:
            raise ValueError("adaptive.minimum_repetitions must not be below minimum_valid_repetitions")
        return self

    def longest_sending_s(self) -> float:
        """Returns the longest sending time of a repetition sized by time, in seconds; 0 for one sized by records."""
        paced = self.paced or Paced(rate_fraction=1.0)
        paced_s = (paced.warmup_seconds or 0.0) + (paced.seconds or 0.0)
        return self.warmup_seconds + (self.seconds or 0.0) + _PACED_LASTS_UP_TO * paced_s
