"""What a cold burst's pick costs in steady state: `python -m benchmarks.cold_picks_under_steady measure`, then `table`.

What a campaign of `cold_burst` and one of `steady` recommend, and the settings in use, side by side under `steady`'s
protocol, in interleaved blocks on a stack that `make up` has started. Whatever is in the store is not measured again,
so that the same command goes on with an interrupted run.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer
from rich.progress import Progress

from benchmarks.on_cluster import (
    DATA,
    begun,
    clear_errors,
    measure_blocks,
    measure_on,
    progress_bars,
    read_csv,
    repetition_table,
    shown,
    stack_settings,
    stored_repetitions,
)
from kafka_pareto import statistics
from kafka_pareto.blocks import Candidate, plan_blocks
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.factors import Configuration, configuration_id
from kafka_pareto.records import Repetition
from kafka_pareto.settings import load_settings
from kafka_pareto.store import open_store
from kafka_pareto.study import Study
from kafka_pareto.study_file import load_named_study, load_study, with_overrides
from kafka_pareto.testbed import Testbed, open_testbed

BASELINE, COLD, STEADY = "baseline", "cold", "steady"
CSV = DATA / "cold_picks_under_steady.csv"
BLOCKS = 8
_RECOMMENDED = re.compile(r"^([\d,]+) B records +CHANGE RECOMMENDED$", re.MULTILINE)
_MEASURED = {"p95 latency": "latency_p95_ms", "throughput": "throughput_mib_s"}

Values = npt.NDArray[np.float64]
Picks = Mapping[int, Configuration]

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
DataOption = Annotated[Path, typer.Option(help="the CSV of every repetition")]


def recommended(folder: Path) -> Picks:
    """By record size what a stored campaign (`benchmarks/data/campaigns/…`) recommends; only where it does.

    The cards say at which sizes there is a recommendation; it is what was measured beside the baseline in the gain
    blocks.

    Raises:
        BadInputError: If a file of the campaign is missing, or a recommendation is not among its repetitions.
    """
    try:
        study, cards = load_study(folder / "study.yaml"), (folder / "cards.txt").read_text(encoding="utf-8")
        with (folder / "repetitions.csv").open(encoding="utf-8", newline="") as file:
            gains = [row for row in csv.DictReader(file) if row["phase"] == "gain" and row["is_baseline"] == "False"]
    except OSError as error:
        raise BadInputError(f"{folder}: {error.filename}: {error.strerror}; name a stored campaign") from error
    found = {int(row["record_size_bytes"]): _configuration(row, study) for row in gains}
    sizes = [int(text.replace(",", "")) for text in _RECOMMENDED.findall(cards)]
    if missing := [size for size in sizes if size not in found]:
        raise BadInputError(
            f"{folder / 'repetitions.csv'}: holds no gain blocks of {missing} B, which cards.txt promises"
        )
    return {size: found[size] for size in sizes}


def arms(study: Study, record_size_bytes: int, cold: Picks, steady: Picks) -> dict[str, str]:
    """The configuration ids of baseline, cold and steady pick; the baseline's where nothing is recommended."""
    baseline = study.baseline_configuration()
    return {
        BASELINE: configuration_id(baseline),
        COLD: configuration_id(cold.get(record_size_bytes, baseline)),
        STEADY: configuration_id(steady.get(record_size_bytes, baseline)),
    }


def run(
    campaign: Campaign, record_size_bytes: int, testbed: Testbed, cold: Picks, steady: Picks, blocks: int, bar: Progress
) -> None:
    """Measures what is in play at one record size, each configuration once in every block."""
    study = campaign.study
    picks = [each[record_size_bytes] for each in (cold, steady) if record_size_bytes in each]
    in_play = {configuration_id(each): each for each in [study.baseline_configuration(), *picks]}
    candidates = [Candidate(name, name == study.baseline_id(), dict(each)) for name, each in in_play.items()]
    planned = plan_blocks(
        candidates, blocks, order="blocks", phase="gain", record_size_bytes=record_size_bytes, seed=study.seed
    )
    measure = measure_on(campaign, record_size_bytes, testbed)
    measure_blocks(planned, shown(measure, bar, f"{record_size_bytes:,} B", len(planned)))
    testbed.cluster.delete_topic(testbed.topic)


def labelled(repetitions: list[Repetition], study: Study, cold: Picks, steady: Picks) -> list[tuple[str, Repetition]]:
    """Each repetition with what it stands for; two of `cold+steady` and the like where the picks are the same."""

    def label(repetition: Repetition) -> str:
        known = arms(study, repetition.record_size_bytes, cold, steady)
        return "+".join(name for name, each in known.items() if each == repetition.configuration_id)

    return [(label(each), each) for each in repetitions]


