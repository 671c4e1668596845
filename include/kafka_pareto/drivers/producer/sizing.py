"""Determine amount and rate of one repetition in a case, scaled to the baseline's rate.

A `steady` study needs the baseline's maximum rate, a paced one its capacity. Both come from loads of the baseline, once
per campaign and record size, and are stored with the repetitions.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import RampStep, Sizing, TimedLoad
from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.common.load_tool import LoadFigures, LoadRequest
from kafka_pareto.drivers.common.warming import pace_when_warm
from kafka_pareto.drivers.producer.cost import (
    PACE_S,
    PACE_WARMUP_S,
    RAMP_FRACTIONS,
    RAMP_STEP_S,
    RAMP_WARMUP_S,
    warms_up,
)
from kafka_pareto.drivers.producer.protocol import ProducerProtocol
from kafka_pareto.drivers.producer.quantities import ProducerQuantities
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import ClusterError, LoadMachineError, LoadToolError, MissingArtifactError

log = logging.getLogger(__name__)

_MIB = 1 << 20
_FIRST_RECORDS = 20_000
_FIRST_BYTES = 128 * _MIB
_MOST_PACE_LOADS = 12
_SUSTAINED_FRACTION = 0.97
_STANDING_QUEUE_MS = 100.0


def sizing_of(campaign: Campaign, case: str, testbed: Testbed) -> Sizing:
    """Return the sizing of one repetition, from the store after the first time.

    Cases with the same baseline share it. The study's own brokers, which are new in each step, are warm afterwards,
    unless they restart for each repetition.

    Raises:
        ClusterError: If the baseline's rate could not be measured.
        PlanError: If the loads would exceed the ceiling of a foreign cluster.
        SafetyStop: If it was harmed.
    """
    study = ProducerStudy.of(campaign.study)
    key = campaign.keys.sizing(study.sized_like(case))
    baseline = _BaselineLoads(campaign, case, testbed)
    try:
        sizing = campaign.read_record(key, Sizing)
    except MissingArtifactError:
        sizing = _new_sizing(study.protocol, baseline)
        sizing = sizing.model_copy(update={"pilot_bytes": baseline.sent_bytes})
        campaign.write_record(key, sizing)
        return sizing
    if warms_up(study, case):
        log.info("the new brokers are warm: %.0f records/s", baseline.pace_records_s())
    return sizing


def _new_sizing(protocol: ProducerProtocol, baseline: _BaselineLoads) -> Sizing:
    limit_records_s = baseline.limit_records_s
    if protocol.seconds is None:
        return Sizing(records=protocol.records or 0, warmup_records=0, throughput_limit_records_s=limit_records_s)
    pace_records_s = baseline.pace_records_s()
    log.info("maximum rate of the baseline: %.0f records/s", pace_records_s)
    if protocol.paced is None:
        return _sized_by_records(protocol.warmup_seconds, protocol.seconds, pace_records_s, limit_records_s)
    ramp = [] if protocol.paced.rate_fraction is None else baseline.ramp(pace_records_s)
    capacity_records_s = capacity_of(ramp) if ramp else None
    rate_records_s = protocol.paced.rate_of(capacity_records_s or 0.0)
    if ramp:
        log.info(
            "sustainable throughput of the baseline: %.0f records/s (%s)",
            capacity_records_s,
            ", ".join(
                f"{step.asked_records_s:.0f} {'sustained' if step.sustained else 'not sustained'}" for step in ramp
            ),
        )
    log.info("fixed rate: %.0f records/s", rate_records_s)
    found = {"capacity_records_s": capacity_records_s, "ramp": ramp}
    if protocol.paced.seconds is None:
        sizing = _sized_by_records(protocol.warmup_seconds, protocol.seconds, rate_records_s, rate_records_s)
        return sizing.model_copy(update=found)
    timed = TimedLoad(
        warmup_s=protocol.warmup_seconds,
        seconds=protocol.seconds,
        paced_warmup_s=protocol.paced.warmup_seconds or 0.0,
        paced_seconds=protocol.paced.seconds,
        paced_rate_records_s=rate_records_s,
    )
    # Upper bound for a timed load; no configuration can exceed a limited rate.
    most_records_s = limit_records_s or pace_records_s
    records = math.ceil(most_records_s * protocol.unthrottled_s) + math.ceil(rate_records_s * protocol.paced_s)
    sizing = Sizing(records=records, warmup_records=0, throughput_limit_records_s=limit_records_s, timed=timed)
    return sizing.model_copy(update=found)


def ramp_steps(asked_records_s: Sequence[float], found: Sequence[LoadFigures]) -> list[RampStep]:
    """Return the steps of the ramp, marking those that the baseline sustained.

    A step is sustained if at least 97 % of its rate was acknowledged, with a p95 latency within 100 ms of the lowest
    step's. A shortfall of 3 % after 1.5 s is a queue of 45 ms, growing as long as the rate lasts. A longer queue that
    neither grows nor drains comes from the warm-up and shows only in the latency.

    Both tools count until the last record is acknowledged, so even an idle cluster falls short by one latency; the
    lowest step's median corrects for it.
    """
    lowest = found[0]
    ends_later = 1 + lowest.latency_p50_ms / 1000 / RAMP_STEP_S
    steps = []
    for asked, figures in zip(asked_records_s, found, strict=True):
        reached_records_s = figures.throughput_records_s * ends_later
        queued_ms = figures.latency_p95_ms - lowest.latency_p95_ms
        steps.append(
            RampStep(
                asked_records_s=asked,
                held_records_s=reached_records_s,
                latency_p95_ms=figures.latency_p95_ms,
                sustained=reached_records_s >= _SUSTAINED_FRACTION * asked and queued_ms <= _STANDING_QUEUE_MS,
            )
        )
    return steps


def capacity_of(ramp: Sequence[RampStep]) -> float:
    """Return the highest sustained rate; if there is none, the lowest step's actual rate.

    Steps above the first failure count too, or a single hiccup would quarter the capacity.
    """
    sustained = [step.asked_records_s for step in ramp if step.sustained]
    return max(sustained) if sustained else ramp[0].held_records_s


class _BaselineLoads:
    """Guarded loads of the baseline that size the repetitions without being repetitions."""

    def __init__(self, campaign: Campaign, case: str, testbed: Testbed) -> None:
        self._study = study = ProducerStudy.of(campaign.study)
        self._configuration = study.baseline_configuration(case)
        self._load = study.load_of(case, self._configuration)
        self._testbed = testbed
        self._guard = ClusterGuard(study, testbed.cluster, testbed.topic, sent_bytes(campaign))
        limit_mib_s = study.throughput_limit_mib_s()
        self.limit_records_s = None if limit_mib_s is None else limit_mib_s * _MIB / self._load.record_size_bytes
        self._is_timed = study.protocol.load_tool == "load_generator"
        self.sent_bytes = 0

    def pace_records_s(self) -> float:
        """Return the maximum rate in records per second, after a warm-up, on a warm cluster.

        Freshly started brokers reach only a fraction of their later rate, so the load is repeated until two in a row
        hardly exceed the best before them.
        """
        guess = self.limit_records_s or 0.0
        if not self._is_timed:
            # Kafka's tool needs a number of records: first a guess, then seconds at the rate so measured.
            few = max(min(_FIRST_RECORDS, _FIRST_BYTES // self._load.record_size_bytes), 4)
            few = few if not guess else min(few, max(math.ceil(guess), 4))
            guess = self._run(PACE_WARMUP_S / 4, PACE_S / 4, few).throughput_records_s
        return pace_when_warm(
            lambda best: (
                self._run(PACE_WARMUP_S, PACE_S, guess if self._is_timed or not best else best).throughput_records_s
            ),
            _MOST_PACE_LOADS,
        )

    def ramp(self, pace_records_s: float) -> list[RampStep]:
        """Run short loads at rising fractions of the maximum rate."""
        asked = [float(max(round(pace_records_s * fraction), 1)) for fraction in RAMP_FRACTIONS]
        return ramp_steps(asked, [self._run(RAMP_WARMUP_S, RAMP_STEP_S, rate, is_paced=True) for rate in asked])

    def _run(self, warmup_s: float, seconds: float, records_s: float, *, is_paced: bool = False) -> LoadFigures:
        """Run one load at the rate `records_s`, or unthrottled if no more than that is expected.

        It is run again if a load machine was lost or started late.
        """
        attempts = Retrying(
            retry=retry_if_exception_type(LoadMachineError),
            stop=stop_after_attempt(self._study.protocol.max_attempts),
            reraise=True,
        )
        return attempts(self._run_once, warmup_s, seconds, records_s, is_paced)

    def _run_once(self, warmup_s: float, seconds: float, records_s: float, is_paced: bool) -> LoadFigures:
        request = self._request(warmup_s, seconds, records_s, is_paced)
        load_bytes = request.records * request.record_size_bytes
        self._guard.wait_until_healthy(load_bytes)
        healthy = self._guard.require_healthy()
        self._guard.allow(load_bytes)
        self.sent_bytes += load_bytes
        with self._guard.loading():
            try:
                result = self._testbed.load_tool.run(request, self._guard.watch())
            except LoadToolError as error:
                self._guard.check_authorisation(str(error))
                self._guard.disturbance(healthy)
                raise
            surplus_bytes = max(result.records_attempted - request.records, 0) * request.record_size_bytes
            self._guard.count(surplus_bytes)
            self.sent_bytes += surplus_bytes
            self._guard.check_throttling(result)
            self._testbed.cluster.delete_records(self._testbed.topic)
        if result.figures is None:
            self._guard.check_authorisation(result.errors)
            raise ClusterError(
                f"the baseline's maximum rate could not be measured: {result.errors or 'no record was sent'}"
            )
        return result.figures

    def _request(self, warmup_s: float, seconds: float, records_s: float, is_paced: bool) -> LoadRequest:
        throughput_records_s = self.limit_records_s
        timed = None
        if self._is_timed:
            timed = TimedLoad(
                warmup_s=0.0 if is_paced else warmup_s,
                seconds=0.0 if is_paced else seconds,
                paced_warmup_s=warmup_s if is_paced else 0.0,
                paced_seconds=seconds if is_paced else 0.0,
                paced_rate_records_s=records_s if is_paced else 0.0,
            )
        elif is_paced:
            throughput_records_s = records_s
        return LoadRequest.of(
            self._load,
            topic=self._testbed.topic,
            properties=self._study.properties(self._configuration),
            timeout_s=self._study.protocol.timeout_s,
            records=math.ceil(records_s * (warmup_s + seconds)),
            warmup_records=0 if timed else math.floor(records_s * warmup_s),
            timed=timed,
            throughput_records_s=throughput_records_s,
            payload_file=self._testbed.payloads.file_of(self._load),
        )


def _sized_by_records(warmup_s: float, seconds: float, records_s: float, limit_records_s: float | None) -> Sizing:
    warmup_records = round(records_s * warmup_s)
    return Sizing(
        records=warmup_records + max(round(records_s * seconds), 1),
        warmup_records=warmup_records,
        throughput_limit_records_s=limit_records_s,
    )


def sent_bytes(campaign: Campaign) -> int:
    """Return the bytes the campaign has sent to a foreign cluster, pilots included; 0 for our own."""
    study, keys = ProducerStudy.of(campaign.study), campaign.keys
    if study.cluster is None:
        return 0
    total = 0
    for case in study.cases:
        prefixes = [
            each(case, number) for number in study.round_numbers() for each in (keys.measurements, keys.discarded)
        ]
        prefixes += [keys.noise_repetitions(case)]
        prefixes += [keys.confirmation(case, name) for name in ("repetitions/", "set_aside/")]
        for stored in chain.from_iterable(map(campaign.read_repetitions, prefixes)):
            records = stored.attempts * ProducerQuantities.of(stored.quantities).records_requested
            total += records * study.load_of(stored.case, stored.configuration).record_size_bytes
        with suppress(MissingArtifactError):
            total += campaign.read_record(keys.sizing(case), Sizing).pilot_bytes
    return total
