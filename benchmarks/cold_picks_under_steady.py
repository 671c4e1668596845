"""Measure a cold burst's pick in steady state: `python -m benchmarks.cold_picks_under_steady measure`, then `table`.

Measures the picks of a `cold_burst` and a `steady` campaign and the settings in use under `steady`'s protocol, in
interleaved blocks on a stack started by `make up`. Stored blocks are not measured again, so the same command resumes an
interrupted run; the CSV is written at the end.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.progress import Progress

from benchmarks.on_cluster import (
    DATA,
    WARM_UP,
    Values,
    begun,
    change_cell,
    clear_errors,
    invalid_outcomes,
    is_warm_up,
    measure_blocks,
    measure_on,
    progress_bars,
    read_csv,
    repetition_table,
    shown,
    stack_settings,
    stored_repetitions,
    write_csv,
)
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.driver_runtime import RepetitionRunner, runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.record import Record, decode_record
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.factors import Configuration, FactorValue, configuration_id
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_named_study, load_study
from kafka_pareto.study.tune import Tune, tune_study

BASELINE, COLD, STEADY = "baseline", "cold", "steady"
CAMPAIGN = "c1"
BLOCKS = 8
WARM_UP_REPETITIONS = 1
_RECOMMENDED = re.compile(r"^([\d,]+) B(?: records)? +CHANGE RECOMMENDED(?:: published advice)?$", re.MULTILINE)
_MEASURED = {"p95 latency": "latency_p95_ms", "throughput": "throughput_mib_s"}

ByCase = Mapping[str, Configuration]


class Picks(Record):
    """Holds each campaign's recommendations by record size, frozen with the study, so that a run can resume."""

    cold: dict[str, dict[str, FactorValue]]
    steady: dict[str, dict[str, FactorValue]]


app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
CampaignOption = Annotated[str, typer.Option(help="the campaign's id")]
DataOption = Annotated[Path | None, typer.Option(help="the CSV of every repetition; by default the campaign's own")]


def recommended(folder: Path, kind: str) -> ByCase:
    """Return, by record size, the recommendations of a stored campaign (`benchmarks/data/campaigns/…`).

    The cards say which sizes have a recommendation. The recommendation is what the gain blocks measured together with
    the baseline.

    Raises:
        BadInputError: If a file of the campaign is missing, its protocol is not of this `kind`, or a recommendation is
            not among its repetitions.
    """
    try:
        study, cards = (
            ProducerStudy.of(load_study(folder / "study.yaml")),
            (folder / "cards.txt").read_text(encoding="utf-8"),
        )
        with (folder / "repetitions.csv").open(encoding="utf-8", newline="") as file:
            gains = [row for row in csv.DictReader(file) if row["phase"] == "gain" and row["is_baseline"] == "False"]
    except OSError as error:
        raise BadInputError(f"{folder}: {error.filename}: {error.strerror}; name a stored campaign") from error
    if study.protocol.kind != kind:
        raise BadInputError(f"{folder / 'study.yaml'}: protocol.kind: {study.protocol.kind}: must be {kind} here")
    found = {row["record_size_bytes"]: _configuration(row, study) for row in gains}
    cases = [text.replace(",", "") for text in _RECOMMENDED.findall(cards)]
    if missing := [case for case in cases if case not in found]:
        raise BadInputError(
            f"{folder / 'repetitions.csv'}: holds no gain blocks of {missing} B, which cards.txt promises"
        )
    return {case: found[case] for case in cases}


def begun_with(store: Store, study: Tune, campaign_id: str, picks: Picks) -> Campaign:
    """Return the campaign, either new or found in the store with exactly the same picks.

    Raises:
        BadInputError: If it was begun with another study, with other picks, or before picks were kept with it.
    """
    keys = CampaignKeys(study.name, campaign_id)
    key = f"{keys.prefix}/picks.json"
    if store.tag(key) is not None:
        if decode_record(store.get(key), key, Picks) != picks:
            raise BadInputError(f"{key}: the campaign was begun with other picks; name a new --campaign")
    elif store.tag(keys.frozen_study()) is not None:
        raise BadInputError(f"{key} is missing: nobody knows with which picks this was begun; name a new --campaign")
    else:
        store.put(key, picks.model_dump_json().encode())
    return begun(store, study, campaign_id)


def arms(study: Tune, case: str, picks: Picks) -> dict[str, str]:
    """Return the IDs of baseline, cold pick and steady pick; the baseline's id if nothing is recommended."""
    baseline = study.baseline_configuration()
    return {
        BASELINE: configuration_id(baseline),
        COLD: configuration_id(picks.cold.get(case, baseline)),
        STEADY: configuration_id(picks.steady.get(case, baseline)),
    }


def run(campaign: Campaign, case: str, runner: RepetitionRunner, picks: Picks, blocks: int, bar: Progress) -> None:
    """Measure the configurations of one record size, each of them once in every block."""
    study = campaign.study
    picked = [each[case] for each in (picks.cold, picks.steady) if case in each]
    in_play = {configuration_id(each): each for each in [study.baseline_configuration(), *picked]}
    candidates = [Candidate(name, name == study.baseline_id(), dict(each)) for name, each in in_play.items()]
    planned = plan_blocks(candidates, blocks, order="blocks", phase="gain", case=case, seed=study.seed)
    measure = measure_on(campaign, case, runner, WARM_UP_REPETITIONS)
    measure_blocks(planned, shown(measure, bar, case_label(case), len(planned)))


