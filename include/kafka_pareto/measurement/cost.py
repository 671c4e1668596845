"""Compute the number and cost of a campaign's repetitions, and require the consent they need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_pareto.campaign.design import design_size
from kafka_pareto.campaign.records import Plan
from kafka_pareto.campaign.time_left import ANALYSIS_S, REPORT_S, TASK_START_S
from kafka_pareto.errors import ConsentError, PlanError
from kafka_pareto.measurement.driver_runtime import DriverRuntime
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune, tune_study


def plan_of(study: Study, driver: DriverRuntime, active: Collection[str] = ()) -> Plan:
    """Compute the cost of a tuning study or a comparison."""
    if isinstance(study, Compare):
        return plan_comparison(study, driver)
    return plan_campaign(tune_study(study), driver, active)


def plan_campaign(study: Tune, driver: DriverRuntime, active: Collection[str] = ()) -> Plan:
    """Compute repetitions, seconds, GiB sent by the client, and peak GiB on the brokers' disks.

    All are upper bounds for an undisturbed campaign, with sizing loads, task starts, analysis and report. The lower
    bounds hold if every adaptive trial ends at its minimum, no case continues after the design, and nothing is picked.

    Args:
        study: The campaign's study.
        driver: Its runtime.
        active: Cases that may have active settings other than the baseline, which are then measured in every block.
    """
    protocol = study.protocol
    configurations = {case: design_size(study, case) for case in study.cases}
    in_rounds = (len(study.round_numbers()) - 1) * (study.rounds.configurations + 1)  # the baseline is in each
    confirmation = {case: study.confirmation.most_repetitions(case in active, study.advice) for case in configurations}
    most = {
        case: (count + in_rounds) * protocol.repetitions + protocol.noise_repetitions + confirmation[case]
        for case, count in configurations.items()
    }
    plan = driver.cost_of(study, most, sized=False).model_copy(
        update={
            "noise_repetitions": protocol.noise_repetitions * len(most),
            "confirmation_repetitions": confirmation,
            **_times_by_case(study, driver, most),
        }
    )
    least_each = protocol.adaptive.minimum_repetitions if protocol.adaptive else protocol.repetitions
    least = {
        case: count * least_each + protocol.noise_repetitions + study.confirmation.fewest_repetitions(case in active)
        for case, count in configurations.items()
    }
    spared = {case: most[case] - least[case] for case in most}
    loads_s = plan.duration_s - driver.cost_of(study, spared, sized=True).duration_s
    rounds = len(study.round_numbers())
    bounds = {
        "fewest_repetitions": plan.repetitions - sum(spared.values()),
        "fewest_duration_s": loads_s + _between_loads_s(2 * len(most), analyses=1),
        "duration_s": plan.duration_s + _between_loads_s((rounds + 1) * len(most), analyses=rounds),
    }
    return plan.model_copy(update=bounds)


def plan_comparison(study: Compare, driver: DriverRuntime) -> Plan:
    """Compute the same for a comparison: every level once in each block."""
    blocks = study.protocol.repetitions
    levels = {case: len(study.levels_of(case)) * blocks for case in study.cases}
    plan = driver.cost_of(study, levels, sized=False)
    duration_s = plan.duration_s + _between_loads_s(len(levels), analyses=0)
    return plan.model_copy(update={"duration_s": duration_s, **_times_by_case(study, driver, levels)})


def plan_check(study: Tune, driver: DriverRuntime, cases: Sequence[str]) -> Plan:
    """Compute the same for a check: blocks of the active settings and the baseline, sized as before."""
    return driver.cost_of(study, dict.fromkeys(cases, 2 * study.retune.blocks), sized=True)


def plan_gate(study: Tune, driver: DriverRuntime) -> Plan:
    """Compute the same for a gate: at most its blocks of reference and candidate in each case."""
    return driver.cost_of(study, dict.fromkeys(study.cases, 2 * study.gate.blocks), sized=False)


def _between_loads_s(measuring_tasks: int, *, analyses: int) -> float:
    """Return the seconds of a campaign in which it cannot measure: task starts, analyses and the report."""
    return measuring_tasks * TASK_START_S + analyses * ANALYSIS_S + REPORT_S


def _times_by_case(study: Study, driver: DriverRuntime, repetitions: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Return by case the time before the first repetition, and the time of each."""
    start_s, repetition_s = {}, {}
    for case, count in repetitions.items():
        whole_s = driver.cost_of(study, {case: count}, sized=False).duration_s
        repetition_s[case] = (driver.cost_of(study, {case: 2 * count}, sized=False).duration_s - whole_s) / count
        in_start = study.protocol.noise_repetitions - count
        start_s[case] = max(whole_s + in_start * repetition_s[case], 0.0)
    return {"start_s": start_s, "repetition_s": repetition_s}


def describe_plan(plan: Plan) -> str:
    """Describe the plan in one line."""
    repetitions, duration, most = f"{plan.repetitions}", _in_words(plan.duration_s), ""
    if plan.fewest_repetitions is not None and plan.fewest_duration_s is not None:
        repetitions = f"{plan.fewest_repetitions} to {repetitions}"
        least, most = _in_words(plan.fewest_duration_s), "up to "
        duration = duration if least == duration else _range(least, duration)
    noise = f" ({plan.noise_repetitions} for the noise report)" if plan.noise_repetitions else ""
    overrides = f"; overrides of the study file: {'; '.join(map(str, plan.overrides))}" if plan.overrides else ""
    return (
        f"plan: {repetitions} repetitions{noise}, about {duration}, {most}{gib_text(plan.sent_gib)} sent, "
        f"peak disk use {gib_text(plan.peak_disk_gib)} across all brokers; "
        f"reruns not included{overrides}"
    )


def require_consent(plan: Plan, study: Study) -> None:
    """Refuse a plan above a foreign cluster's ceiling, or without its owner's consent.

    Raises:
        PlanError: With both numbers and the fix.
        ConsentError: Without consent.
    """
    if study.cluster is not None and plan.sent_gib > study.cluster.ceiling_gib:
        raise PlanError(
            f"the campaign would send {plan.sent_gib:.1f} GiB, above the ceiling of {study.cluster.ceiling_gib:g} GiB; "
            f"raise the ceiling, or request fewer repetitions or {study.declaration.case_words[1]}"
        )
    if study.cluster is not None and not study.cluster.consent:
        raise ConsentError(
            "this cluster was not started by the stack, so a campaign on it needs your consent: "
            "read the plan above, then start the campaign again with consent"
        )


def gib_text(gib: float) -> str:
    """Format GiB with two significant digits, or all digits before the point."""
    return f"{gib:,.0f} GiB" if gib >= 10 else f"{gib:.2g} GiB"


def _in_words(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _range(least: str, most: str) -> str:
    """Write a unit that both share once: `3 to 14 minutes`."""
    number, unit = least.split()
    return f"{number} to {most}" if most.endswith(f" {unit}") else f"{least} to {most}"
