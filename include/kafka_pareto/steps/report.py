"""Step `report`: decision cards, `producer.properties`, the paper's tables and figures, one HTML page."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import cast

import pandas as pd
from pydantic import JsonValue

from kafka_pareto.campaign.advice import followed_advice
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest, Notice
from kafka_pareto.campaign.records import Fingerprint, NoiseReport, Plan, Proposal, Repetition, RoundsSoFar, Sizing
from kafka_pareto.campaign.sent_text import delete_unless_kept
from kafka_pareto.campaign.tables import (
    CANDIDATE_INTERVAL_COLUMNS,
    FRONT_INTERVAL_COLUMNS,
    SCORE_COLUMNS,
    TRIAL_COLUMNS,
    rejected_columns,
)
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.card_context import CardContext, card_context
from kafka_pareto.report.card_layout import cards_text
from kafka_pareto.report.cards import Cards, properties_text
from kafka_pareto.report.evidence import Evidence, estimates_table, r2_table
from kafka_pareto.report.figures import draw_figures
from kafka_pareto.report.measured_case import MeasuredCase
from kafka_pareto.report.measurement_figures import draw_measurement_figures
from kafka_pareto.report.outcome import junit_xml, outcome_of
from kafka_pareto.report.page import render_page
from kafka_pareto.report.published_tables import best_and_worst_table, best_per_objective_table
from kafka_pareto.report.reasons import headline_of, reason_of
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.search.stopping import rounds_so_far
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declaration import Driver
from kafka_pareto.tracking import campaign_runs, champions, surrogate_runs

logger = logging.getLogger(__name__)


def run(campaign: Campaign) -> Manifest:
    """Write the report, log the searches in MLflow, judge the champions, and log the cards last.

    Raises:
        ArtifactError: If an earlier step's artifact is missing, damaged or of another schema version.
        TrackingError: If MLflow is configured and cannot be reached; the report is already stored.
    """
    evidence = _read(campaign)
    figures = {**draw_figures(evidence), **draw_measurement_figures(evidence)}
    tables = {
        "table1_best_and_worst.csv": best_and_worst_table(evidence.study, evidence.design_trials),
        "table2_best_per_objective.csv": best_per_objective_table(evidence.study, evidence.design_trials),
        "r2_per_objective.csv": r2_table(evidence),
        "estimated_vs_measured.csv": estimates_table(evidence),
    }
    page = render_page(evidence, figures)
    cards, outcome = cards_text(evidence.cards), outcome_of(evidence.cards)

    write, key = campaign.write, campaign.keys.report
    written = [
        write(key("cards.txt"), cards.encode()),
        campaign.write_record(key("cards.json"), evidence.cards),
        *(write(key(f"tables/{name}"), table.to_csv(index=False).encode()) for name, table in tables.items()),
        *(write(key(f"figures/{name}"), content) for name, content in figures.items()),
        campaign.write_record(key("outcome.json"), outcome),
        write(key("junit.xml"), junit_xml(outcome)),
        *(_put_properties(campaign, evidence, decision) for decision in evidence.cards.cards),
        write(key("report.html"), page),
    ]
    delete_unless_kept(campaign)
    try:
        _track(campaign, evidence, page)
    finally:
        logger.info("%s", cards)  # even if MLflow is down
    counts = {
        "cards": len(evidence.cards.cards),
        "recommended": sum(decision.recommended for decision in evidence.cards.cards),
        "repetitions": sum(len(found) for found in evidence.repetitions.values()),
    }
    manifest = campaign.manifest("report", written, counts)
    return manifest.model_copy(
        update={"event": _event(evidence.cards), "notice": _notice(evidence.cards, campaign.study.declaration)}
    )


def _event(cards: Cards) -> dict[str, JsonValue]:
    """Return the event for other DAGs: by case the verdict and its properties."""
    decided = {
        str(decision.case): {
            "verdict": decision.verdict,
            "configuration_id": decision.recommended_configuration_id,
            "properties": decision.recommended_properties,
            "pick_configuration_id": decision.pick_configuration_id,
            "pick_properties": decision.pick_properties,
            "pick_durability": decision.pick_durability,
            "in_force_version": decision.in_force.version if decision.in_force else None,
            "baseline_properties": decision.baseline_properties,
            "baseline_durability": decision.baseline_durability,
            "reference_properties": decision.reference_properties,
            "reasons": [reason_of(decision)],
        }
        for decision in cards.cards
    }
    return {"study": cards.study, "campaign": cards.campaign, "cases": cast(JsonValue, decided)}


def _notice(cards: Cards, driver: Driver) -> Notice:
    recommended = sum(decision.recommended for decision in cards.cards)
    asked = sum(decision.verdict == "ask_a_person" for decision in cards.cards)
    outcome = f"new settings for {recommended} of {driver.cases_text(len(cards.cards))}" if recommended else "no gain"
    if asked:
        outcome = (
            f"{outcome if recommended else 'no automatic change'}; approval required for {driver.cases_text(asked)}"
        )
    lines = [f"{case_label(d.case)}: {headline_of(d)}. {reason_of(d)}" for d in cards.cards]
    return Notice(
        kind="finished" if recommended or asked else "no_gain",
        subject=f"{cards.study}: {outcome}",
        text="\n".join([f"Campaign {cards.campaign} has ended.", *summary_sentences(cards.cards, driver), "", *lines]),
    )


def _read(campaign: Campaign) -> Evidence:
    study, keys, last_round = campaign.tune, campaign.keys, campaign.last_round()
    cases = study.cases
    decisions = [campaign.read_record(keys.confirmation(case, "decision.json"), Decision) for case in cases]
    repetitions = {decision.case: _repetitions(campaign, decision) for decision in decisions}
    rejected = _rejected(campaign, last_round)
    trials = [campaign.read_table(keys.trials(number), TRIAL_COLUMNS) for number in range(last_round + 1)]
    rounds = _rounds(campaign, trials)
    measured, contexts = {}, []
    for decision in decisions:
        case = decision.case
        design = _design(campaign, case, last_round, rejected)
        discarded = _discarded(campaign, case, last_round)
        measured[case], context = _measured(campaign, decision, design, repetitions[case], discarded, rounds.get(case))
        contexts.append(context)
    return Evidence(
        study=study,
        keys=keys,
        trials=trials[-1],
        design_trials=trials[0],
        scores=campaign.read_table(keys.surrogates("scores.parquet", last_round), SCORE_COLUMNS, factors=False),
        fronts={case: campaign.read_table(keys.front(case, last_round), FRONT_INTERVAL_COLUMNS) for case in cases},
        candidates={
            case: campaign.read_table(keys.confirmation(case, "candidates.parquet"), CANDIDATE_INTERVAL_COLUMNS)
            for case in cases
        },
        confirmed=pd.concat(
            [campaign.read_table(keys.confirmation(case, "trials.parquet"), TRIAL_COLUMNS) for case in cases],
            ignore_index=True,
        ),
        repetitions=repetitions,
        measured=measured,
        advice=followed_advice(campaign),
        cards=Cards(study=keys.study, campaign=keys.campaign, cards=decisions, contexts=contexts),
        fingerprints={case: campaign.read_record(keys.fingerprint(case), Fingerprint) for case in cases},
        plan=campaign.read_record(keys.plan(), Plan),
    )


def _rejected(campaign: Campaign, last_round: int) -> dict[str, str]:
    """Return the gates' reasons for rejected repetitions, by ID."""
    names = [campaign.keys.validation("rejected.parquet", number) for number in range(last_round + 1)]
    columns = rejected_columns(campaign.study.declaration)
    rejected = pd.concat([campaign.read_table(name, columns) for name in names])
    return dict(zip(rejected["repetition_id"], rejected["rejected_because"], strict=True))


