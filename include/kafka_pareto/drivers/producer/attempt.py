"""Attempt one repetition: run the load and check its counts against the topic's growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

import psutil

from kafka_pareto.analysis.wording import counted
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, verdict_on
from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.campaign.records import Outcome, Sizing
from kafka_pareto.drivers.common.broker_faults import faults_meanwhile
from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.common.load_tool import LoadFigures, LoadRequest, LoadResult, LoadTool
from kafka_pareto.drivers.producer.client_bottleneck import (
    expected_window,
    generator_bound,
    measured_window,
    with_client,
)
from kafka_pareto.drivers.producer.quantities import ProducerQuantities, per_million
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError, SafetyStop
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.kafka.librdkafka_properties import SETTINGS
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.host_load import cpu_fractions
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.faults import BrokerFault, FaultTimes

_MIB = 1 << 20


def attempt_repetition(
    request: LoadRequest,
    testbed: Testbed,
    guard: ClusterGuard,
    healthy: TopicHealth,
    end_offsets: EndOffsets,
    cores: float,
    faults: Sequence[BrokerFault] = (),
    fault_times: FaultTimes = FaultTimes(),  # noqa: B008 (frozen)
) -> tuple[Attempt, LoadResult | None]:
    """Execute the request once and judge the outcome; the load's own result is None if the tool gave none.

    `healthy` is the topic's health just before, `cores` the cores the load tool may use. With `faults`, broker trouble
    during the load is expected, and over before the topic is checked.
    """
    started_at, cpu_before = datetime.now(UTC).isoformat(), psutil.cpu_times()
    leading = len({leader for leader in healthy.leaders if leader is not None})
    expected = expected_window(request, jvm_is_warm=testbed.jvm_is_warm)
    watched = HostCounters(expected, testbed.brokers, testbed.addresses)
    health = partial(testbed.cluster.topic_health, testbed.topic)
    meanwhile = faults_meanwhile(testbed.brokers, faults, fault_times, health)
    load = _Load()
    try:
        with guard.loading():
            load.send(request, testbed.load_tool, guard, end_offsets, watched, meanwhile, has_faults=bool(faults))
            # Look even if the tool gave up: that is often the first sign of an unhealthy cluster.
            if faults:
                guard.wait_until_healthy()
            else:
                load.moved = guard.disturbance(healthy)
    except (ClusterError, SafetyStop) as error:
        load.trouble = error
    result, (outcome, reason) = load.result, load.judged(request.record_size_bytes)
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), result.cpu_s_here if result else 0.0)
    attempt = Attempt(
        outcome=outcome,
        reason=reason,
        is_excused=bool((load.moved or load.not_started) and outcome == "failed"),
        trouble=load.trouble,
        upsets=bool(load.moved or load.trouble) and not faults,  # injected faults do not count as trouble
        started_at=started_at,
        quantities=quantities_of(request, result, load.growth, cores, watched, leading).values(),
        wall_s=result.wall_s if result else 0.0,
        client_cpu_s=result.client_cpu_s if result else 0.0,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
        client_is_known=result is not None,
    )
    return attempt, result


@dataclass
class _Load:
    """A load: the tool's result and the topic's growth, if known, and all problems."""

    result: LoadResult | None = None
    growth: int | None = None
    not_started: str = ""
    gave_up: str = ""
    moved: str = ""
    trouble: ClusterError | SafetyStop | None = None

    def send(
        self,
        request: LoadRequest,
        tool: LoadTool,
        guard: ClusterGuard,
        end_offsets: EndOffsets,
        watched: HostCounters,
        meanwhile: AbstractContextManager[None],
        *,
        has_faults: bool,
    ) -> None:
        try:
            with watched, meanwhile:
                self.result = tool.run(request, guard.watch())
            if has_faults:
                guard.wait_until_healthy()
            self.growth = end_offsets.growth(self.result.records_sent)
            guard.check_throttling(self.result)
            if self.result.records_sent != self.result.records_attempted:
                guard.check_authorisation(self.result.errors)
        except LoadStartError as error:
            self.not_started = str(error)
        except LoadToolError as error:
            guard.check_authorisation(str(error))
            self.gave_up = str(error)

    def judged(self, record_size_bytes: int) -> tuple[Outcome, str]:
        """Return the outcome and its reason; a lost record is lost, whatever else happened."""
        reason = str(self.trouble) if self.trouble else self.not_started or self.gave_up or self.moved
        if self.result is None or self.growth is None:
            return "failed", reason
        outcome, judged = judge(self.result, self.growth, record_size_bytes)
        if outcome in ("records_lost", "records_duplicated"):
            return outcome, judged
        return "failed" if reason else outcome, reason or judged


def request_for(
    case: str,
    configuration: Configuration,
    study: ProducerStudy,
    sizing: Sizing,
    topic: str,
    payload_file: Path | None = None,
) -> LoadRequest:
    """Return the load tool's request for a repetition of a configuration."""
    load = study.load_of(case, configuration)
    sized = sized_for(case, configuration, study, sizing)
    return LoadRequest.of(
        load,
        topic=topic,
        records=sized.records,
        properties=study.sent_properties(configuration),
        timeout_s=study.protocol.timeout_s,
        warmup_records=sized.warmup_records,
        timed=sized.timed,
        throughput_records_s=sized.throughput_limit_records_s,
        payload_file=payload_file,
    )


