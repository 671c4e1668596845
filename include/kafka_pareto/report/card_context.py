"""Describe the circumstances of a decision: measurement, noise, and stability of the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.noise_study import noise_lines
from kafka_pareto.analysis.repetition_values import Variability
from kafka_pareto.analysis.sentinel import SentinelReport, SeriesStability, sentinel_report
from kafka_pareto.analysis.wording import counted, joined, p_text, share
from kafka_pareto.bottleneck.common_verdict import common_code
from kafka_pareto.bottleneck.words import LABELS
from kafka_pareto.campaign.records import NoiseReport, Repetition, RoundsSoFar, Sizing, Stop
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.latency_breakdown import Breakdown, latency_breakdown
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.declarations import label_of
from kafka_pareto.study.tune import Tune

_WITHIN_RUN = (
    "CVs are computed within each run at its fixed rate and averaged over the repetitions: latency CV from the median "
    "and p90, throughput CV from the records delivered per 100 ms."
)


class CardContext(BaseModel):
    """The circumstances of one case's decision.

    Attributes:
        variability: What the CVs are computed over; None if no objective is one.
        sizing: What a repetition sends, with the ramp of a paced study; None if not stored.
        noise: The A/A test of the baseline; None without one.
        sentinel: Whether the baseline was stable from its first repetition to the last fresh block.
        breakdown: Latency by stage; None without the client's metrics.
        repetitions_set_aside: Number of repetitions repeated for a cause unrelated to the configuration.
        rounds: The result of the rounds after the design; None without any.
        limited_by: Bottleneck of the baseline, the active settings and the pick by configuration ID, as a code of
            `bottleneck.limiting_resource` found in at least half of the valid repetitions; empty if none, and without
            an entry if not examined, as in earlier cards.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    variability: Variability | None
    sizing: Sizing | None
    noise: NoiseReport | None
    sentinel: SentinelReport
    breakdown: Breakdown | None
    repetitions_set_aside: int
    rounds: RoundsSoFar | None = None
    limited_by: dict[str, str] = Field(default_factory=dict)


def card_context(
    study: Tune,
    decision: Decision,
    *,
    design: Sequence[Repetition],
    confirmation: Sequence[Repetition],
    discarded: Sequence[Repetition],
    sizing: Sizing | None,
    noise: NoiseReport | None,
    noise_repetitions: Sequence[Repetition],
    rounds: RoundsSoFar | None = None,
) -> CardContext:
    """Assemble the circumstances from one case's artifacts."""
    rng = np.random.default_rng([study.seed, case_seed(decision.case)])
    has_spreads = any(each.spread_of for each in study.declaration.objectives)
    return CardContext(
        case=decision.case,
        variability=study.protocol.variability if has_spreads else None,
        sizing=sizing,
        noise=noise,
        sentinel=sentinel_report([*noise_repetitions, *design, *confirmation], study, rng),
        breakdown=latency_breakdown(decision, confirmation, study.declaration.defaults)
        if study.declaration.has("queue_time_avg_ms")
        else None,
        repetitions_set_aside=len(discarded),
        rounds=rounds,
        limited_by=_limits(decision, confirmation),
    )


def warnings_of_context(context: CardContext) -> list[str]:
    """List the circumstances that need a warning."""
    if not context.sentinel.moved:
        return []
    return [f"the baseline drifted during the campaign. {' '.join(move_sentences(context.sentinel))}"]


def context_lines(context: CardContext, decision: Decision) -> dict[str, list[str]]:
    """Return sentences by label: the measurement, the noise, the baseline's stability."""
    lines = {"Protocol": protocol} if (protocol := _protocol(context, decision)) else {}
    if context.rounds is not None:
        lines["Rounds"] = _rounds(context.rounds)
    if context.noise is not None:
        lines["Noise"] = noise_lines(context.noise, context.variability)
    if not context.sentinel.moved:
        lines["Stability"] = sentinel_sentences(context.sentinel)
    if limits := _limits_text(context, decision):
        lines["Limited by"] = [limits]
    return lines


def _sides(decision: Decision) -> dict[str, str]:
    """Map the card's roles to configuration IDs, each configuration once."""
    sides = {"baseline": decision.baseline_configuration_id}
    if decision.in_force:
        sides["active"] = decision.in_force.configuration_id
    if decision.pick_configuration_id is not None:
        sides["pick"] = decision.pick_configuration_id
    first = {configuration: side for side, configuration in reversed(sides.items())}
    return {side: configuration for side, configuration in sides.items() if first[configuration] == side}


def _limits(decision: Decision, confirmation: Sequence[Repetition]) -> dict[str, str]:
    found = {}
    for configuration in _sides(decision).values():
        valid = [each for each in confirmation if each.configuration_id == configuration and each.outcome == "valid"]
        # Repetitions of earlier releases have no such quantity.
        codes = [each.quantities.get("limited_by") for each in valid]
        code = common_code([code if isinstance(code, str) else None for code in codes])
        if code is not None:
            found[configuration] = code
    return found


