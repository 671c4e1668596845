"""Computes what a campaign will cost before anything is sent, and refuses it where it does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafka_pareto.campaign.design import design_table
from kafka_pareto.campaign.records import Plan
from kafka_pareto.errors import ConsentError, PlanError
from kafka_pareto.kafka.cluster import LogDir
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.measurement.sizing import sizing_loads_s
from kafka_pareto.study.producer_study import ProducerStudy, producer_study
from kafka_pareto.study.tune import Tune

_GIB = 1 << 30
_MIB = 1 << 20
_TOOL_START_S = 2.2  # JVM, burst and bookkeeping, on two cores shared with three brokers
# The broker frees what was deleted only at its next check, so a few portions lie on the disk at once.
_PORTIONS_ON_DISK = 4
_FREE_DISK_MARGIN = 1.2
# A steady repetition is sized by time; what it sends is known only when the baseline's pace is measured.
_ASSUMED_STEADY_MIB_S = 200.0


def plan_campaign(study: Tune) -> Plan:
    """Repetitions, seconds, GiB sent by the client, and GiB that may lie on the brokers' disks at once.

    All are the most that an undisturbed campaign takes. The fewest are stated beside, with adaptive repetitions or with
    rounds: when every trial ends at its minimum, and no record size goes on after the design. The loads that size the
    repetitions are in the seconds and the bytes.
    """
    producer = producer_study(study)
    protocol = producer.protocol
    configurations = Counter(design_table(study).case.tolist())
    in_rounds = (len(study.round_numbers()) - 1) * (study.rounds.configurations + 1)  # the baseline is in each
    beside_the_design = protocol.noise_repetitions + study.confirmation.most_repetitions()
    most = {
        case: (count + in_rounds) * protocol.repetitions + beside_the_design for case, count in configurations.items()
    }
    plan = _plan(producer, most, sizing_loads_s(protocol)).model_copy(
        update={"noise_repetitions": protocol.noise_repetitions * len(most)}
    )
    least_each = protocol.adaptive.minimum_repetitions if protocol.adaptive else protocol.repetitions
    spared = {case: most[case] - configurations[case] * least_each - beside_the_design for case in most}
    if not any(spared.values()):
        return plan
    fewest = {
        "fewest_repetitions": plan.repetitions - sum(spared.values()),
        "fewest_duration_s": plan.duration_s - sum(spared[case] * _repetition_s(producer, case) for case in most),
    }
    return plan.model_copy(update=fewest)


def plan_check(study: Tune, cases: Sequence[str]) -> Plan:
    """The same of a check of what is in force: blocks of it and of the baseline, sized as they were before."""
    return _plan(producer_study(study), dict.fromkeys(cases, 2 * study.retune.blocks), [])


def describe_plan(plan: Plan) -> str:
    """The plan as a line for people."""
    repetitions, duration, most = f"{plan.repetitions}", _in_words(plan.duration_s), ""
    if plan.fewest_repetitions is not None and plan.fewest_duration_s is not None:
        repetitions = f"{plan.fewest_repetitions} to {repetitions}"
        duration, most = f"{_in_words(plan.fewest_duration_s)} to {duration}", "up to "
    noise = f" ({plan.noise_repetitions} of them for the noise report)" if plan.noise_repetitions else ""
    return (
        f"plan: {repetitions} repetitions{noise}, about {duration}, {most}{plan.sent_gib:.1f} GiB sent, "
        f"up to {plan.peak_disk_gib:.1f} GiB on the brokers' disks at once; "
        "what trouble spoils is measured again and comes on top"
    )


def check_plan(plan: Plan, study: ProducerStudy, log_dirs: tuple[LogDir, ...]) -> None:
    """Refuses a campaign that does not fit the disks or its timeout, passes a ceiling, or lacks the owner's consent.

    Raises:
        PlanError: Saying which, with both numbers and the remedy.
    """
    if study.cluster is not None and plan.sent_gib > study.cluster.ceiling_gib:
        raise PlanError(
            f"the campaign would send {plan.sent_gib:.1f} GiB, above the ceiling of {study.cluster.ceiling_gib:g} GiB; "
            "raise the ceiling, or ask for fewer repetitions or record sizes"
        )
    slowest_s = max(_load_s(study, case) for case in study.cases)
    if slowest_s >= study.protocol.timeout_s:
        raise PlanError(
            f"at no more than {study.throughput_limit_mib_s():g} MiB/s a burst takes {slowest_s:.0f} s, and "
            f"protocol.timeout_s is {study.protocol.timeout_s:g} s; raise the limit or the timeout, or ask for smaller "
            "record sizes or fewer records"
        )
    usable = [directory.usable_bytes for directory in log_dirs if directory.usable_bytes is not None]
    needed_bytes = plan.peak_disk_gib * _GIB * _FREE_DISK_MARGIN / _distinct_volumes(log_dirs)
    if usable and min(usable) < needed_bytes:
        raise PlanError(
            f"the campaign may need {needed_bytes / _GIB:.1f} GiB at once on a broker's disk, and one has "
            f"{min(usable) / _GIB:.1f} GiB free; free some, or ask for smaller record sizes"
        )
    if study.cluster is not None and not study.cluster.consent:
        raise ConsentError(
            "this cluster is not the embedded one, so the campaign starts only with your consent: "
            "read the plan above and start it again with consent given"
        )


def _plan(study: ProducerStudy, repetitions: Mapping[str, int], sizing_loads: Sequence[float]) -> Plan:
    """Computes the cost of these repetitions by case, and of the loads that size them, in seconds each."""
    mib_s = study.throughput_limit_mib_s() or _ASSUMED_STEADY_MIB_S
    burst_records, steady_bytes = study.protocol.records or 0, round(_sending_s(study) * mib_s * _MIB)
    bytes_each = {case: burst_records * study.record_size_bytes(case) or steady_bytes for case in repetitions}
    all_sizing_loads = len(repetitions) * list(sizing_loads)
    sent_bytes = (
        sum(repetitions[case] * bytes_each[case] for case in repetitions) + sum(all_sizing_loads) * mib_s * _MIB
    )
    on_disk = _PORTIONS_ON_DISK * (DELETE_RECORDS_AFTER_BYTES + max(bytes_each.values(), default=0))
    return Plan(
        repetitions=sum(repetitions.values()),
        duration_s=sum(count * _repetition_s(study, case) for case, count in repetitions.items())
        + sum(_TOOL_START_S + each for each in all_sizing_loads),
        sent_gib=sent_bytes / _GIB,
        peak_disk_gib=min(on_disk, sent_bytes) * study.workload.replication_factor / _GIB,
    )


def _repetition_s(study: ProducerStudy, case: str) -> float:
    """Seconds of one repetition, with all that is around its sending."""
    return _TOOL_START_S + study.protocol.cool_down_s + _load_s(study, case)


def _load_s(study: ProducerStudy, case: str) -> float:
    """Seconds of one repetition's sending: as sized by time; of a burst, what a limited rate stretches it to."""
    records, limit_mib_s = study.protocol.records, study.throughput_limit_mib_s()
    if records is None or limit_mib_s is None:
        return _measured_s(study)
    return records * study.record_size_bytes(case) / (limit_mib_s * _MIB)


def _measured_s(study: ProducerStudy) -> float:
    """Seconds of one repetition's sending, where the study sizes it by time."""
    protocol = study.protocol
    paced_s = ((protocol.paced.warmup_seconds or 0.0) + (protocol.paced.seconds or 0.0)) if protocol.paced else 0.0
    return protocol.warmup_seconds + (protocol.seconds or 0.0) + paced_s


def _sending_s(study: ProducerStudy) -> float:
    """The same in seconds of unthrottled sending, which sends as much: no fixed rate exceeds its share of the pace."""
    protocol = study.protocol
    unthrottled_s = protocol.warmup_seconds + (protocol.seconds or 0.0)
    if protocol.paced is None:
        return unthrottled_s
    if protocol.paced.seconds is None:
        return unthrottled_s * protocol.paced.rate_fraction
    return unthrottled_s + (_measured_s(study) - unthrottled_s) * protocol.paced.rate_fraction


def _in_words(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _distinct_volumes(log_dirs: tuple[LogDir, ...]) -> int:
    """Over how many disks the replicas spread; log folders of equal size count as one disk, as embedded ones are."""
    return max(len({directory.total_bytes for directory in log_dirs}), 1)