def _design(campaign: Campaign, case: str, last_round: int, reasons: Mapping[str, str]) -> Iterator[Repetition]:
    """Read the repetitions of the design and the rounds; rejected ones count as failed, with the gate's reason."""
    for repetition in campaign.each_measurement([case], range(last_round + 1)):
        reason = reasons.get(repetition.repetition_id)
        rejection = {"outcome": "failed", "reason": f"rejected by the gate: {reason}"}
        yield repetition if reason is None else repetition.model_copy(update=rejection)


def _measured(
    campaign: Campaign,
    decision: Decision,
    design: Iterable[Repetition],
    confirmation: Sequence[Repetition],
    discarded: Sequence[Repetition],
    rounds: RoundsSoFar | None,
) -> tuple[MeasuredCase, CardContext]:
    """Reduce the repetitions of one case to what the report shows; of the design, only the baseline's are held."""
    keys, found, baseline = campaign.keys, MeasuredCase(campaign.tune, decision), list[Repetition]()
    noise = campaign.read_repetitions(keys.noise_repetitions(decision.case))
    for repetition in chain(noise, design, confirmation):
        found.add(repetition)
        if repetition.is_baseline and repetition.phase == "design":
            baseline.append(repetition)
    for repetition in discarded:
        found.add_rejected(repetition)
    context = card_context(
        campaign.tune,
        decision,
        design=baseline,
        confirmation=confirmation,
        discarded=discarded,
        sizing=campaign.find_record(keys.sizing(decision.case), Sizing),
        noise=campaign.find_record(keys.noise(decision.case), NoiseReport),
        noise_repetitions=noise,
        rounds=rounds,
    )
    return found, context