def _limits_text(context: CardContext, decision: Decision) -> str:
    limits = {side: context.limited_by.get(configuration) for side, configuration in _sides(decision).items()}
    sides = {
        code: [side for side, each in limits.items() if each == code] for code in limits.values() if code is not None
    }
    named = [f"{LABELS.get(code, code)} ({', '.join(found)})" for code, found in sides.items()]
    return f"{', '.join(named)}." if named else ""


def _protocol(context: CardContext, decision: Decision) -> list[str]:
    sentences = []
    sizing = context.sizing
    if sizing and sizing.capacity_records_s and (rate_records_s := paced_rate_records_s(sizing)):
        ramp = f"; found by a ramp of {counted(len(sizing.ramp), 'step')}" if sizing.ramp else ""
        sentences.append(
            f"Latency at a fixed {rate_records_s:,.0f} records/s: {share(rate_records_s / sizing.capacity_records_s)} "
            f"of the baseline's sustainable throughput ({sizing.capacity_records_s:,.0f}{ramp})."
        )
    if context.variability is not None:
        sentences.append(_WITHIN_RUN if context.variability == "within_run" else _across_repetitions(context, decision))
    if context.repetitions_set_aside:
        sentences.append(
            "Rejected and repeated because of trouble in the cluster or on the machine: "
            f"{counted(context.repetitions_set_aside, 'repetition')}."
        )
    return sentences


def _across_repetitions(context: CardContext, decision: Decision) -> str:
    """State what the CVs are computed over. Without a pick there are no gains; below twelve baselines, no series."""
    of = [gain.objective for gain in decision.main_gains] or [each.objective for each in context.sentinel.series]
    means = f" ({joined(map(label_of, of))})" if of else ""
    return f"CVs are computed across repetitions{means}."


def _rounds(so_far: RoundsSoFar) -> list[str]:
    volumes = ", ".join(f"{volume:.3f}" for volume in so_far.measured_hypervolume)
    stop, rounds = so_far.stopped_because, so_far.rounds_measured
    why = stop_text(stop, rounds) if stop else "confirmation was started early"
    measured = f"{counted(rounds, 'round')} after the design. Measured hypervolume by round"
    return [f"{measured if rounds else 'Measured hypervolume of the design'}: {volumes}.", f"Stopped: {why}."]


def stop_text(stop: Stop, rounds: int) -> str:
    """State why no round follows after so many."""
    match stop.code:
        case "rise_too_small":
            return (
                f"rounds {rounds - 1} and {rounds} together raised the measured hypervolume by "
                f"{share(stop.rise_fraction, 1)}, less than rounds.least_rise_fraction "
                f"({share(stop.least_rise_fraction, 1)})"
            )
        case "last_round":
            return f"the study allows {counted(rounds, 'round') if rounds else 'no rounds'} (rounds.maximum)"
        case "nothing_left":
            return "no unmeasured configuration is expected to improve the front"


def paced_rate_records_s(sizing: Sizing) -> float | None:
    """Return the fixed rate of the latency measurement; None at full speed."""
    if sizing.capacity_records_s is None:
        return None
    return sizing.timed.paced_rate_records_s if sizing.timed else sizing.throughput_limit_records_s


def sentinel_sentences(report: SentinelReport) -> list[str]:
    """State the result of every series, or that the repetitions are too few."""
    repetitions = len(report.repetition_ids)
    if not report.series:
        return [f"{repetitions} baseline repetitions are too few to judge stability."]
    return [sentence for one in report.series for sentence in _series_sentences(one, repetitions)]


def move_sentences(report: SentinelReport) -> list[str]:
    """Describe the series that moved; empty without any."""
    repetitions = len(report.repetition_ids)
    return [sentence for one in report.series if one.moved for sentence in _series_sentences(one, repetitions)]


def _series_sentences(series: SeriesStability, repetitions: int) -> list[str]:
    label = label_of(series.objective)
    subject = f"Baseline {label}"
    found = []
    if series.first_run_p_value_holm < SIGNIFICANCE:
        found.append(
            f"The baseline's first repetition is an outlier: {label} {series.first_run_change_fraction * 100:+,.0f} % "
            f"(p {p_text(series.first_run_p_value_holm)})."
        )
    if series.change_p_value_holm < SIGNIFICANCE:
        found.append(
            f"{subject} {'rose' if series.change_fraction > 0 else 'fell'} by {share(abs(series.change_fraction))} "
            f"after {series.change_after} of {repetitions} repetitions (p {p_text(series.change_p_value_holm)})."
        )
    elif series.drift_p_value_holm < SIGNIFICANCE:
        direction = "rose" if series.drift_tau > 0 else "fell"
        found.append(
            f"{subject} {direction} over the {repetitions} repetitions "
            f"(Kendall's tau {series.drift_tau:+.2f}, p {p_text(series.drift_p_value_holm)})."
        )
    return found or [f"{subject}: no significant change in {repetitions} repetitions."]
