"""Attempt one repetition of a consumer group: read a topic, then follow a producer, and judge the outcome."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime

import psutil

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.records import Outcome
from kafka_pareto.drivers.consumer.load import ConsumerRequest, ConsumerResult, LiveLoad
from kafka_pareto.drivers.consumer.quantities import ConsumerQuantities
from kafka_pareto.drivers.consumer.studies import CompareConsumer
from kafka_pareto.drivers.consumer.testbed import ConsumerTestbed
from kafka_pareto.errors import LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.host_load import cpu_fractions

_HELD_FRACTION = 0.97


def attempt_reading(planned: PlannedRepetition, study: CompareConsumer, testbed: ConsumerTestbed) -> Attempt:
    """Let the group read, and judge the outcome; a failure of the tool becomes the attempt's reason."""
    started_at, cpu_before = datetime.now(UTC).isoformat(), psutil.cpu_times()
    results, reason, is_excused = [], "", False
    try:
        for request in requests_for(planned, study, testbed):
            results.append(testbed.load_tool.run(request))  # noqa: PERF401 (keep results read before a failure)
    except LoadToolError as error:
        reason, is_excused = str(error), isinstance(error, LoadStartError)
    client_cpu_s = sum(result.client_cpu_s for result in results)
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), client_cpu_s)
    outcome, judged = judge(results) if results and not reason else ("failed", reason)
    return Attempt(
        outcome=outcome,
        reason=judged,
        is_excused=is_excused,
        started_at=started_at,
        quantities=quantities_of(results, study.consumers(planned.candidate.configuration)).values(),
        wall_s=sum(result.wall_s for result in results),
        client_cpu_s=client_cpu_s,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
        client_is_known=not reason,
    )


def requests_for(planned: PlannedRepetition, study: CompareConsumer, testbed: ConsumerTestbed) -> list[ConsumerRequest]:
    """Return the load generator's requests: read the topic and, if the study has a live part, follow a producer."""
    protocol, configuration = study.protocol, planned.candidate.configuration
    reading = ConsumerRequest(
        topic=testbed.topic,
        group=_new_group(planned),
        properties=study.properties(configuration),
        timeout_s=protocol.timeout_s,
        consumers=study.consumers(configuration),
        warmup_s=protocol.warmup_seconds,
        read_timeout_s=protocol.timeout_s / 2,
    )
    live = live_load(study)
    if live is None:
        return [reading]
    return [reading, replace(reading, topic=testbed.live_topic, group=_new_group(planned), live=live)]


def live_load(study: CompareConsumer) -> LiveLoad | None:
    """Return the producer's load while the group follows; None if the study has no live part."""
    live, workload = study.protocol.live, study.workload
    if live is None:
        return None
    return LiveLoad(workload.record_size_bytes, live.rate_records_s, live.seconds, workload.producer_properties())


def judge(results: list[ConsumerResult]) -> tuple[Outcome, str]:
    """Compare the records read with the topic's.

    Each record of the topic must be read once. A group that follows a producer may lag and leave records unread.
    """
    for result in results:
        found, said = result.quantities, result.errors or "no reason given"
        if found.records_lost:
            return "records_lost", f"{found.records_lost} of {found.records_expected} records were skipped"
        if found.records_twice:
            return "records_duplicated", f"{found.records_twice} records were read more than once"
        if found.mode == "drain" and (result.records_unread or found.records_read != found.records_expected):
            return "failed", f"{found.records_read} of {found.records_expected} records were read: {said}"
        if found.figures is None:
            return "failed", f"no measurement: {said}"
    return "valid", "; ".join(_reservations(results))


def _reservations(results: list[ConsumerResult]) -> list[str]:
    """Describe the figures of a valid repetition."""
    found = []
    for result in results:
        live = result.quantities.live
        if result.assignments_changed:
            found.append(
                f"its figures include a rebalance: partitions moved {counted(result.assignments_changed, 'time')}"
            )
        if live is not None and live.live_records_unread:
            found.append(
                f"its latencies are lower bounds: {counted(live.live_records_unread, 'record')} not read in time"
            )
        if live is not None and live.live_rate_records_s < _HELD_FRACTION * live.live_rate_asked_records_s:
            found.append(
                f"its lag belongs to a lower rate: {live.live_rate_records_s:,.0f} of "
                f"{live.live_rate_asked_records_s:,.0f} records/s were sent"
            )
    return found


def quantities_of(results: list[ConsumerResult], consumers: int) -> ConsumerQuantities:
    """Combine the figures for reading the topic and for following a producer."""
    by_mode = {result.quantities.mode: result.quantities for result in results}
    read = by_mode.get("drain") or ConsumerQuantities(mode="drain", group_size=consumers)
    return replace(read, live=by_mode["live"].live) if "live" in by_mode else read


def _new_group(planned: PlannedRepetition) -> str:
    return f"{planned.repetition_id}-{secrets.token_hex(4)}"
