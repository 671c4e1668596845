"""The producer's protocol: how one repetition is sent and measured."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.study.identifiers import MOST_PRODUCERS
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.section import Section

_PACED_LASTS_UP_TO = 3  # times the planned duration: until then the load generator works off a backlog
_HOLDS_FOR = {
    "cold_burst": "short-lived producers",
    "steady": "long-lived producers",
}


class Paced(Section):
    """Adds a part at a fixed rate: `rate_records_s`, or `rate_fraction` of the baseline's capacity.

    A ramp finds the capacity before the campaign.

    The load generator sends it for `seconds`, after the unthrottled phase. Kafka's tool sends everything at this rate
    and takes no `seconds`.
    """

    rate_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    rate_records_s: Annotated[float, Field(ge=1)] | None = None
    warmup_seconds: Annotated[float, Field(ge=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        if (self.rate_fraction is None) == (self.rate_records_s is None):
            raise ValueError("give one of rate_fraction and rate_records_s")
        return self

    def rate_of(self, capacity_records_s: float) -> float:
        """Return the rate, in records per second, for a baseline of this capacity; at least 1."""
        if self.rate_records_s is not None:
            return self.rate_records_s
        return max(capacity_records_s * (self.rate_fraction or 0.0), 1.0)


class ProducerProtocol(Protocol):
    """Adds the load of a repetition.

    CVs within a run use record latencies, and the throughput of successive windows. `timeout_s` limits one load.

    `load_machines: 3` sends each load from three other machines instead of this one, with the
    same number of producers on each.

    `jvm: fresh` starts a JVM per load. `warm` uses one JVM per measuring step and a new producer per load, with one
    longer warm-up at its start; the other warm-ups may be short.
    """

    kind: Literal["cold_burst", "steady"]
    load_tool: Literal["kafka_perf_test", "load_generator"] = "kafka_perf_test"
    load_machines: Annotated[int, Field(ge=0, le=MOST_PRODUCERS)] = 0
    jvm: Literal["fresh", "warm"] = "fresh"
    records: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    warmup_seconds: Annotated[float, Field(ge=0)] = 0.0
    paced: Paced | None = None
    throughput_limit_mib_s: Annotated[float, Field(gt=0)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0

    _not_of_a_repetition: ClassVar[frozenset[str]] = Protocol._not_of_a_repetition | {"timeout_s"}

    @model_validator(mode="after")
    def _sized_one_way(self) -> Self:
        if self.kind == "cold_burst" and (self.records is None or self.seconds is not None or self.warmup_seconds):
            raise ValueError("cold_burst is sized by records alone, without seconds or warmup_seconds")
        if self.kind == "cold_burst" and self.paced is not None:
            raise ValueError("cold_burst cannot be paced; a fixed rate needs kind steady")
        if self.kind == "steady" and (self.seconds is None or self.records is not None):
            raise ValueError("steady is sized by seconds, not by records")
        return self

    @model_validator(mode="after")
    def _ends_before_its_timeout(self) -> Self:
        longest_s = self.unthrottled_s + _PACED_LASTS_UP_TO * self.paced_s
        if self.timeout_s <= longest_s:
            raise ValueError(
                f"timeout_s {self.timeout_s:g} must be above {longest_s:g}: the sum of a repetition's warm-up "
                f"and seconds, and {_PACED_LASTS_UP_TO} times its paced ones, since slow configurations take longer"
            )
        return self

    @model_validator(mode="after")
    def _tool_can_do_it(self) -> Self:
        generator = self.load_tool == "load_generator"
        if generator and (self.paced is None or self.paced.seconds is None or self.kind != "steady"):
            raise ValueError("load_generator needs kind steady, a rate in paced, and paced.seconds")
        if not generator and self.paced is not None and (self.paced.seconds or self.paced.warmup_seconds):
            raise ValueError("kafka_perf_test sends a whole repetition at the fixed rate; set the rate of paced only")
        if self.load_machines and not (generator and self.jvm == "warm"):
            raise ValueError("load_machines needs load_tool load_generator and jvm warm: load machines keep their JVMs")
        if self.jvm == "warm" and self.kind != "steady":
            raise ValueError("jvm warm needs kind steady; cold_burst measures the start of a fresh JVM")
        if self.jvm == "warm" and not generator:
            raise ValueError("jvm warm needs load_tool load_generator; kafka_perf_test exits after each load")
        if not generator and self.variability == "within_run":
            raise ValueError(
                "variability within_run needs load_tool load_generator; kafka_perf_test reports no windows"
            )
        return self

    @property
    def takes_less_if_faster(self) -> bool:
        """Return whether the protocol is sized by records."""
        return self.records is not None

    @property
    def holds_for(self) -> str:
        """Describe the producers to which the measurement applies."""
        return _HOLDS_FOR[self.kind]

    @property
    def other_study(self) -> str:
        """Name the shipped study for the other producers."""
        return "steady" if self.kind == "cold_burst" else "cold_burst"

    @property
    def unthrottled_s(self) -> float:
        """Return the seconds of a repetition's first or only part, warm-up included; 0 if sized by records."""
        return self.warmup_seconds + (self.seconds or 0.0)

    @property
    def paced_s(self) -> float:
        """Return the seconds of the load generator's part at the fixed rate, warm-up included; 0 without one."""
        return (self.paced.warmup_seconds or 0.0) + (self.paced.seconds or 0.0) if self.paced else 0.0

    def latency_resolution_ms(self) -> float:
        """Return the load tool's latency resolution: 1 ms for Kafka's tool, µs for the load generator."""
        return 1.0 if self.load_tool == "kafka_perf_test" else 0.001
