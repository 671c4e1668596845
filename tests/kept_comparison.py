"""The kept comparisons of `benchmarks/data/campaigns/`: their parts, compared again, and their repetitions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kafka_pareto.bottleneck.limiting_resource import Verdict
from kafka_pareto.bottleneck.shares import Limit
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.steps.compare import compared_part, with_predictions
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.study_file import load_study
from tests.recorded import RECORDED


@dataclass(frozen=True)
class KeptComparison:
    """A kept comparison; `repetitions` by part."""

    study: Compare
    parts: list[PartComparison]
    repetitions: dict[str, list[Repetition]]


def kept_comparison(name: str) -> KeptComparison:
    """The comparison in a folder, each load limited by what its own verdict said."""
    folder = RECORDED / "campaigns" / name
    study = compare_study(load_study(folder / "study.yaml"))
    rows = pd.read_csv(
        folder / "repetitions.csv", keep_default_na=False, na_values=[""], dtype={"configuration_id": str}
    )
    by_case: dict[str, list[Repetition]] = {case: [] for case in study.cases}
    for row in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        by_case[row["case"]].append(_repetition(study, row))
    parts = [compared_part(study, case, found, _limits(found)) for case, found in by_case.items()]
    return KeptComparison(study, with_predictions(study, parts), by_case)


def _repetition(study: Compare, row: Mapping[Hashable, Any]) -> Repetition:
    known = {str(name): value for name, value in row.items()}
    level = next(each for each in study.levels_of(known["case"]) if configuration_id(each) == known["configuration_id"])
    head = {name: known[name] for name in known if name in Repetition.model_fields}
    quantities = {each.name: _typed(known.get(each.name), each.type) for each in study.declaration.quantities}
    if quantities.get("read_back") == "equal":
        quantities["rows_read_back"] = quantities["rows_in_file"]  # kept with six digits
    identity = f"{known['phase']}-r00-{known['case']}-b{known['block']:03d}-{known['configuration_id']}"
    return Repetition(
        repetition_id=identity,
        configuration=level,
        quantities=study.declaration.with_missing(quantities),
        **{**head, "reason": head.get("reason") or ""},
    )


def _typed(value: Any, kind: type) -> Any:
    return kind(value) if value is not None else "" if kind is str else None


def _limits(repetitions: list[Repetition]) -> dict[str, Limit]:
    return {
        each.repetition_id: Limit(Verdict(str(each.quantities["limited_by"]), {}))
        for each in repetitions
        if "limited_by" in each.quantities
    }
