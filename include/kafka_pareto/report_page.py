"""The report as one self-contained HTML page: decision first, then cards, then evidence. Pure.

Nothing is loaded from elsewhere: figures are data URIs, the style is inline, and there is no script.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import pandas as pd

from kafka_pareto import cards
from kafka_pareto.decision import Decision
from kafka_pareto.gains import LABELS, SIGNIFICANCE
from kafka_pareto.report_evidence import Evidence, estimates_table, r2_table
from kafka_pareto.study import OBJECTIVES, Objective

_CAPTIONS: dict[str, str] = {
    "fig3_r2_per_objective.png": "Figure 3. How well the surrogates estimate each objective: R² over all record sizes "
    "(bars) and within each one (diamonds), beside the ceiling that the repetitions' own noise sets.",
    "fig4_estimated_vs_measured.png": "Figure 4. Estimated beside measured, for every confirmed point (choice blocks).",
    "fig5_throughput_and_its_cv.png": "Figure 5. Throughput and its coefficient of variation, by record size. "
    "High and to the left is best.",
    "fig6_throughput_and_latency.png": "Figure 6. Throughput and p95 latency: the measured design, the estimated "
    "front, and what the confirmation measured; the line joins confirmed points that no other beats in both. Low and "
    "to the right is best.",
    "fig7_baseline_and_pick_by_repetition.png": "Figure 7. The settings in use and the pick, repetition by repetition.",
}
_WEAKER_ROWS_SHOWN = 8


def render_page(evidence: Evidence, figures: Mapping[str, bytes]) -> bytes:
    """The page as UTF-8 HTML; every value from the study or the cluster is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kafka_pareto"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    page = environment.get_template("report.html.j2").render(
        study=evidence.study,
        keys=evidence.keys,
        sentences=summary_sentences(evidence.cards.cards),
        cards=[_card(evidence, decision) for decision in evidence.cards.cards],
        figures=[
            {"uri": f"data:image/png;base64,{base64.b64encode(content).decode()}", "caption": _CAPTIONS[name]}
            for name, content in figures.items()
        ],
        scores=_scores(evidence),
        estimates=_estimates(evidence),
        objectives=[(objective, LABELS[objective]) for objective in OBJECTIVES],
        weaker=_weaker_fronts(evidence),
        fingerprints=_fingerprints(evidence),
        plan=evidence.plan,
        significance=SIGNIFICANCE,
    )
    return page.encode()


def summary_sentences(decisions: Sequence[Decision]) -> list[str]:
    """The decision in three plain sentences: what to change, what it brings, what it costs or risks."""
    changed = [decision for decision in decisions if decision.recommended]
    return [_what(decisions, changed), _benefit(decisions, changed), _price(decisions, changed)]


def _what(decisions: Sequence[Decision], changed: Sequence[Decision]) -> str:
    if not changed:
        return "Keep the producer settings in use: this campaign recommends no change at any record size."
    sizes = _listed(f"{decision.record_size_bytes:,} B" for decision in changed)
    rest = [f"{decision.record_size_bytes:,} B" for decision in decisions if not decision.recommended]
    kept = f" Keep the settings in use at {_listed(rest)}." if rest else ""
    count = f"{len(changed)} of {len(decisions)} record sizes" if rest else "every record size"
    return f"Change the producer settings for {count}: {sizes}.{kept}"


def _benefit(decisions: Sequence[Decision], changed: Sequence[Decision]) -> str:
    if not changed:
        undecided = [d for d in decisions if d.verdict == "keep_baseline_not_enough_evidence"]
        if undecided:
            return (
                f"At {len(undecided)} of {len(decisions)} record sizes the evidence is not enough to decide: "
                f"the study asks for {undecided[0].minimum_blocks} fresh blocks and has {_range(undecided)}; "
                "the picks shown there are tentative."
            )
        return "No pick stood the test of fresh measurements beside the settings in use."
    parts = []
    for objective, noun in (("throughput_mib_s", "throughput"), ("p95_latency_ms", "p95 latency")):
        better = [
            gain.change_fraction
            for decision in changed
            for gain in decision.gains
            if gain.objective == objective and gain.resolution == "better" and gain.change_fraction is not None
        ]
        if better:
            parts.append(f"{noun} {_span(better)} (at {_sizes(len(better))})")
    blocks = min(decision.blocks_used for decision in changed)
    return f"Measured beside the settings in use in {blocks} or more fresh blocks: {' and '.join(parts)}."


def _price(decisions: Sequence[Decision], changed: Sequence[Decision]) -> str:
    weaker = [decision for decision in changed if decision.weaker_than_baseline]
    unsteady = sum(any(gain.resolution == "worse" for gain in decision.gains) for decision in changed)
    cost = f"steadiness is given up at {_sizes(unsteady)}" if unsteady else "nothing was shown to get worse"
    if weaker:
        sizes = _listed(f"{decision.record_size_bytes:,} B" for decision in weaker)
        return f"Warning: at {sizes} the recommended settings promise less durability than those in use; {cost}."
    if changed:
        return f"The promise of durability is kept everywhere, and {cost}."
    lost = sum(decision.verdict == "keep_baseline_lost_records" for decision in decisions)
    return (
        f"At {_sizes(lost)} the pick lost or duplicated records." if lost else "Nothing changes, so nothing is at risk."
    )