def sized_for(case: str, configuration: Configuration, study: ProducerStudy, sizing: Sizing) -> Sizing:
    """Return the sizing for this configuration's records, which a comparison may make larger than its reference's.

    The fixed rate then keeps the reference's bytes per second. Smaller records keep its records per second: more would
    exceed what any producer can send.
    """
    reference = study.load_of(case, study.baseline_configuration(case)).record_size_bytes
    share = reference / study.load_of(case, configuration).record_size_bytes
    if share >= 1:
        return sizing
    limit, timed = sizing.throughput_limit_records_s, sizing.timed
    return sizing.model_copy(
        update={
            "records": max(math.ceil(sizing.records * share), 1),
            "throughput_limit_records_s": None if limit is None else limit * share,
            "timed": timed
            and timed.model_copy(update={"paced_rate_records_s": max(timed.paced_rate_records_s * share, 1.0)}),
        }
    )


def quantities_of(
    request: LoadRequest,
    result: LoadResult | None,
    end_offset_growth: int | None,
    cores: float,
    watched: HostCounters,
    leading_brokers: int,
) -> ProducerQuantities:
    """Return the quantities of a load, including the limiting resource.

    Args:
        request: To the load tool.
        result: Its answer; None if it gave none.
        end_offset_growth: Records the topic gained; None if unknown.
        cores: Cores the load tool may use on this machine.
        watched: Counters of the machine meanwhile.
        leading_brokers: Brokers that lead a partition of the topic.
    """
    window: Literal["whole_run", "steady_state"] = (
        "steady_state" if request.warmup_records or request.timed else "whole_run"
    )
    if result is None:
        return ProducerQuantities(window, request.records)
    # The counters are those of this machine, which does not send if load machines do.
    counters = LoadCounters() if result.machines else watched.counters(measured_window(result))
    found = ProducerQuantities(
        window,
        result.records_attempted,
        records_sent=result.records_sent,
        end_offset_growth=end_offset_growth,
        client_cpu_s_per_million_records=per_million(result.client_cpu_s, result.records_sent),
        throughput_mib_s=mib_s(result.figures, request.record_size_bytes) if result.figures else None,
        figures=result.figures,
        client=result.client,
        generator_bound=generator_bound(request, result, cores),
        counters=with_client(counters, request, result, max(leading_brokers, 1)),
    )
    return replace(found, limited_by=verdict_on(found.values(), load_setting(request)).code)


def load_setting(request: LoadRequest, payload: str = "random") -> LoadSetting:
    """Return the parts of the request that determine the limit of the unthrottled phase."""
    timed = request.timed
    limit = timed.paced_rate_records_s if timed and timed.seconds <= 0 else request.throughput_records_s
    queue_bytes = None if request.client == "java" else request.buffer[0]
    applied = SETTINGS[request.client].resolved(request.properties)
    return LoadSetting(
        record_size_bytes=request.record_size_bytes,
        properties=applied,
        rate_limit_records_s=limit,
        producers=request.producers,
        payload=payload,
        queue_bytes=queue_bytes,
        is_synchronous=request.sends == "synchronous",
    )


def judge(result: LoadResult, end_offset_growth: int, record_size_bytes: int) -> tuple[Outcome, str]:
    """Compare the load generator's counts with the request and with the topic.

    A `valid` outcome has a reason only if its latencies exceed the measurable range or are inflated.
    """
    sent, figures, growth = result.records_sent, result.figures, end_offset_growth
    said = result.errors or "reason unknown"
    if sent != result.records_attempted or not sent:
        return "failed", f"{sent} of {result.records_attempted} records were sent: {said}"
    if figures is None:
        return "failed", f"nothing was measured: {said}"
    computed, printed = mib_s(figures, record_size_bytes), figures.printed_mib_s
    if printed is not None and not math.isclose(printed, computed, rel_tol=1e-3, abs_tol=0.006):
        return "failed", "the load generator's MB/sec contradicts its records/sec; check the record size"
    if growth < sent:
        return "records_lost", f"{sent - growth} of {sent} records counted as sent are missing from the topic"
    if growth > sent:
        return "records_duplicated", duplicates_reason(growth - sent)
    return "valid", "; ".join(_reservations(result))


def _reservations(result: LoadResult) -> list[str]:
    """Describe the latencies of a valid repetition."""
    found = []
    if result.paced_records_unsent:
        found.append(
            f"latencies are lower bounds: {counted(result.paced_records_unsent, 'record')} due at the fixed rate had "
            "not been sent after three times the planned duration"
        )
    if not result.is_settled:
        found.append(
            f"latencies may be too high: after a pause of {result.settling_s:.1f} s the machine was still writing data "
            "of the unthrottled phase when the paced phase began"
        )
    return found


def duplicates_reason(surplus: int) -> str:
    """Return the reason of a repetition with duplicate records."""
    return f"the topic contains {surplus} more {'record' if surplus == 1 else 'records'} than were sent"


def mib_s(figures: LoadFigures, record_size_bytes: int) -> float:
    """Return the throughput from records/s, printed with six decimals; MB/sec has two, 5 % of a slow run."""
    return figures.throughput_records_s * record_size_bytes / _MIB
