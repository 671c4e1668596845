"""Name the bottleneck of each level of a kept comparison of producers: `python -m benchmarks.kept_verdicts [impact]`.

A kept `tables.txt` has the verdicts of its release; this command applies today's rules to the same repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.bottleneck.common_verdict import common_verdict
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, Verdict
from kafka_pareto.bottleneck.shares import limit_of
from kafka_pareto.bottleneck.words import LABELS
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.payload import payload_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.study_file import load_study


@dataclass(frozen=True)
class KeptLevel:
    """A level of a part, and the verdict that at least half of its valid repetitions share."""

    part: str
    values: Configuration
    is_reference: bool
    verdict: Verdict


def main(name: Annotated[str, typer.Argument(help="a folder of benchmarks/data/campaigns")] = "impact") -> None:
    """Print a line for each level, and how many references have which limit."""
    with clear_errors():
        levels = verdicts_of(DATA / "campaigns" / name)
    for level in levels:
        values = ", ".join(f"{key} {value}" for key, value in level.values.items())
        is_reference = " (reference)" if level.is_reference else ""
        print(f"{level.part:<16} {values}{is_reference}: {LABELS[level.verdict.code]}")
    for group, chosen in (("levels", levels), ("references", [each for each in levels if each.is_reference])):
        counts = pd.Series([LABELS[each.verdict.code] for each in chosen]).value_counts()
        print(f"{len(chosen)} {group}: {', '.join(f'{count} {label}' for label, count in counts.items())}")


def verdicts_of(folder: Path) -> list[KeptLevel]:
    """Return each level of each part with its verdict.

    Raises:
        BadInputError: If the study compares no producers.
    """
    study = load_study(folder / "study.yaml")
    if not isinstance(study, CompareProducer):
        raise BadInputError(f"{folder}/study.yaml: must be a comparison (kind: compare) of driver producer")
    ceilings = Ceilings.model_validate_json((folder / "ceilings.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(folder / "repetitions.csv")
    valid = rows[rows.outcome == "valid"]
    found = []
    for case in study.cases:
        for level in study.levels_of(case):
            own = valid[(valid.case == case) & (valid.configuration_id == configuration_id(level))]
            limits = [
                limit_of({str(name): value for name, value in values.items()}, _setting(study, case, level), ceilings)
                for values in own.astype(object).where(own.notna(), None).to_dict("records")
            ]
            factors = {name: level[name] for name in study.part(case).factors}
            is_reference = configuration_id(level) == study.baseline_id(case)
            found.append(KeptLevel(case, factors, is_reference, common_verdict([each.verdict for each in limits])))
    return found


def _setting(study: CompareProducer, case: str, level: Configuration) -> LoadSetting:
    load = study.load_of(case, level)
    return LoadSetting(
        record_size_bytes=load.record_size_bytes,
        properties=study.properties(level),
        producers=load.producers,
        payload=payload_text(load.payload),
    )


if __name__ == "__main__":
    typer.run(main)
