"""Build a card's content: rows, warnings, notes and `producer.properties`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.paired_tests import CONFIDENCE
from kafka_pareto.analysis.sequential import MOST_BLOCKS
from kafka_pareto.analysis.wording import (
    counted,
    criterion_text,
    interval_text,
    joined,
    percent,
    resolution_text,
    share,
    value_text,
)
from kafka_pareto.decision.counts import Counts
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.known_properties import Durability, DurabilityName, PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines, property_text
from kafka_pareto.report.card_context import CardContext
from kafka_pareto.report.latency_breakdown import Row
from kafka_pareto.report.reasons import UPSET, missed_limits_text, reason_of, reference_words, rules_broken, trade_offs
from kafka_pareto.storage.record import Record
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import drivers, is_maximised, label_of, objective_named
from kafka_pareto.study.objectives import objectives_named
from kafka_pareto.study.study import Study

PROMISES: dict[str, str] = {
    Durability.received.name: "none: records are acknowledged before Kafka stores them",
    Durability.acks_0.name: "none: acks=0, no acknowledgment",
    Durability.acks_1.name: "leader only: acks=1, records can be lost with their leader",
    Durability.acks_all.name: "in-sync replicas: acks=all, duplicates possible",
    Durability.acks_all_idempotent.name: "in-sync replicas, no duplicates: acks=all, idempotent",
}


class Cards(Record):
    """All decisions of a campaign, with `contexts` in the same order."""

    study: str
    campaign: str
    cards: list[Decision]
    contexts: list[CardContext]


def settings_rows(decision: Decision) -> list[Row]:
    """Return the settings of pick, active version and baseline, with a header; `*` marks a change by the pick."""
    baseline, reference, pick = decision.baseline_properties, decision.reference_properties, decision.pick_properties
    kept = "" if decision.offered else " (keep)"
    beside = {reference_label(decision) + kept: (reference, decision.reference_durability)}
    if decision.in_force:
        beside["baseline"] = (baseline, decision.baseline_durability)
    promised = [durability for _, durability in beside.values()]
    names = sorted({*baseline, *reference, *(pick or {})})
    if pick is None:
        kept_settings = [properties for properties, _ in beside.values()]
        shown_rows = [(name, *(shown(name, each, decision.driver) for each in kept_settings)) for name in names]
        return [("Settings", *beside), *shown_rows, *_durability_rows(decision, promised)]
    rows: list[Row] = [("Settings", standing(decision), *beside, "")]
    for name in names:
        compared = (pick, *(properties for properties, _ in beside.values()))
        new, *others = (shown(name, properties, decision.driver) for properties in compared)
        rows.append((name, new, *others, "*" if new != others[0] else ""))
    weaker = "WEAKER" if decision.weaker_than_baseline or decision.weaker_than_active else ""
    return [*rows, *_durability_rows(decision, [decision.pick_durability or "", *promised, weaker])]


def _durability_rows(decision: Decision, cells: Sequence[str]) -> list[Row]:
    return [("durability", *cells)] if decision.states_durability else []


def gain_rows(decision: Decision) -> list[Row]:
    """Return each objective's two values, change with interval, and conclusion, with a header."""
    interval = interval_label(decision.gains)
    header = ("Measured", reference_label(decision), standing(decision), "change", interval, "verdict")
    return [header, *((*_change_row(gain), resolution_text(gain)) for gain in decision.gains)]


def baseline_gain_rows(decision: Decision) -> list[Row]:
    """Return the gains over the baseline, if it is not active."""
    gains = decision.gains_over_baseline
    is_joint = any(gain.confidence > CONFIDENCE for gain in gains)
    interval = "95 % interval, joint within this table" if is_joint else "95 % interval"
    header = ("Over the baseline", "baseline", standing(decision), "change", interval)
    return [header, *map(_change_row, gains)] if gains else []


def interval_label(gains: Sequence[Gain]) -> str:
    """Return the intervals' heading; those of earlier releases hold one at a time."""
    return "joint 95 % interval" if any(gain.confidence > CONFIDENCE for gain in gains) else "95 % interval"


