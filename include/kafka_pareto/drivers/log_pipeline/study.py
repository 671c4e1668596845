"""Base of all log pipeline studies: settings, load and protocol."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.drivers.log_pipeline.declaration import DRIVER
from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import REPLAY, due_requests, read_log
from kafka_pareto.errors import did_you_mean
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, FactorValue
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.section import Count, Section
from kafka_pareto.study.sections import OwnBrokers
from kafka_pareto.study.setting import Setting
from kafka_pareto.study.study import Study
from kafka_pareto.study.workload import FileBesideStudy

_DAY_MS = 86_400_000
_MOST_EVENTS = 1_000_000
# The limits of `AggregatorOptions`.
_MOST_OF_A_BATCH = 100_000
_MOST_DELAY_MS = 600_000
_LOAD = re.compile(r"([1-9][0-9]*)/s|([1-9][0-9]?|1[0-9]{2}|200)%")
PIPELINE_SETTINGS = (
    Setting("log_lines", "multi", "client", choices=("multi", "single")),
    Setting("scan_frequency_ms", 10_000, "client", least=1, most=_DAY_MS),
    Setting("close_inactive_s", 300, "client", least=1, most=_DAY_MS // 1000),
    Setting("backoff_ms", 1_000, "client", least=1, most=_DAY_MS),
    Setting("max_backoff_ms", 10_000, "client", least=1, most=_DAY_MS),
    Setting("flush_min_events", 2048, "client", least=1, most=_MOST_EVENTS),
    Setting("flush_timeout_ms", 1_000, "client", least=0, most=_DAY_MS),
    Setting("bulk_max_size", 2048, "client", least=1, most=_MOST_EVENTS),
    Setting("pipelining", 2, "client", least=0, most=100),
    Setting("aggregator_batch_size", 125, "client", least=1, most=_MOST_OF_A_BATCH),
    Setting("aggregator_batch_delay_ms", 50, "client", least=1, most=_MOST_DELAY_MS),
    Setting("aggregator_workers", 2, "client", least=1, most=64),
    Setting("aggregator_acknowledges", "kafka", "client", choices=("kafka", "received")),
    Setting("linger_ms", 0, "client", least=0, most=_MOST_DELAY_MS),
    Setting("acks", "1", "client", choices=("0", "1", "all")),
    Setting("trigger_ms", 0, "client", least=0, most=_DAY_MS),
)
"""Settings of the parts, with the defaults of the published study."""
COLLECTOR_SETTINGS = (
    Setting("shipper", "filebeat", "client", choices=("filebeat", "otel")),
    Setting("otel_poll_interval_ms", 200, "client", least=1, most=_DAY_MS),
    Setting("otel_batch_size", 8192, "client", least=1, most=_MOST_EVENTS),
    Setting("otel_batch_timeout_ms", 200, "client", least=1, most=_MOST_DELAY_MS),
)
"""Settings that replace Filebeat and the aggregator with two OpenTelemetry Collectors."""
# The Collector's exporter accepts a linger, too, but sends each batch immediately.
_USED_WITH_BOTH = {"log_lines", "acks", "trigger_ms"}
_UNUSED_WITH = {
    "filebeat": [each.name for each in COLLECTOR_SETTINGS if each.name != "shipper"],
    "otel": [each.name for each in PIPELINE_SETTINGS if each.name not in _USED_WITH_BOTH],
}
LOAD_SETTINGS = (
    Setting("load", "50%", "load"),
    Setting("workload", "shop", "load", choices=("shop", "static", REPLAY)),
    Setting("burst", "none", "load", choices=("none", "once")),
)
SETTINGS = {each.name: each for each in (*PIPELINE_SETTINGS, *COLLECTOR_SETTINGS, *LOAD_SETTINGS)}


def pipeline_setting(name: str) -> Setting:
    """Return the setting of this name; raise ValueError if it does not exist or cannot be tuned."""
    if name in {each.name for each in COLLECTOR_SETTINGS}:
        raise ValueError(f"{name}: cannot be tuned; use it in a comparison")
    known = {each.name: each for each in PIPELINE_SETTINGS}
    if name not in known:
        raise ValueError(f"{name}: is not a setting of a log pipeline{did_you_mean(name, known)}")
    return known[name]


@dataclass(frozen=True)
class RequestRate:
    """A request rate, or a share of the web server's capacity (above 1: overload). Both are None for a replayed log."""

    requests_s: float | None = None
    capacity_fraction: float | None = None


