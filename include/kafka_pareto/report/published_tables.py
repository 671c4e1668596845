"""Build the published study's Tables 1 and 2 from a campaign's design, without the baseline.

`docs/results/paper.md` cites the study.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from kafka_pareto.analysis.wording import value_text
from kafka_pareto.report.evidence import Evidence
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import is_maximised, label_of
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune


def best_and_worst_table(study: Tune, design: pd.DataFrame) -> pd.DataFrame:
    """Return Table 1: a row per case; per objective the best and the worst trial's value and configuration.

    `design` has `TRIAL_COLUMNS` and factors.
    """
    return pd.DataFrame([_extremes(study, _of_case(design, case), case) for case in study.cases])


def best_per_objective_table(study: Tune, design: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2: the best measured configuration per case and objective, including the CVs.

    Columns: case, objective, value, configuration id, durability, feasible, factors, repetition ids. An objective
    without values has no row.
    """
    rows = []
    for case in study.cases:
        for objective in study.objective_names:
            ranked = _ranked(_of_case(design, case), objective)
            if not ranked.empty:
                best = ranked.iloc[0]
                facts = {name: best[name] for name in ("configuration_id", "durability", "feasible", *study.factors)}
                ids = {"repetition_ids": " ".join(best["repetition_ids"])}
                rows.append({"case": case, "objective": objective, "value": best[objective], **facts, **ids})
    columns = ["case", "objective", "value", "configuration_id", "durability", "feasible", *study.factors]
    return pd.DataFrame(rows, columns=[*columns, "repetition_ids"])


def best_and_worst_rows(evidence: Evidence) -> list[dict[str, Any]]:
    """Return Table 1 for the page: a label per case, and per objective the texts of best and worst."""
    table = best_and_worst_table(evidence.study, evidence.design_trials)
    return [
        {
            "size": case_label(str(row["case"])),
            "trials": row["trials"],
            "values": [
                _text(row[f"{end}_{objective}"], objective)
                for objective in evidence.study.objective_names
                for end in ("best", "worst")
            ],
        }
        for row in table.to_dict("records")
    ]


def best_per_objective_rows(evidence: Evidence) -> list[dict[str, Any]]:
    """Return Table 2 for the page."""
    table = best_per_objective_table(evidence.study, evidence.design_trials)
    return [
        {
            "size": case_label(str(row["case"])),
            "label": label_of(str(row["objective"])),
            "value": _text(row["value"], str(row["objective"])),
            "configuration_id": row["configuration_id"],
            "factors": ", ".join(f"{name}={row[name]}" for name in evidence.study.factors),
            "breaks_a_rule": not row["feasible"],
        }
        for row in table.to_dict("records")
    ]


def _of_case(design: pd.DataFrame, case: str) -> pd.DataFrame:
    return design[(design.case == case) & ~design.is_baseline]


def _ranked(trials: pd.DataFrame, objective: ObjectiveName) -> pd.DataFrame:
    """Return the trials with a value of the objective, best first; ties in design order."""
    known = trials.dropna(subset=[objective])
    return known.sort_values(objective, ascending=not is_maximised(objective), kind="stable")


def _extremes(study: Tune, trials: pd.DataFrame, case: str) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case, "trials": len(trials)}
    for objective in study.objective_names:
        ranked = _ranked(trials, objective)
        for end, place in (("best", 0), ("worst", -1)):
            row[f"{end}_{objective}"] = float("nan") if ranked.empty else ranked[objective].iloc[place]
            row[f"{end}_{objective}_configuration_id"] = "" if ranked.empty else ranked.configuration_id.iloc[place]
    return row


def _text(value: float, objective: ObjectiveName) -> str:
    return value_text(None if pd.isna(value) else value, objective)