def report(table: pd.DataFrame) -> list[str]:
    """The table, as Markdown: every change with its 95 % interval, by differences within blocks."""
    lines = [
        "| record size | | in use | cold pick | steady pick | cold pick to in use | steady pick to in use "
        "| cold pick to steady pick |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size, rows in table.groupby("record_size_bytes"):
        for name, column in _MEASURED.items():
            values = {arm: _by_block(rows, arm, column) for arm in (BASELINE, COLD, STEADY)}
            unit = "ms" if column == "latency_p95_ms" else "MiB/s"
            means = " | ".join(f"{pd.Series(each).mean():.4g} {unit}" for each in values.values())
            pairs = ((BASELINE, COLD), (BASELINE, STEADY), (STEADY, COLD))
            changes = " | ".join(_change(values[one], values[other]) for one, other in pairs)
            lines.append(f"| {size:,} B | {name} | {means} | {changes} |")
    wrong = table[table.outcome != "valid"].outcome.value_counts()
    return [
        *lines,
        "",
        f"{len(table)} repetitions under `steady`'s protocol; not valid: "
        + (", ".join(f"{count} {outcome}" for outcome, count in wrong.items()) or "none")
        + ". Intervals are 95 %, not adjusted for their number.",
    ]


@app.command()
def measure(
    cold: Annotated[Path, typer.Option(help="a stored campaign of cold_burst")] = DATA / "campaigns" / "cold_burst",
    steady: Annotated[Path, typer.Option(help="a stored campaign of steady")] = DATA / "campaigns" / "steady",
    record_size: Annotated[
        list[int] | None, typer.Option(help="bytes; may be repeated; all of steady's without")
    ] = None,
    blocks: Annotated[int, typer.Option(help="blocks at each record size", min=2)] = BLOCKS,
    campaign: Annotated[str, typer.Option(help="the campaign's id")] = "c1",
    data: DataOption = CSV,
) -> None:
    """Measures what the store does not hold yet, and writes all of it as a CSV."""
    with clear_errors():
        picks = recommended(cold), recommended(steady)
        settings = stack_settings()
        begun_campaign = begun(open_store(settings), _study(record_size), campaign)
        study = begun_campaign.study
        try:
            with progress_bars() as bar:
                for size in study.record_sizes_bytes:
                    with open_testbed(begun_campaign, size, settings) as testbed:
                        run(begun_campaign, size, testbed, *picks, blocks, bar)
        finally:
            if found := stored_repetitions(begun_campaign):
                rows = repetition_table(labelled(found, study, *picks), study)
                rows.to_csv(data, index=False)
                print(f"{len(rows)} repetitions: {data}")


@app.command()
def table(data: DataOption = CSV) -> None:
    """Prints the table from the CSV; needs no server."""
    with clear_errors():
        print("\n".join(report(read_csv(data))))


def _study(record_sizes_bytes: list[int] | None) -> Study:
    study = with_overrides(load_named_study(load_settings().studies, "steady"), record_sizes_bytes or None)
    return study.model_copy(update={"name": "cold_picks_under_steady"})


def _configuration(row: Mapping[str, str], study: Study) -> Configuration:
    read = {name: int(row[name]) if each.type == "integer" else row[name] for name, each in study.factors.items()}
    if configuration_id(read) != row["configuration_id"]:
        raise BadInputError(f"a stored campaign's {row['configuration_id']}: its settings {read} make another id")
    return read


def _by_block(rows: pd.DataFrame, arm: str, column: str) -> Values:
    """One value for each block; NaN where there is no valid repetition."""
    own = rows[[arm in label.split("+") for label in rows.asked_by]].set_index("block")
    blocks = sorted(rows.block.unique())
    values: Values = own[column].where(own.outcome == "valid").reindex(blocks).to_numpy(dtype=np.float64)
    return values


def _change(one: Values, other: Values) -> str:
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any():
        return "not measured"
    if np.array_equal(one, other, equal_nan=True):
        return "the same settings"
    change = statistics.mean_change(one[both], other[both])
    if not np.isfinite(change.low_fraction):
        return f"{change.change_fraction:+.0%}"
    return f"{change.change_fraction:+.0%} ({change.low_fraction:+.0%} to {change.high_fraction:+.0%})"


if __name__ == "__main__":
    app()