def request_rate_of(text: str) -> RequestRate:
    """Parse `200/s`, or `50%` of the web server's capacity; raise ValueError for anything else."""
    found = _LOAD.fullmatch(text)
    if found is None:
        raise ValueError(
            f"load: {text!r}: must be a rate such as 200/s, or a share of the web server's capacity such as 50%"
        )
    rate, percent = found.groups()
    return RequestRate(requests_s=float(rate)) if rate else RequestRate(capacity_fraction=int(percent) / 100)


class Burst(Section):
    """Sets the period in which requests arrive at `times` the usual rate."""

    from_s: Annotated[float, Field(gt=0)] = 60.0
    until_s: Annotated[float, Field(gt=0)] = 90.0
    times: Annotated[float, Field(gt=1)] = 2.0


class Replay(Section):
    """Names the access log that `workload: replay` sends, at `times` its original rate.

    Its format is nginx's common or combined, or one JSON object per line with `time` (seconds since 1970, or ISO) and
    `request` or `uri`. The file is in the study's folder or below.
    """

    file: FileBesideStudy
    times: Annotated[float, Field(gt=0)] = 1.0


class LogPipelineProtocol(Protocol):
    """Adds the duration of a run, and the time limit for its last requests to reach Hive.

    A run begins when the warm-up requests (of `warmup_s`) are in Hive, or after `drain_s`; until then a few requests
    keep Filebeat polling. Steady-state figures exclude the first `steady_from_s`. A pipeline that still delivers events
    `drain_s` after the last request is too slow; if no more events arrive, the missing ones are lost.

    `keeps_running`, for soak tests in a comparison with one level per part, makes each repetition a window on the same
    running parts. After a failed window, or one with events in flight at its end, nginx, shipper, aggregator and Spark
    restart; broker, shop and database keep running.
    """

    seconds: Annotated[int, Field(ge=10)] = 180
    warmup_s: Annotated[float, Field(ge=0)] = 15.0
    steady_from_s: Annotated[int, Field(ge=0)] = 40
    drain_s: Annotated[float, Field(gt=0)] = 120.0
    keeps_running: bool = False
    burst: Burst = Burst()

    @model_validator(mode="after")
    def _has_a_steady_part(self) -> Self:
        if self.steady_from_s >= self.seconds:
            raise ValueError(
                f"steady_from_s {self.steady_from_s}: must be below seconds {self.seconds} to leave a steady part"
            )
        return self


