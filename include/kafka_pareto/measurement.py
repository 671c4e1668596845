"""Measuring: runs planned repetitions one after another, and believes none that does not add up.

The rules are those of the design's "Measuring": a repetition counts when the tool sent what it was asked to and the
topic's end offsets grew by as many; it is in the store before the next begins; what is there already is not measured
again.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

import psutil
from tenacity import before_sleep_log, retry, retry_if_exception_type, stop_after_delay, wait_exponential

from kafka_pareto.artifacts import Outcome, Repetition, Sizing
from kafka_pareto.blocks import PlannedRepetition
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import ClusterError, LeaseHeldError, LoadToolError, StoreError
from kafka_pareto.guard import ClusterGuard
from kafka_pareto.load import ClientMetrics, Figures, LoadRequest, LoadResult
from kafka_pareto.testbed import Testbed

log = logging.getLogger(__name__)

_SETTLING_DEADLINE_S = 60.0
_OFFSETS_DEADLINE_S = 15.0
_STORE_DEADLINE_S = 300.0
_MIB = 1 << 20
DELETE_RECORDS_AFTER_BYTES = 512 * _MIB


@dataclass(frozen=True)
class _Attempt:
    outcome: Outcome
    reason: str
    started_at: str
    result: LoadResult | None
    end_offset_growth: int | None
    cpu_steal_fraction: float
    other_cpu_fraction: float


class Measurer:
    """Measures planned repetitions of one record size on one testbed."""

    def __init__(self, campaign: Campaign, testbed: Testbed, sizing: Sizing) -> None:
        self._campaign = campaign
        self._study = campaign.study
        self._testbed = testbed
        self._sizing = sizing
        self._guard = ClusterGuard(campaign.study, testbed, sent_bytes(campaign))
        self._bytes_to_delete = 0
        self._offsets_are_settled = False

    def measure(self, planned: Sequence[PlannedRepetition], prefix: str) -> None:
        """Measures what is planned and not yet stored below `prefix`, one object per repetition.

        Raises:
            ClusterError: If the cluster is in trouble and stays so.
            SafetyStop: If a cluster that is not ours was harmed.
            StoreError: If a finished repetition cannot be stored, even after some minutes.
            LeaseHeldError: If the lease was lost.
        """
        stored = set(self._campaign.store.keys(prefix))
        missing = [repetition for repetition in planned if _key(prefix, repetition) not in stored]
        if len(missing) < len(planned):
            log.info("%d of %d repetitions are in the store already", len(planned) - len(missing), len(planned))
        started = time.monotonic()
        for at, repetition in enumerate(missing):
            if at and self._study.protocol.order == "blocks" and missing[at - 1].block != repetition.block:
                self._delete_records()
            if at and self._study.protocol.cool_down_s:
                time.sleep(self._study.protocol.cool_down_s)  # the pause is part of the protocol
            measured = self._measure_one(repetition)
            self._store(_key(prefix, repetition), measured)
            pace_s = (time.monotonic() - started) / (at + 1)
            _log_progress(measured, len(planned) - len(missing) + at + 1, len(planned), pace_s)
        self._delete_records()

    def _measure_one(self, planned: PlannedRepetition) -> Repetition:
        attempts = 0
        while True:
            attempts += 1
            self._require_lease()
            attempt = self._attempt(planned)
            self._require_lease()  # while it was lost, another load may have run beside this one
            if attempt.outcome != "failed" or attempts >= self._study.protocol.max_attempts:
                return self._repetition(planned, attempt, attempts)
            log.warning("%s: attempt %d failed: %s", planned.repetition_id, attempts, attempt.reason)

    def _require_lease(self) -> None:
        if not self._testbed.lease.is_held():
            raise LeaseHeldError("the lease on the cluster was lost; the task's next try goes on from here")

    def _attempt(self, planned: PlannedRepetition) -> _Attempt:
        healthy = self._guard.wait_until_healthy()
        before = self._settled_end_offset()
        self._guard.allow(self._sizing.records * planned.record_size_bytes)
        started_at = datetime.now(UTC).isoformat()
        cpu_before = psutil.cpu_times()
        result, growth, reason = None, None, ""
        self._offsets_are_settled = False
        try:
            result = self._testbed.load_tool.run(self._request(planned), self._guard.watch())
            sent = result.records_sent
            growth = self._testbed.cluster.wait_for_end_offset_growth(
                self._testbed.topic, before, sent, _OFFSETS_DEADLINE_S
            )
            self._guard.check_throttling(result)
        except LoadToolError as error:
            reason = str(error)
        except ClusterError as error:
            reason = f"the cluster did not answer after the load: {error}"
        reason = reason or self._guard.disturbance(healthy)
        outcome, reason = self._judge(planned.record_size_bytes, result, growth, reason)
        self._offsets_are_settled = outcome == "valid"
        self._bytes_to_delete += self._sizing.records * planned.record_size_bytes
        if self._bytes_to_delete > DELETE_RECORDS_AFTER_BYTES:
            self._delete_records()
        steal, other = _cpu_fractions(cpu_before, psutil.cpu_times(), result.client_cpu_s if result else 0.0)
        return _Attempt(outcome, reason, started_at, result, growth, steal, other)

    def _judge(
        self, record_size_bytes: int, result: LoadResult | None, growth: int | None, reason: str
    ) -> tuple[Outcome, str]:
        if reason or result is None or growth is None:
            return "failed", reason
        sent, figures = result.records_sent, result.figures
        if sent != result.records_attempted or not sent:
            return (
                "failed",
                f"{sent} of {result.records_attempted} records were sent: {result.errors or 'no reason given'}",
            )
        if figures is None:
            return "failed", f"nothing was measured: {result.errors or 'no reason given'}"
        printed = figures.printed_mib_s
        if printed is not None and not math.isclose(
            printed, _mib_s(figures, record_size_bytes), rel_tol=1e-3, abs_tol=0.006
        ):
            return "failed", "the tool's MB/sec do not agree with its records/sec: is the record size as asked for?"
        if growth < sent:
            return (
                "records_lost",
                f"{sent - growth} of {sent} records counted as sent are not in the topic",
            )
        if growth > sent:
            return "records_duplicated", f"the topic holds {growth - sent} records more than were sent"
        return "valid", ""

    def _settled_end_offset(self) -> int:
        """The end offset once it stands still: an attempt that broke off may still be arriving."""
        cluster, topic = self._testbed.cluster, self._testbed.topic
        current, deadline = cluster.end_offset(topic), time.monotonic() + _SETTLING_DEADLINE_S
        while not self._offsets_are_settled:
            if time.monotonic() > deadline:
                raise ClusterError(f"records keep arriving in {topic} without a load; who else writes to it?")
            # Waiting for one record more than there is: a deadline without growth is what "settled" means.
            growth = cluster.wait_for_end_offset_growth(topic, current, 1, deadline_s=1.0)
            self._offsets_are_settled = growth == 0
            current += growth
        return current

    def _request(self, planned: PlannedRepetition) -> LoadRequest:
        return LoadRequest(
            topic=self._testbed.topic,
            records=self._sizing.records,
            record_size_bytes=planned.record_size_bytes,
            properties=self._study.producer_properties(planned.candidate.configuration),
            timeout_s=self._study.protocol.timeout_s,
            warmup_records=self._sizing.warmup_records,
            timed=self._sizing.timed,
            throughput_records_s=self._sizing.throughput_limit_records_s,
        )

    def _delete_records(self) -> None:
        if self._bytes_to_delete:
            self._testbed.cluster.delete_records(self._testbed.topic)
            self._bytes_to_delete = 0

    def _store(self, key: str, measured: Repetition) -> None:
        persistent = retry(
            retry=retry_if_exception_type(StoreError),
            stop=stop_after_delay(_STORE_DEADLINE_S),
            wait=wait_exponential(max=15),
            before_sleep=before_sleep_log(log, logging.WARNING),
            reraise=True,
        )(self._campaign.write_record)
        try:
            persistent(key, measured)
        except StoreError:
            log.error("measured, but not stored: %s", measured.model_dump_json())
            raise

    def _repetition(self, planned: PlannedRepetition, attempt: _Attempt, attempts: int) -> Repetition:
        result = attempt.result
        figures = result.figures if result else None
        measured = asdict(figures) if figures else dict.fromkeys(f.name for f in fields(Figures))
        client = asdict(result.client if result else ClientMetrics())
        return Repetition(
            repetition_id=planned.repetition_id,
            phase=planned.phase,
            round=planned.round_number,
            record_size_bytes=planned.record_size_bytes,
            configuration_id=planned.candidate.configuration_id,
            is_baseline=planned.candidate.is_baseline,
            configuration=planned.candidate.configuration,
            block=planned.block,
            order_in_block=planned.order_in_block,
            outcome=attempt.outcome,
            reason=attempt.reason,
            attempts=attempts,
            window="steady_state" if self._sizing.warmup_records or self._sizing.timed else "whole_run",
            started_at=attempt.started_at,
            records_requested=result.records_attempted if result else self._sizing.records,
            records_sent=result.records_sent if result else None,
            end_offset_growth=attempt.end_offset_growth,
            # From records/s, which the tool prints to six decimals; its MB/sec have two, 5 % of a slow run.
            throughput_mib_s=figures and _mib_s(figures, planned.record_size_bytes),
            wall_s=result.wall_s if result else 0.0,
            client_cpu_s=result.client_cpu_s if result else 0.0,
            load_1m=psutil.getloadavg()[0],
            cpu_steal_fraction=attempt.cpu_steal_fraction,
            other_cpu_fraction=attempt.other_cpu_fraction,
            **measured,
            **client,
        )


def _mib_s(figures: Figures, record_size_bytes: int) -> float:
    return figures.throughput_records_s * record_size_bytes / _MIB


def sent_bytes(campaign: Campaign) -> int:
    """What the campaign has sent so far to a cluster that is not ours; 0 for our own, where nobody asks."""
    if campaign.study.cluster is None:
        return 0
    prefixes = [campaign.keys.measurements(size) for size in campaign.study.record_sizes_bytes]
    prefixes += [campaign.keys.confirmation(size, "repetitions/") for size in campaign.study.record_sizes_bytes]
    stored = [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]
    return sum(each.attempts * each.records_requested * each.record_size_bytes for each in stored)


def _key(prefix: str, planned: PlannedRepetition) -> str:
    return f"{prefix}{planned.repetition_id}.json"


def _log_progress(measured: Repetition, done: int, planned: int, pace_s: float) -> None:
    figures: str = measured.outcome
    if measured.throughput_mib_s is not None and measured.latency_p95_ms is not None:
        figures += f", {measured.throughput_mib_s:.1f} MiB/s, p95 {measured.latency_p95_ms:.0f} ms"
    left_s = pace_s * (planned - done)
    log.info("[%d/%d, %.0f s left] %s: %s", done, planned, left_s, measured.repetition_id, figures)


def _cpu_fractions(before: object, after: object, client_cpu_s: float) -> tuple[float, float]:
    """Shares of the machine's CPU time since `before`: stolen by the hypervisor, and used by all but the client."""
    spent = {name: getattr(after, name) - getattr(before, name) for name in ("user", "nice", "system", "idle")}
    spent |= {name: getattr(after, name, 0.0) - getattr(before, name, 0.0) for name in ("iowait", "irq", "softirq")}
    steal = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    total = sum(spent.values()) + steal
    if total <= 0:
        return 0.0, 0.0
    busy = total - spent["idle"] - spent["iowait"] - steal
    return steal / total, max(busy - client_cpu_s, 0.0) / total