def _rounds(campaign: Campaign, trials: Sequence[pd.DataFrame]) -> dict[str, RoundsSoFar]:
    """Return the results of the rounds with these trials by case; empty for a study without rounds."""
    study, keys = campaign.tune, campaign.keys
    if study.strategy != "rounds":
        return {}
    found = {case: rounds_so_far(study, case, trials) for case in study.cases}
    # The last decision has the stop reason of every case, except of those that reached the last round.
    decisions = [campaign.find_record(keys.proposal(number), Proposal) for number in study.round_numbers()[1:]]
    for decision in decisions:
        for decided in decision.cases if decision else []:
            if decided.stopped_because:
                stopped = {"stopped_because": decided.stopped_because}
                found[decided.case] = found[decided.case].model_copy(update=stopped)
    return found


def _repetitions(campaign: Campaign, decision: Decision) -> list[Repetition]:
    """Return the repetitions of the planned blocks; an earlier try may have picked another finalist."""
    confirmation, prefix = campaign.tune.confirmation, campaign.keys.confirmation(decision.case)
    always = decision.baseline_configuration_id, decision.reference_configuration_id
    finalists = (*always, decision.pick_configuration_id)
    # In campaigns of earlier releases, advice that replaced the pick has its own gain blocks.
    most_gain_blocks = confirmation.gain_blocks * (2 if campaign.tune.advice else 1)
    most_blocks = most_gain_blocks + confirmation.final_blocks + confirmation.more_blocks
    planned = {
        "choice": range(confirmation.choice_blocks),
        "gain": range(most_gain_blocks),
        "final": range(confirmation.gain_blocks, most_blocks),
    }
    return [
        repetition
        for repetition in campaign.read_repetitions(f"{prefix}repetitions/")
        if repetition.block in planned[repetition.phase]
        and (repetition.phase == "choice" or repetition.configuration_id in finalists)
    ]


def _discarded(campaign: Campaign, case: str, last_round: int) -> list[Repetition]:
    keys = campaign.keys
    prefixes = [keys.discarded(case, number) for number in range(last_round + 1)]
    prefixes.append(keys.confirmation(case, "set_aside/"))
    return [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]


def _put_properties(campaign: Campaign, evidence: Evidence, decision: Decision) -> str:
    case = decision.case
    text = properties_text(decision, campaign.study, campaign.keys.campaign, evidence.measured_on(case))
    return campaign.write(campaign.keys.report(f"{case}/{campaign.study.declaration.settings_file}"), text.encode())


def _track(campaign: Campaign, evidence: Evidence, page: bytes) -> None:
    last_round = campaign.last_round()
    campaign_runs.log_r2(campaign, last_round)  # logs what `train` could not
    surrogate_runs.log_surrogates(campaign, last_round)
    rounds = [context.rounds for context in evidence.cards.contexts if context.rounds is not None]
    campaign_runs.log_search(campaign, last_round, rounds)
    campaign_runs.log_report(campaign, page)
    # Training data would understate the error of this campaign's surrogates.
    for outcome in champions.judge_champions(campaign, evidence.newly_confirmed()):
        champion = "this campaign's model" if outcome.moved else f"version {outcome.champion_version}"
        logger.info("champion for %s: %s (error %.4g)", outcome.objective, champion, outcome.error)
