"""Keep a real campaign's data: `python -m benchmarks.keep_campaign <study> <campaign>`, on the stack that measured it.

With `KAFKA_PARETO_STORE_FOLDER` it is a campaign whose steps ran without a stack. One of some parts of a comparison
gets a folder of its own by `--name`.

Writes the frozen study, the cards (of a comparison its text, the machine and its ceilings), the report's tables and
every repetition of design, rounds and confirmation to `benchmarks/data/campaigns/<name>/`, and what was seen over time
where somebody looked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.kept_campaign import TABLES
from benchmarks.on_cluster import DATA, clear_errors, stack_settings
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import repetition_row
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.compare import Compare

_SIGNIFICANT_DIGITS = "%.6g"


def main(
    study: Annotated[str, typer.Argument(help="the study's name")],
    campaign: Annotated[str, typer.Argument(help="the campaign's id")],
    name: Annotated[str | None, typer.Option(help="the folder's name; the study's if there is none")] = None,
) -> None:
    """Copy the campaign from the store."""
    with clear_errors():
        folder = DATA / "campaigns" / (name or study)
        settings = load_settings()
        store = open_store(settings if settings.store_folder else stack_settings())
        kept = keep(Campaign.open(store, study, campaign), folder)
        print(f"{kept} repetitions: {folder}")


def keep(campaign: Campaign, folder: Path) -> int:
    """Write the campaign into the folder, and return how many repetitions; columns without a value are omitted.

    Raises:
        ArtifactError: If it has not been reported.
    """
    store, keys = campaign.store, campaign.keys
    tables = keys.report(f"{TABLES}/")
    (folder / TABLES).mkdir(parents=True, exist_ok=True)
    (folder / "study.yaml").write_bytes(store.get(keys.frozen_study()))
    for name, key in _files_beside_tables(campaign).items():
        (folder / name).write_bytes(store.get(key))
    for key in store.keys(tables):
        (folder / TABLES / key.removeprefix(tables)).write_bytes(store.get(key))
    repetitions = _repetitions(campaign)
    if timelines := [_timeline(each) for each in repetitions if each.timeline]:
        (folder / "timelines.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in timelines))
    rows = pd.DataFrame([_row(each) for each in repetitions]).dropna(axis="columns", how="all")
    rows.to_csv(folder / "repetitions.csv", index=False, float_format=_SIGNIFICANT_DIGITS)
    return len(rows)


def _files_beside_tables(campaign: Campaign) -> dict[str, str]:
    """Map the names of further files to their keys in the store."""
    keys = campaign.keys
    if not isinstance(campaign.study, Compare):
        return {"cards.txt": keys.report("cards.txt")}
    found = {"tables.txt": keys.report("tables.txt"), "fingerprint.json": keys.fingerprint(campaign.study.cases[0])}
    has_ceilings = campaign.store.tag(keys.ceilings()) is not None
    return found | ({"ceilings.json": keys.ceilings()} if has_ceilings else {})


def _repetitions(campaign: Campaign) -> list[Repetition]:
    sizes = campaign.study.cases
    measured = campaign.read_measurements(sizes, range(campaign.last_round() + 1))
    for size in sizes:
        measured += campaign.read_repetitions(campaign.keys.confirmation(size, "repetitions/"))
    return sorted(measured, key=lambda each: each.started_at)


def _timeline(repetition: Repetition) -> dict[str, object]:
    timeline = repetition.timeline.model_dump() if repetition.timeline else {}
    return {
        "case": repetition.case,
        "block": repetition.block,
        "outcome": repetition.outcome,
        **repetition.configuration,
        **timeline,
    }


def _row(repetition: Repetition) -> dict[str, object]:
    values = repetition_row(repetition)
    return {name: value for name, value in values.items() if name != "repetition_id" and value != ""}


if __name__ == "__main__":
    typer.run(main)