def labelled(repetitions: list[Repetition], study: Tune, picks: Picks) -> list[tuple[str, Repetition]]:
    """Return each repetition with its label; `cold+steady` and the like if the picks are the same."""

    def label(repetition: Repetition) -> str:
        if is_warm_up(repetition):
            return WARM_UP
        known = arms(study, repetition.case, picks)
        return "+".join(name for name, each in known.items() if each == repetition.configuration_id)

    return [(label(each), each) for each in repetitions]


def csv_of(campaign_id: str) -> Path:
    """Return the file that keeps a campaign's repetitions."""
    return DATA / f"cold_picks_under_steady_{campaign_id}.csv"


def report(table: pd.DataFrame) -> list[str]:
    """Return the table as Markdown: every change with its 95 % interval, by differences within blocks."""
    table = table[table.asked_by != WARM_UP]
    lines = [
        "| record size | blocks | | in use | cold pick | steady pick | cold pick to in use | steady pick to in use "
        "| cold pick to steady pick |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    table = table.astype({"case": str})
    for case in in_order(table.case.unique()):
        rows = table[table.case == case]
        valid = _valid_in_every_arm(rows)
        blocks = f"{len(valid[BASELINE])} of {rows.block.nunique()}"
        for name, column in _MEASURED.items():
            values: dict[str, Values] = {arm: own[column].to_numpy(dtype=np.float64) for arm, own in valid.items()}
            unit = "ms" if column == "latency_p95_ms" else "MiB/s"
            means = " | ".join(f"{each.mean():.4g} {unit}" if len(each) else "-" for each in values.values())
            pairs = ((BASELINE, COLD), (BASELINE, STEADY), (STEADY, COLD))
            changes = " | ".join(
                "the same settings" if _bear_one_label(rows, *pair) else change_cell(*(values[arm] for arm in pair))
                for pair in pairs
            )
            lines.append(f"| {case_label(case)} | {blocks} | {name} | {means} | {changes} |")
    return [
        *lines,
        "",
        "Means and changes are of the blocks that are valid in every arm. "
        f"{len(table)} repetitions under `steady`'s protocol; not valid: {invalid_outcomes(table)}. "
        "Intervals are 95 %, not adjusted for their number.",
    ]


@app.command()
def measure(
    cold: Annotated[Path, typer.Option(help="a stored campaign of cold_burst")] = DATA / "campaigns" / "cold_burst",
    steady: Annotated[Path, typer.Option(help="a stored campaign of steady")] = DATA / "campaigns" / "steady",
    record_size: Annotated[
        list[int] | None, typer.Option(help="bytes; may be repeated; all of steady's without")
    ] = None,
    blocks: Annotated[int, typer.Option(help="blocks at each record size", min=2)] = BLOCKS,
    campaign: CampaignOption = CAMPAIGN,
    data: DataOption = None,
) -> None:
    """Measure what the store does not hold yet, and write all of it as a CSV."""
    with clear_errors():
        picks = Picks(cold=recommended(cold, "cold_burst"), steady=recommended(steady, "steady"))
        settings = stack_settings()
        begun_campaign = begun_with(open_store(settings), _study(record_size), campaign, picks)
        study = begun_campaign.tune
        with progress_bars() as bar:
            for case in study.cases:
                with runtime_of(begun_campaign.study).runner(begun_campaign, case, settings) as runner:
                    run(begun_campaign, case, runner, picks, blocks, bar)
        found = labelled(stored_repetitions(begun_campaign), study, picks)
        write_csv(repetition_table(found, study), data or csv_of(campaign))


@app.command()
def table(campaign: CampaignOption = CAMPAIGN, data: DataOption = None) -> None:
    """Print the table from the CSV; needs no server."""
    with clear_errors():
        print("\n".join(report(read_csv(data or csv_of(campaign)))))


def _study(record_sizes_bytes: list[int] | None) -> Tune:
    cases = [str(size) for size in record_sizes_bytes or []]
    study = with_overrides(tune_study(load_named_study(load_settings().studies, "steady")), cases or None)
    return study.model_copy(update={"name": "cold_picks_under_steady"})


def _configuration(row: Mapping[str, str], study: Study) -> Configuration:
    read = {
        name: int(row[name]) if each.type == "integer" else row[name] for name, each in study.varied_factors.items()
    }
    if configuration_id(read) != row["configuration_id"]:
        raise BadInputError(f"a stored campaign's {row['configuration_id']}: its settings {read} make another id")
    return read


def _valid_in_every_arm(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the repetitions of each arm, one per block, and the same blocks for all arms."""
    valid = rows[rows.outcome == "valid"]
    arms_of = valid.asked_by.str.split("+")
    found = {arm: valid[[arm in each for each in arms_of]].set_index("block") for arm in (BASELINE, COLD, STEADY)}
    blocks = sorted(set.intersection(*(set(own.index) for own in found.values())))
    return {arm: own.loc[blocks] for arm, own in found.items()}


def _bear_one_label(rows: pd.DataFrame, one: str, other: str) -> bool:
    return any({one, other} <= set(label.split("+")) for label in rows.asked_by)


if __name__ == "__main__":
    app()