def warnings_of(decision: Decision) -> list[str]:
    """List the warnings that a reader must not miss."""
    warnings = [] if decision.pick_durability is None else _weaker(decision, decision.pick_durability)
    if broken := rules_broken(decision):
        warnings.append(f"{broken} Approval is required.")
    for whose, counts in _sides(decision):
        if counts.lost_records:
            warnings.append(f"{whose} lost or duplicated records in {counted(counts.lost_records, 'repetition')}.")
        if counts.failed:
            warnings.append(f"{whose} failed in {counted(counts.failed, 'repetition')}{_share(counts)}.")
        if counts.upsets:
            runs = counted(counts.upsets, "run")
            warnings.append(f"{whose} disturbed the cluster in {runs}, since repeated: {UPSET}.")
        if counts.repeated:
            cause = "" if decision.newest_version is None else ", for a reason unrelated to the configuration"
            warnings.append(
                f"{counted(counts.repeated, 'valid repetition')} of {whose} needed another attempt{cause}; latencies "
                "after a retry may differ."
            )
    if decision.offered:
        warnings += [
            f"the {label_of(gain.objective)} change is inconclusive: {interval_text(gain)}."
            for gain in decision.gains
            if not objective_named(gain.objective).spread_of
            and gain.resolution == "not resolved"
            and gain.change_low_fraction is not None
        ]
    for whose, counts in _sides(decision):
        if counts.generator_bound:
            warnings.append(
                f"in {counts.generator_bound} of {decision.blocks_used} fresh blocks the load generator, not Kafka, "
                f"was the bottleneck for {whose}: Kafka may be faster."
            )
    return warnings


def _weaker(decision: Decision, durability: DurabilityName) -> list[str]:
    sides = {
        "the active settings": (decision.weaker_than_active, decision.reference_durability),
        "the baseline": (decision.weaker_than_baseline, decision.baseline_durability),
    }
    return [
        f"the pick's durability guarantee is WEAKER than that of {whose}. Pick: {PROMISES[durability]}. "
        f"{whose.removeprefix('the ').capitalize()}: {PROMISES[promised]}. Records that are safe today can be lost."
        for whose, (is_weaker, promised) in sides.items()
        if is_weaker
    ]


def _sides(decision: Decision) -> list[tuple[str, Counts]]:
    of_active = [("the active settings", decision.in_force_counts)] if decision.in_force_counts else []
    return [("the pick", decision.pick_counts), *of_active, ("the baseline", decision.baseline_counts)]


def _share(counts: Counts) -> str:
    most = counts.largest_failure_fraction
    return "" if most is None else f" of {counts.attempts}; its failure rate may be up to {share(most)}"


def trade_offs_of(decision: Decision) -> list[str]:
    """List the pick's demonstrated costs; empty without a pick."""
    if decision.pick_configuration_id is None:
        return []
    if decision.verdict == "keep_not_enough_evidence":
        return [*trade_offs(decision), "unknown: not enough evidence"]
    return trade_offs(decision) or ["none found"]


def notes_of(decision: Decision) -> list[str]:
    """List explanations of the choice and the comparison."""
    notes = []
    means = [gain.objective for gain in decision.gains if not objective_named(gain.objective).spread_of]
    criterion, asked = (criterion_text(each, means) for each in (decision.chosen_by, decision.choice_asked_by))
    if criterion != asked:
        notes.append(f"selection criterion: {criterion}, not {asked} as in the study, because CVs are missing.")
    elif decision.pick_configuration_id is not None:
        notes.append(f"selection criterion: {criterion}.")
    if decision.holds_for:
        notes.append(f"valid for {decision.holds_for}; for others, see study {decision.other_study}.")
    notes += blocks_notes(decision)
    if unsteady := _cvs_not_borne_out(decision):
        notes.append(
            f"{joined(unsteady)}, part of the selection criterion, did not improve significantly in fresh blocks."
        )
    here = " at this record size" if decision.case.isdecimal() else ""
    exempt = [
        *(f"breaks the study's constraint {rule}{here}" for rule in decision.baseline_constraints_broken),
        *(f"lies in the study's forbidden region {rule}" for rule in decision.baseline_in_forbidden),
        *(f"violates the study's limit {missed_limits_text([each])}" for each in decision.baseline_limits_missed),
    ]
    return notes + [
        f"the baseline {text}; rules apply to candidates only, so it is still measured and compared." for text in exempt
    ]


def blocks_notes(decision: Decision) -> list[str]:
    """State the blocks behind the intervals, their scope, and what does not count."""
    notes = []
    if decision.gains and decision.gains[0].confidence > CONFIDENCE:
        gain_blocks, final_blocks = decision.blocks_used - decision.final_blocks, decision.final_blocks
        blocks = f"{gain_blocks} gain and {final_blocks} final" if final_blocks else f"{gain_blocks} fresh"
        cases = "record sizes" if decision.case.isdecimal() else "cases"
        notes.append(
            '"better" and "worse" mean that the interval excludes 0 %. The intervals use all '
            f"{blocks} blocks and hold jointly at 95 % over all objectives and {cases}; except for the CVs, they "
            f"stay valid under early stopping.{_beside_text(decision)}"
        )
    if decision.in_force_left_out:
        notes.append(
            f"version {decision.newest_version} is active but was not the reference here: "
            f"{'; '.join(decision.in_force_left_out)}."
        )
    return notes