def _range(decisions: Sequence[Decision]) -> str:
    low, high = (bound(decision.blocks_used for decision in decisions) for bound in (min, max))
    return f"{low}" if low == high else f"{low} to {high}"


def _card(evidence: Evidence, decision: Decision) -> dict[str, Any]:
    size = decision.record_size_bytes
    return {
        "decision": decision,
        "headline": cards.HEADLINES[decision.verdict],
        "settings": cards.settings_rows(decision),
        "gains": cards.gain_rows(decision) if decision.gains else [],
        "methods": [
            {
                "label": LABELS[gain.objective],
                "method": gain.method,
                "p": cards.p_text(gain.p_value),
                "welch": cards.p_text(gain.welch_p_value),
            }
            for gain in decision.gains
        ],
        "price_label": cards.price_label(decision),
        "price": cards.price_of(decision),
        "warnings": cards.warnings_of(decision),
        "notes": cards.notes_of(decision),
        "evidence": cards.evidence_of(decision, evidence.cards.campaign),
        "properties": cards.properties_text(
            decision, evidence.keys.study, evidence.keys.campaign, evidence.measured_on(size)
        ),
        "repetitions": _repetition_ids(evidence, decision),
    }


def _repetition_ids(evidence: Evidence, decision: Decision) -> list[dict[str, Any]]:
    groups = []
    if decision.gains:
        gain = decision.gains[0]
        groups.append({"of": "Gains: the pick, fresh blocks", "ids": gain.candidate_repetition_ids})
        groups.append({"of": "Gains: the settings in use, fresh blocks", "ids": gain.baseline_repetition_ids})
    confirmed = evidence.confirmed
    for row in _rows(confirmed[confirmed.record_size_bytes == decision.record_size_bytes]):
        name = "the settings in use" if row["is_baseline"] else row["configuration_id"]
        groups.append({"of": f"Choice: {name}", "ids": list(row["repetition_ids"])})
    return groups


def _scores(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            **row,
            "label": LABELS[row["objective"]],
            "verdict": _learned(row),
            "size": "all" if pd.isna(row["record_size_bytes"]) else f"{row['record_size_bytes']:,} B",
        }
        for row in _rows(r2_table(evidence))
    ]


def _learned(score: Mapping[str, Any]) -> str:
    if pd.isna(score["r2_held_out"]):
        return "too few to judge"
    return "learned" if score["learnable"] else "not learnable"


def _estimates(evidence: Evidence) -> list[dict[str, Any]]:
    pairs: list[tuple[Objective, str, str]] = [(o, f"estimated_{o}", f"measured_{o}") for o in OBJECTIVES]
    return [
        {
            "record_size_bytes": row["record_size_bytes"],
            "configuration_id": row["configuration_id"],
            "chosen_as": row["chosen_as"].replace("_", " "),
            "factors": ", ".join(f"{name}={row[name]}" for name in evidence.study.factors),
            "pairs": [
                (_objective(row[estimated], o), _objective(row[measured], o)) for o, estimated, measured in pairs
            ],
        }
        for row in _rows(estimates_table(evidence))
    ]


def _weaker_fronts(evidence: Evidence) -> list[dict[str, Any]]:
    """Of each record size, the front of weaker durability than the study accepts: estimates, never recommended."""
    found = []
    for size, front in evidence.fronts.items():
        weaker = front[~front.durability_accepted].sort_values("estimated_throughput_mib_s", ascending=False)
        rows = [
            {
                "configuration_id": row["configuration_id"],
                "durability": row["durability"],
                "factors": ", ".join(f"{name}={row[name]}" for name in evidence.study.factors),
                "values": [_objective(row[f"estimated_{objective}"], objective) for objective in OBJECTIVES],
            }
            for row in _rows(weaker.head(_WEAKER_ROWS_SHOWN))
        ]
        if rows:
            found.append({"record_size_bytes": size, "points": len(weaker), "rows": rows})
    return found


def _fingerprints(evidence: Evidence) -> list[dict[str, Any]]:
    """The fingerprints, one entry per distinct cluster and machine; the topics differ by record size."""
    groups: dict[str, dict[str, Any]] = {}
    for size, fingerprint in evidence.fingerprints.items():
        facts = fingerprint.model_dump(exclude={"schema_version", "topic"})
        group = groups.setdefault(str(facts), {"facts": facts, "sizes": [], "topics": []})
        group["sizes"].append(f"{size:,} B")
        group["topics"].append(fingerprint.topic)
    return list(groups.values())


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _objective(value: float, objective: Objective) -> str:
    return cards.value_text(None if pd.isna(value) else value, objective)


def _number(value: Any, decimals: int = 2) -> str:
    return "-" if pd.isna(value) else f"{value:,.{decimals}f}"


def _span(changes: Sequence[float]) -> str:
    low, high = sorted((min(changes), max(changes)), key=abs)
    direction = "rises" if high > 0 else "falls"
    return f"{direction} by {abs(low):.0%}" + (f" to {abs(high):.0%}" if f"{low:.0%}" != f"{high:.0%}" else "")


def _sizes(count: int) -> str:
    return "1 record size" if count == 1 else f"{count} record sizes"


def _listed(words: Any) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else str(last)
