"""Render the report as one self-contained HTML page: data-URI figures, inline style, no script."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pandas as pd

from kafka_pareto.analysis.html_templates import html_templates
from kafka_pareto.analysis.wording import joined, role_text, share, value_text
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report import measurement_tables, published_tables
from kafka_pareto.report.advice import advice_rows, advice_sources
from kafka_pareto.report.card_layout import card_parts
from kafka_pareto.report.cards import properties_text
from kafka_pareto.report.evidence import Evidence, estimates_table, r2_table
from kafka_pareto.report.reasons import reason_of
from kafka_pareto.report.summary import overview, summary_sentences
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.declarations import is_maximised, label_of
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

_WEAKER_ROWS_SHOWN = 8
_PUBLISHED_CASE = "1024"  # record size in bytes of the published study's Figures 3 and 6


def render_page(evidence: Evidence, figures: Mapping[str, bytes]) -> bytes:
    """Return the page as UTF-8 HTML; all values are escaped."""
    environment = html_templates("kafka_pareto.report")
    captions = _captions(evidence.study)
    environment.filters["number"] = _number
    environment.filters["share"] = share
    environment.filters["case_label"] = case_label
    page = environment.get_template("report.html.j2").render(
        study=evidence.study,
        keys=evidence.keys,
        sentences=summary_sentences(evidence.cards.cards, evidence.study.declaration),
        overview=overview(evidence.cards.cards, evidence.study.objective_names),
        cards=[_card(evidence, decision) for decision in evidence.cards.cards],
        figures=[
            {"uri": f"data:image/png;base64,{base64.b64encode(content).decode()}", "caption": captions[name]}
            for name, content in figures.items()
        ],
        best_and_worst=published_tables.best_and_worst_rows(evidence),
        best_per_objective=published_tables.best_per_objective_rows(evidence),
        scores=_scores(evidence),
        estimates=_estimates(evidence),
        advice=advice_rows(evidence),
        advice_sources=advice_sources(evidence),
        objectives=[(objective, label_of(objective)) for objective in evidence.study.objective_names],
        weaker=_weaker_fronts(evidence),
        noise=measurement_tables.noise_tables(evidence),
        ramps=measurement_tables.ramps(evidence),
        generator=measurement_tables.generator_checks(evidence),
        uncounted=measurement_tables.uncounted(evidence),
        fingerprints=_fingerprints(evidence),
        plan=evidence.plan,
        case_words=evidence.study.declaration.case_words,
        settings_word=evidence.study.declaration.settings_word,
        settings_file=evidence.study.declaration.settings_file,
        wanted=evidence.study.confirmation.wanted_effect_fraction,
    )
    return page.encode()


def _captions(study: Tune) -> dict[str, str]:
    """Return captions by figure name."""
    driver = study.declaration
    alone = f" The paper's figure covers only {case_label(_PUBLISHED_CASE)}." if _PUBLISHED_CASE in study.cases else ""
    across, up = (label_of(each) for each in driver.plane)
    mean, spread = (label_of(each) for each in driver.steadiness or driver.plane)
    corner = f"{'High' if is_maximised(driver.plane[1]) else 'Low'} and to the {_side(driver.plane[0])} is best."
    return {
        "fig3_r2_per_objective.png": f"Figure 3. Surrogate accuracy by objective: R² over all {driver.case_words[1]} "
        f"(bars) and within each one (points), and the noise ceiling.{alone}",
        "fig4_estimated_vs_measured.png": "Figure 4. Estimated and measured values of every confirmed point (choice "
        "blocks). A line through a point is its 90 % prediction interval.",
        "fig5_mean_and_its_cv.png": f"Figure 5. {mean.capitalize()} and {spread}, by {driver.case_words[0]}. High and "
        "to the left is best.",
        "fig6_two_objectives.png": f"Figure 6. {across.capitalize()} and {up}: the measured design, the estimated "
        "front (a line through a point is its 90 % prediction interval), and the confirmed points; the stepped line "
        "joins the non-dominated confirmed points. "
        f"{corner}{alone}",
        "fig7_baseline_and_pick_by_repetition.png": "Figure 7. Baseline and pick by repetition, and their CVs.",
        "fig8_where_the_latency_goes.png": "Figure 8. Breakdown of a record's mean latency by the client's metrics: "
        "time in the accumulator, and request latency (until the broker's response). Medians over the repetitions.",
        "fig9_baseline_over_the_campaign.png": "Figure 9. Baseline stability: all its repetitions in chronological "
        "order. A dashed line marks a significant change.",
        "fig10_measured_hypervolume_by_round.png": "Figure 10. Hypervolume by round: the measured configurations "
        f"in {joined(map(label_of, study.means))} relative to the baseline (logarithms; the reference "
        "point is twice as bad as the baseline in each).",
    }


def _side(objective: ObjectiveName) -> str:
    return "right" if is_maximised(objective) else "left"


def _card(evidence: Evidence, decision: Decision) -> dict[str, Any]:
    case = decision.case
    parts = card_parts(decision, evidence.context(case), evidence.cards.campaign)
    return {
        **dict(parts),
        "decision": decision,
        "reason": reason_of(decision),
        "effect_sizes": [
            {"label": label_of(gain.objective), "hedges_g": gain.hedges_g, "cliffs_delta": gain.cliffs_delta}
            for gain in decision.gains
        ],
        "properties": properties_text(decision, evidence.study, evidence.keys.campaign, evidence.measured_on(case)),
        "repetitions": _repetition_ids(evidence, decision),
    }


def _repetition_ids(evidence: Evidence, decision: Decision) -> list[dict[str, Any]]:
    groups = []
    if decision.gains:
        gain = decision.gains[0]
        groups.append({"of": "Gains: the pick, fresh blocks", "ids": gain.candidate_repetition_ids})
        active = "the active settings" if decision.in_force else "the baseline"
        groups.append({"of": f"Gains: {active}, fresh blocks", "ids": gain.reference_repetition_ids})
    confirmed = evidence.confirmed
    for row in _rows(confirmed[confirmed.case == decision.case]):
        words = configuration_words({name: row[name] for name in evidence.study.factors})
        name = "the baseline" if row["is_baseline"] else f"{words} ({row['configuration_id']})"
        groups.append({"of": f"Choice: {name}", "ids": list(row["repetition_ids"])})
    return groups


def _scores(evidence: Evidence) -> list[dict[str, Any]]:
    rows = _rows(r2_table(evidence))
    for row in rows:
        coverage, learned = row["coverage_cross_validated"], "learnable" if row["learnable"] else "not learnable"
        row["label"] = label_of(row["objective"])
        row["verdict"] = "too few to judge" if pd.isna(row["r2_cross_validated"]) else learned
        row["in_intervals"] = share(None if pd.isna(coverage) else coverage)
        row["size"] = "all" if pd.isna(row["case"]) else case_label(row["case"])
    return rows


def _estimates(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            "case": row["case"],
            "configuration_id": row["configuration_id"],
            "chosen_as": "; ".join(map(role_text, row["chosen_as"].split())),
            "factors": ", ".join(f"{name}={row[name]}" for name in evidence.study.factors),
            "pairs": [
                [_objective(row[f"{kind}_{name}"], name) for kind in ("estimated", "measured")]
                for name in evidence.study.objective_names
            ],
        }
        for row in _rows(estimates_table(evidence))
    ]


def _weaker_fronts(evidence: Evidence) -> list[dict[str, Any]]:
    """Return each case's estimated fronts of durabilities the study does not accept: never recommended."""
    found = []
    best, _ = evidence.study.declaration.plane
    for case, front in evidence.fronts.items():
        rising = not is_maximised(best)
        weaker = front[~front.durability_accepted].sort_values(f"estimated_{best}", ascending=rising, kind="stable")
        rows = [
            {
                "configuration_id": row["configuration_id"],
                "durability": row["durability"],
                "factors": ", ".join(f"{name}={row[name]}" for name in evidence.study.factors),
                "values": [
                    _objective(row[f"estimated_{objective}"], objective) for objective in evidence.study.objective_names
                ],
            }
            for row in _rows(weaker.head(_WEAKER_ROWS_SHOWN))
        ]
        if rows:
            found.append({"case": case, "points": len(weaker), "rows": rows})
    return found


def _fingerprints(evidence: Evidence) -> list[dict[str, Any]]:
    """Return one entry per distinct system and machine; topics differ by case."""
    groups: dict[str, dict[str, Any]] = {}
    for case, fingerprint in evidence.fingerprints.items():
        facts = fingerprint.facts()
        topic = facts.pop("topic", None)
        group = groups.setdefault(str(facts), {"facts": facts, "sizes": [], "topics": []})
        group["sizes"].append(case_label(case))
        group["topics"] += [topic] if topic else []
    return list(groups.values())


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _objective(value: float, objective: ObjectiveName) -> str:
    return value_text(None if pd.isna(value) else value, objective)


def _number(value: Any, decimals: int = 2) -> str:
    return "-" if pd.isna(value) else f"{value:,.{decimals}f}"
