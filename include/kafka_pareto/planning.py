"""What a campaign will cost, said before anything is sent, and refused where it does not fit."""

from __future__ import annotations

from kafka_pareto.artifacts import Plan
from kafka_pareto.cluster import LogDir
from kafka_pareto.design import design_table
from kafka_pareto.errors import PlanError
from kafka_pareto.measurement import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.study import Study

_GIB = 1 << 30
_MIB = 1 << 20
_TOOL_START_S = 2.2  # JVM, burst and bookkeeping, on two cores shared with three brokers
# The broker frees what was deleted only at its next check, so a few portions lie on the disk at once.
_PORTIONS_ON_DISK = 4
_FREE_DISK_MARGIN = 1.2
# A steady repetition is sized by time; what it sends is known only when the baseline's pace is measured.
_ASSUMED_STEADY_MIB_S = 200.0


def plan_campaign(study: Study) -> Plan:
    """Repetitions, seconds, GiB sent by the client, and GiB that may lie on the brokers' disks at once."""
    protocol, confirmation = study.protocol, study.confirmation
    per_size = (len(design_table(study)) // len(study.record_sizes_bytes)) * protocol.repetitions
    per_size += (confirmation.points + 1) * confirmation.choice_blocks + 2 * confirmation.gain_blocks
    repetitions = per_size * len(study.record_sizes_bytes)
    if protocol.records is not None:
        bytes_each = [protocol.records * size for size in study.record_sizes_bytes]
        seconds_each = _TOOL_START_S + protocol.cool_down_s
    else:
        measured_s = (protocol.seconds or 0.0) + protocol.warmup_seconds
        limit = throughput_limit_mib_s(study) or _ASSUMED_STEADY_MIB_S
        bytes_each = [round(measured_s * limit * _MIB)] * len(study.record_sizes_bytes)
        seconds_each = _TOOL_START_S + protocol.cool_down_s + measured_s
    on_disk = _PORTIONS_ON_DISK * (DELETE_RECORDS_AFTER_BYTES + max(bytes_each)) * study.workload.replication_factor
    return Plan(
        repetitions=repetitions,
        duration_s=repetitions * seconds_each,
        sent_gib=per_size * sum(bytes_each) / _GIB,
        peak_disk_gib=min(on_disk, per_size * sum(bytes_each) * study.workload.replication_factor) / _GIB,
    )


def throughput_limit_mib_s(study: Study) -> float | None:
    """The lower of the protocol's limit and the ceiling that the owner of the cluster set."""
    limits = [study.protocol.throughput_limit_mib_s, study.cluster.ceiling_mib_s if study.cluster else None]
    return min((limit for limit in limits if limit is not None), default=None)


def describe_plan(plan: Plan) -> str:
    """The plan as a line for people."""
    minutes = plan.duration_s / 60
    duration = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
    return (
        f"plan: {plan.repetitions} repetitions, about {duration}, {plan.sent_gib:.1f} GiB sent, "
        f"up to {plan.peak_disk_gib:.1f} GiB on the brokers' disks at once"
    )


def check_plan(plan: Plan, study: Study, log_dirs: tuple[LogDir, ...]) -> None:
    """Refuses a campaign that does not fit the disks, passes a ceiling, or lacks the owner's consent.

    Raises:
        PlanError: Saying which, with both numbers and the remedy.
    """
    if study.cluster is not None and plan.sent_gib > study.cluster.ceiling_gib:
        raise PlanError(
            f"the campaign would send {plan.sent_gib:.1f} GiB, above the ceiling of {study.cluster.ceiling_gib:g} GiB; "
            "raise the ceiling, or ask for fewer repetitions or record sizes"
        )
    usable = [directory.usable_bytes for directory in log_dirs if directory.usable_bytes is not None]
    needed_bytes = plan.peak_disk_gib * _GIB * _FREE_DISK_MARGIN / _distinct_volumes(log_dirs)
    if usable and min(usable) < needed_bytes:
        raise PlanError(
            f"the campaign may need {needed_bytes / _GIB:.1f} GiB at once on a broker's disk, and one has "
            f"{min(usable) / _GIB:.1f} GiB free; free some, or ask for smaller record sizes"
        )
    if study.cluster is not None and not study.cluster.consent:
        raise PlanError(
            "this cluster is not the embedded one, so the campaign starts only with your consent: "
            "read the plan above and start it again with consent given"
        )


def _distinct_volumes(log_dirs: tuple[LogDir, ...]) -> int:
    """Over how many disks the replicas spread; log folders of equal size count as one disk, as embedded ones are."""
    return max(len({directory.total_bytes for directory in log_dirs}), 1)
