"""Compute data volume and cost of the producer's repetitions; refuse plans that do not fit study or disks."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.systems import BESIDE_TOOL_HEAP_MIB, broker_starts_s
from kafka_pareto.drivers.common.warming import FLAT_LOADS
from kafka_pareto.drivers.producer.protocol import ProducerProtocol
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.errors import PlanError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.measurement.own_topics import segment_bytes
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.factors import NumericFactor
from kafka_pareto.study.workload import ProducerLoad, SentTopic

PACE_WARMUP_S = 1.0
PACE_S = 3.0
RAMP_FRACTIONS = (0.25, 0.5, 0.7, 0.85, 1.0)
RAMP_WARMUP_S = 1.0
RAMP_STEP_S = 1.5
"""Loads of the baseline that size repetitions: one at its maximum rate, then a ramp of fractions of that rate."""
_LOADS_OF_NEW_BROKERS = 6  # three brokers on two cores, until their rate stops rising
_GIB = 1 << 30
_MIB = 1 << 20
_TOOL_START_S = 2.2  # JVM and bookkeeping, on two cores shared with three brokers
# The same for a burst, and its rate; `python -m benchmarks.time_left` compares them with the kept campaigns.
_BURST_TOOL_START_S = 1.6
_BURST_MIB_S = 40.0
_WARM_TOOL_S = 0.9  # the same in a running JVM, under background load: garbage collection, creating the records
_BUFFERS = ("buffer.memory", "queue.buffering.max.kbytes", "queue.buffering.max.messages")
_IN_SYNC_AGAIN_S = 10.0  # a load suspended for seconds, and a killed broker that catches up
# The broker frees deleted data only at its next check, so a few portions are on the disk at the same time.
_PORTIONS_ON_DISK = 4
# A steady repetition is sized by time; its size is known only once the baseline's maximum rate is measured.
_ASSUMED_STEADY_MIB_S = 200.0


def require_possible_loads(study: ProducerStudy) -> None:
    """Refuse a plan whose bursts exceed their timeout, or whose stated rate exceeds the limit.

    Raises:
        PlanError: With both numbers and the fix.
    """
    limit_mib_s, paced = study.throughput_limit_mib_s(), study.protocol.paced
    if limit_mib_s is not None and paced is not None and paced.rate_records_s is not None:
        bytes_each = max(
            study.load_of(case, study.baseline_configuration(case)).record_size_bytes for case in study.cases
        )
        needed_mib_s = paced.rate_records_s * bytes_each / _MIB
        if needed_mib_s > limit_mib_s:
            raise PlanError(
                f"protocol.paced.rate_records_s: {paced.rate_records_s:,.0f} records of {bytes_each:,} bytes are "
                f"{needed_mib_s:.3g} MiB/s, but at most {limit_mib_s:g} MiB/s are allowed; raise the limit, or lower "
                "the rate"
            )
    slowest_s = max(_load_s(study, case) for case in study.cases)
    if slowest_s >= study.protocol.timeout_s:
        raise PlanError(
            f"at most {study.throughput_limit_mib_s():g} MiB/s are allowed, so a burst takes {slowest_s:.0f} s, but "
            f"protocol.timeout_s is {study.protocol.timeout_s:g} s; raise the limit or the timeout, or use smaller "
            "record sizes or fewer records"
        )


def cost_of(study: ProducerStudy, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
    """Compute the cost of these repetitions by case, with the loads that warm up own brokers or size repetitions."""
    mib_s = study.throughput_limit_mib_s() or _ASSUMED_STEADY_MIB_S
    bytes_each = {case: bytes_of_a_repetition(study, case) for case in repetitions}
    sizings = {study.sized_like(case) for case in repetitions}
    loads_before_s = [] if sized else len(sizings) * _sizing_loads_s(study.protocol)
    warmed_up = sum(warms_up(study, case) for case in repetitions)
    loads_before_s += [PACE_WARMUP_S + PACE_S] * (_LOADS_OF_NEW_BROKERS * warmed_up)
    sent_bytes = sum(repetitions[case] * bytes_each[case] for case in repetitions) + sum(loads_before_s) * mib_s * _MIB
    on_disk = [
        min(bytes_in_topic(topic, bytes_each[case]), sent_bytes) * topic.replication_factor
        for case in repetitions
        for topic in study.topics_of(case)
    ]
    return Plan(
        repetitions=sum(repetitions.values()),
        duration_s=sum(count * _repetition_s(study, case) for case, count in repetitions.items())
        + broker_starts_s(study, repetitions)
        + sum(_around_load_s(study) + each for each in loads_before_s),
        sent_gib=sent_bytes / _GIB,
        peak_disk_gib=max(on_disk, default=0) / _GIB,
    )


def _repetition_s(study: ProducerStudy, case: str) -> float:
    """Return the seconds of one repetition, overhead included."""
    faults = len(study.faults_of(study.baseline_configuration(case)))
    return _around_load_s(study) + study.protocol.cool_down_s + _load_s(study, case) + faults * _IN_SYNC_AGAIN_S


def _around_load_s(study: ProducerStudy) -> float:
    """Return the overhead of one load in seconds, without the first JVM warm-up of a step."""
    if study.protocol.takes_less_if_faster:
        return _BURST_TOOL_START_S
    return _WARM_TOOL_S if study.protocol.jvm == "warm" else _TOOL_START_S


def _load_s(study: ProducerStudy, case: str) -> float:
    """Return the seconds of one repetition's sending: as sized by time, or of a burst by its size and rate."""
    records = study.protocol.records
    if records is None:
        return study.protocol.unthrottled_s + study.protocol.paced_s
    mib_s = min(study.throughput_limit_mib_s() or _BURST_MIB_S, _BURST_MIB_S)
    return records * study.largest_record_bytes(case) / (mib_s * _MIB)