class LogPipelineStudy(Study):
    """Adds the shop and its load. All parts run on this machine."""

    declaration: ClassVar[Driver] = DRIVER

    database: Literal["mariadb", "sqlite"] = "mariadb"
    senders: Count = 3
    heap_mib: Annotated[int, Field(ge=128)] = 384
    replay: Replay | None = None
    protocol: LogPipelineProtocol

    @abstractmethod
    def effective(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the value of every setting of the parts and of the load."""

    @abstractmethod
    def replays_in(self, cases: Sequence[str]) -> bool:
        """Return whether any level of these cases replays the log."""

    @property
    def own_brokers(self) -> OwnBrokers:
        """Return the pipeline's single broker."""
        return OwnBrokers(brokers=1, heap_mib=self.heap_mib)

    def is_replayed(self, configuration: Configuration) -> bool:
        """Return whether a configuration replays the log."""
        return self.effective(configuration)["workload"] == REPLAY

    def rate_of(self, configuration: Configuration) -> RequestRate:
        """Return the request rate of a configuration."""
        if self.is_replayed(configuration):
            return RequestRate()
        return request_rate_of(str(self.effective(configuration)["load"]))

    def is_within_capacity(self, configuration: Configuration) -> bool:
        """Return whether the load is a share of the web server's capacity, without burst.

        Otherwise, errors of the web server are a result of the level, not a fault of the run.
        """
        fraction = self.rate_of(configuration).capacity_fraction
        return fraction is not None and fraction <= 1 and self.effective(configuration)["burst"] == "none"

    def derived_values(self, values: Values) -> dict[str, float]:
        """Return the number of requests in Hive or in flight, for the plausibility rules."""
        committed, pending = values.get("events_committed"), values.get("events_pending") or 0
        return {"events_accounted_for": math.nan if committed is None else float(committed) + float(pending)}

    def conditions_with(self, **own: Mapping[str, Any]) -> dict[str, Any]:
        """Return shop and protocol of a run, and the kind's own sections, by key."""
        sections = {
            **own,
            "protocol": self.protocol.of_a_repetition(),
            "shop": {"database": self.database, "senders": self.senders},
            "testbed": {"heap_mib": self.heap_mib},
            "replay": self.replay.model_dump() if self.replay else {},
        }
        return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}

    def text_file(self) -> str | None:
        """Return the replayed log, if any."""
        return self.replay.file if self.replay else None

    @property
    def text_key(self) -> str:
        """Return the key that holds the name of `text_file`."""
        return "replay.file"

    def fault_of_text(self, text: str) -> str:
        """Return why the log cannot be replayed (malformed line, or too short for the run); empty if it can."""
        times, seconds = self.replay.times if self.replay else 1.0, self.protocol.seconds
        try:
            last_s, _ = due_requests(read_log(text), times)[-1]
        except ValueError as error:
            return str(error)
        # In a log with whole-second timestamps the last one may be the start of the run's last second.
        if last_s >= seconds - 1:
            return ""
        return (
            f"is too short for a run of {seconds} s: with times {times:g}, its last request is due {last_s:g} s after "
            "the first; use a longer log, or lower times or protocol.seconds"
        )

    def conflict_in(self, level: Configuration) -> str:
        """Return which settings cannot be combined; empty if all can."""
        found, burst = self.effective(level), self.protocol.burst
        if self.is_replayed(level):
            if self.replay is None:
                return f"workload {REPLAY}: needs replay: {{file: my-access.log}}, the log to send"
            for name in ("load", "burst"):
                if found[name] != SETTINGS[name].default:
                    return (
                        f"{name} {found[name]}: must be omitted with workload {REPLAY}; the log sets the request times"
                    )
        try:
            request_rate_of(str(found["load"]))
        except ValueError as error:
            return str(error)
        shipper, common = str(found["shipper"]), self.effective({})
        for name in _UNUSED_WITH[shipper]:
            # A reference with the same shipper must not set them either.
            unchanged = SETTINGS[name].default if common["shipper"] == shipper else common[name]
            if found[name] != unchanged:
                return f"{name} {found[name]}: has no effect with shipper {shipper}; omit it"
        if int(found["max_backoff_ms"]) < int(found["backoff_ms"]):
            return f"max_backoff_ms {found['max_backoff_ms']}: must not be below backoff_ms {found['backoff_ms']}"
        if found["burst"] == "once" and not burst.from_s < burst.until_s < self.protocol.seconds:
            return (
                f"burst: protocol.burst from {burst.from_s:g} s until {burst.until_s:g} s: must end after it begins "
                f"and before the run ends at {self.protocol.seconds} s, since the recovery is measured, too"
            )
        return ""

    @model_validator(mode="after")
    def _replays_what_it_names(self) -> Self:
        if self.replay and not self.replays_in(self.cases):
            raise ValueError(f"replay: no level has workload {REPLAY}; set it, or omit replay")
        return self

    @model_validator(mode="after")
    def _on_a_broker_of_its_own(self) -> Self:
        if self.cluster is not None:
            raise ValueError("cluster: must be omitted; a log pipeline runs its own broker")
        return self