def _beside_text(decision: Decision) -> str:
    """Name the comparisons whose intervals do not hold jointly with those against the active settings."""
    beside = [
        *(["the baseline"] if decision.gains_over_baseline else []),
        *(["advice"] if decision.advice and decision.advice.gains else []),
    ]
    verb = "comparisons with {} are" if len(beside) > 1 else "comparison with {} is"
    return f" The {verb.format(joined(beside))} not included." if beside else ""


def unresolved_of(decision: Decision) -> list[str]:
    """List inconclusive results and the blocks they need; empty with fewer blocks than the study asks for."""
    unresolved = [
        gain
        for gain in decision.gains
        # Gains of earlier releases do not state the number of blocks needed.
        if gain.resolution == "not resolved" and (gain.confidence > CONFIDENCE or gain.blocks_to_tell is not None)
    ]
    if not decision.has_enough_blocks or not unresolved:
        return []
    seen = [gain for gain in unresolved if gain.change_low_fraction is not None or gain.blocks_to_tell is not None]
    unseen = [label_of(gain.objective) for gain in unresolved if gain not in seen]
    needed = ", ".join(f"{label_of(gain.objective)} {_blocks_needed(gain)}" for gain in seen)
    blocks = f"blocks needed if the measured changes are accurate ({decision.blocks_used} so far)"
    return [
        *([f"{blocks}: {needed}."] if seen else []),
        *([f"No estimate of the blocks needed: {joined(unseen)}."] if unseen else []),
    ]


def evidence_of(decision: Decision, campaign: str) -> str:
    """State how much was measured, with the first and last repetition ID behind the numbers."""
    if not decision.gains or not decision.blocks_used:
        return f"campaign {campaign}; no fresh blocks were measured in full."
    gain = decision.gains[0]
    ranges = " and ".join(
        f"{ids[0]} .. {ids[-1]}" for ids in (gain.candidate_repetition_ids, gain.reference_repetition_ids)
    )
    asked = f"the study requires {decision.minimum_blocks}{' or more' if decision.stopping == 'sequential' else ''}"
    later = f", {decision.final_blocks} of them final" if decision.final_blocks else ""
    return f"campaign {campaign}; {decision.blocks_used} fresh blocks ({asked}){later}; repetitions {ranges}."


def properties_text(decision: Decision, study: Study, campaign: str, date: str) -> str:
    """Return a properties file with the recommended settings, or those that stay: the active ones or the baseline."""
    kept = "recommended" if decision.recommended else f"unchanged: this is {reference_words(decision)}"
    header = [
        f"{study.declaration.settings_word.capitalize()} for {case_label(decision.case)} ({kept}).",
        f"Study {study.name}, campaign {campaign}, {date}.",
        reason_of(decision),
        evidence_of(decision, campaign),
    ]
    if decision.pick_configuration_id and not decision.recommended:
        header.insert(2, "The pick is not in this file.")
    if decision.recommended:
        header += [f"WARNING: {warning}" for warning in warnings_of(decision)]
        header += [f"Trade-off: {sentence}." for sentence in trade_offs(decision)]
    settings = decision.recommended_properties
    lines = [f"# {' '.join(line.split())}" for line in header]
    return "\n".join([*lines, properties_lines({name: settings[name] for name in sorted(settings)})])


def shown(name: str, properties: Mapping[str, PropertyValue], driver: str) -> str:
    """Format a setting; an unset one has the default of the driver's program."""
    value = properties.get(name, drivers()[driver].defaults.get(name, ""))
    return f"{value:,}" if isinstance(value, (int, float)) and not isinstance(value, bool) else property_text(value)


def reference_label(decision: Decision) -> str:
    """Return the label of the pick's reference."""
    return f"active (v{decision.in_force.version})" if decision.in_force else "baseline"


def standing(decision: Decision) -> str:
    """Return the label of the pick: recommended if the evidence is sufficient."""
    return "recommended" if decision.recommended else "pick"


def _cvs_not_borne_out(decision: Decision) -> list[str]:
    named = objectives_named(decision.chosen_by)
    found = []
    for gain in decision.gains:
        mean = objective_named(gain.objective).spread_of
        went_by = gain.objective in named or (decision.chosen_by == "r1" and mean and is_maximised(mean))
        if mean and went_by and gain.resolution != "better":
            found.append(label_of(gain.objective))
    return found


def _blocks_needed(gain: Gain) -> str:
    if gain.blocks_to_tell is None:
        return f"more than {MOST_BLOCKS:,}"
    # Two digits: a few blocks give no better estimate of the noise.
    return f"about {float(f'{gain.blocks_to_tell:.2g}'):,.0f}"


def _change_row(gain: Gain) -> Row:
    return (
        label_of(gain.objective),
        value_text(gain.reference_value, gain.objective),
        value_text(gain.candidate_value, gain.objective),
        percent(gain.change_fraction),
        interval_text(gain),
    )