def largest_memory_mib(study: ProducerStudy) -> int:
    """Return the most memory that the load tool needs for any part, heap and librdkafka's buffers, in MiB.

    Warm JVMs of several client versions run at the same time; the memory of the others is included.
    """
    if not isinstance(study, Compare):
        baseline = study.baseline_configuration()
        varied = {name: factor for name, factor in study.varied_factors.items() if name in _BUFFERS}
        largest = {
            name: max(map(int, factor.extremes()), key=lambda size: size or math.inf)  # 0: unlimited
            for name, factor in varied.items()
            if isinstance(factor, NumericFactor)
        }
        properties = {**study.properties(baseline), **largest}
        return max(_memory_mib(study.load_of(case, baseline), properties) for case in study.cases)
    found_mib: dict[tuple[str, str, str], int] = {}
    for case in study.cases:
        for configuration in study.levels_of(case):
            load = study.load_of(case, configuration)
            key = (case, load.client, load.client_version)
            found_mib[key] = max(found_mib.get(key, 0), _memory_mib(load, study.sent_properties(configuration)))
    if study.protocol.jvm != "warm":
        return max(found_mib.values())
    of_case = [[mib for (case, *_), mib in found_mib.items() if case == each] for each in study.cases]
    return max(sum(found) + (len(found) - 1) * BESIDE_TOOL_HEAP_MIB for found in of_case)


def _memory_mib(load: ProducerLoad, properties: Mapping[str, PropertyValue]) -> int:
    return LoadRequest.of(load, topic="", properties=properties, timeout_s=0.0).memory_mib


def bytes_of_a_repetition(study: ProducerStudy, case: str) -> int:
    """Return the bytes of one repetition: of a burst its records, else the most its time allows."""
    if study.protocol.records is not None:
        return study.protocol.records * study.largest_record_bytes(case)
    bytes_s = (study.throughput_limit_mib_s() or _ASSUMED_STEADY_MIB_S) * _MIB
    unthrottled_s, paced_s, paced = study.protocol.unthrottled_s, study.protocol.paced_s, study.protocol.paced
    if paced is None:
        return round(unthrottled_s * bytes_s)
    record_bytes = study.largest_record_bytes(case)
    paced_bytes_s = min(paced.rate_of(bytes_s / record_bytes) * record_bytes, bytes_s)
    if paced.seconds is None:  # Kafka's tool sends everything at the fixed rate
        return round(unthrottled_s * paced_bytes_s)
    return round(unthrottled_s * bytes_s + paced_s * paced_bytes_s)


def bytes_on_disk(repetition_bytes: int) -> int:
    """Return the bytes of one replica that may be in a topic at a time, for repetitions of this size."""
    return _PORTIONS_ON_DISK * (DELETE_RECORDS_AFTER_BYTES + repetition_bytes)


def bytes_in_topic(topic: SentTopic, repetition_bytes: int) -> int:
    """Return the same for a topic whose size may be limited."""
    most_bytes = bytes_on_disk(repetition_bytes)
    if topic.retained_gib is None:
        return most_bytes
    # Deleted are whole segments, and not the one that is written.
    return min(most_bytes, round(topic.retained_gib * _GIB) + 2 * segment_bytes(topic) * topic.topic_partitions)


def warms_up(study: ProducerStudy, case: str) -> bool:
    """Return whether the reference is sent until its rate stops rising, before a part's first repetition."""
    return study.own_brokers is not None and study.protocol.seconds is not None and not study.varies_brokers(case)


def _sizing_loads_s(protocol: ProducerProtocol) -> list[float]:
    """Return the seconds of sending in each load that sizes a case's repetitions, on a warm cluster."""
    if protocol.seconds is None:
        return []
    has_ramp = protocol.paced is not None and protocol.paced.rate_fraction is not None
    guesses = 0 if protocol.load_tool == "load_generator" else 1
    pace = [PACE_WARMUP_S + PACE_S] * (guesses + 1 + FLAT_LOADS)
    return pace + [RAMP_WARMUP_S + RAMP_STEP_S] * (len(RAMP_FRACTIONS) if has_ramp else 0)
