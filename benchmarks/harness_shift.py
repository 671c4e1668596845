"""Compare repetitions measured by two versions of this project: `python -m benchmarks.harness_shift ../earlier`.

`../earlier` is a clone of another version, after `make setup` there. A faster harness must not change what it measures.
Each version starts brokers of its own and measures the same configurations of `quick` at one record size; the two take
turns block by block, in random order, and one waits while the other measures. Brokers are replaced after each series of
blocks. The first blocks of a series warm them up and do not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

import numpy as np
import pandas as pd
import typer

from kafka_pareto.analysis import paired_tests
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.testbed import open_testbed
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import dump_study, load_named_study
from kafka_pareto.study.tune import tune_study

ROOT = Path(__file__).parent.parent
DATA = ROOT / "benchmarks" / "data" / "harness_shift.csv"
CASE = "1024"
BROKERS = 3
VERSIONS = ("other", "present")
WARM_UP_BLOCKS = 3
MEASURES = {"throughput_mib_s": "throughput", "latency_p95_ms": "p95 latency"}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Turn:
    """A version's process. It measures one block per line on stdin; one more line stops its brokers."""

    process: subprocess.Popen[str]

    def wait(self) -> None:
        """Wait until the process is ready for its next block.

        Raises:
            RuntimeError: If it ended instead; its own error is on stderr.
        """
        if not _stream(self.process.stdout).readline():
            raise RuntimeError(f"a version's process ended with {self.process.wait()}")

    def measure(self) -> None:
        """Let the process measure a block, and wait for its end."""
        self._go_on()

    def end(self) -> None:
        """Let the process stop its brokers after the last block, and wait until its repetitions are written."""
        self._go_on()

    def _go_on(self) -> None:
        _stream(self.process.stdin).write("\n")
        _stream(self.process.stdin).flush()
        self.wait()


@app.command()
def compare(
    other: Annotated[Path, typer.Argument(help="a clone of another version, set up", exists=True, file_okay=False)],
    series: Annotated[int, typer.Option(help="how often brokers are started", min=1)] = 4,
    blocks: Annotated[int, typer.Option(help="of each series, the warm-up not counted", min=1)] = 10,
    configurations: Annotated[int, typer.Option(help="drawn beside the defaults", min=1)] = 5,
    file: Annotated[Path, typer.Option(help="the CSV to write")] = DATA,
) -> None:
    """Measure with both versions in turn, write all repetitions, and print the differences."""
    clones = dict(zip(VERSIONS, (other.resolve(), ROOT), strict=True))
    commits = {version: _commit(clone) for version, clone in clones.items()}
    tables = []
    for number in range(series):
        with tempfile.TemporaryDirectory(prefix="kafka-pareto-harness-") as name, ExitStack() as opened:
            stores = {version: Path(name) / version for version in VERSIONS}
            planned = (str(WARM_UP_BLOCKS + blocks), str(configurations))
            turns = {each: opened.enter_context(_turn(clones[each], stores[each], *planned)) for each in VERSIONS}
            for block in range(WARM_UP_BLOCKS + blocks):
                for at in np.random.default_rng([number, block]).permutation(len(VERSIONS)):
                    turns[VERSIONS[at]].measure()
                print(f"series {number + 1} of {series}: block {block + 1} of {WARM_UP_BLOCKS + blocks}", flush=True)
            for turn in turns.values():
                turn.end()
            for version, store in stores.items():
                rows = json.loads((store / "repetitions.json").read_text(encoding="utf-8"))
                tables.append(pd.DataFrame(rows).assign(version=version, commit=commits[version], series=number))
    measured = pd.concat(tables, ignore_index=True).sort_values("started_at")
    measured["counts"] = (measured.block >= WARM_UP_BLOCKS) & (measured.outcome == "valid")
    measured.to_csv(file, index=False)
    print("\n".join(report(measured)))


@app.command()
def table(file: Annotated[Path, typer.Argument(help="the CSV of all repetitions")] = DATA) -> None:
    """Measure nothing; print what the CSV says."""
    print("\n".join(report(pd.read_csv(file, keep_default_na=False))))


@app.command(hidden=True)
def measure(store_folder: Path, blocks: int, configurations: int) -> None:
    """Measure with the library on the path: a block for each line on stdin, answered with a line when it has ended.

    One more line ends the brokers.
    """
    settings = load_settings()
    study = tune_study(with_overrides(load_named_study(settings.studies, "quick"), cases=[CASE]))
    store, keys = FolderStore(store_folder), CampaignKeys(study.name, "c1")
    store.put(keys.frozen_study(), dump_study(study).encode())
    with Brokers(BROKERS, settings, jmx_configuration=None, gc_log=False) as running:
        here = {"bootstrap_servers": running.bootstrap_servers, "own_cluster_id": running.cluster_id}
        campaign = Campaign.open(store, study.name, "c1")
        drawn = latin_hypercube(study, configurations, CASE, np.random.default_rng(study.seed))
        candidates = [Candidate(configuration_id(each), is_baseline=False, configuration=dict(each)) for each in drawn]
        candidates = [baseline_candidate(campaign, CASE), *candidates]
        with open_testbed(campaign, CASE, settings.model_copy(update=here)) as testbed:
            planned = plan_blocks(candidates, blocks, order="blocks", phase="gain", case=CASE, seed=study.seed)
            phase = MeasurementPhase(planned, RepetitionStore(campaign, "repetitions/"), _on_request)
            measured = Measurer(study, ProducerRunner(campaign, CASE, testbed)).measure(phase)
            print("ready", flush=True)
            sys.stdin.readline()  # these brokers run until the other version has measured, too
    rows = [_row(each) for each in measured]
    (store_folder / "repetitions.json").write_text(json.dumps(rows), encoding="utf-8")
    print("measured", flush=True)


def report(measured: pd.DataFrame) -> list[str]:
    """Return the table of differences: a ratio of means with its 95 % interval, over blocks of both versions."""
    counted = in_both(measured[measured.counts.astype(bool)], "version")
    commits = {version: rows["commit"].iloc[0] for version, rows in counted.groupby("version")}
    blocks = counted.groupby(["series", "block"]).ngroups
    lines = [
        f"{commits['present']} against {commits['other']}: {blocks} blocks of {counted.configuration_id.nunique()} "
        f"configurations, {len(counted):,} repetitions; {(~measured.counts.astype(bool)).sum()} do not count",
        "",
    ]
    return lines + changes(counted, "version", VERSIONS)


def in_both(repetitions: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return the repetitions whose configuration was measured in both ways in their block."""
    both = repetitions.groupby(["series", "block", "configuration_id"])[way].transform("nunique") == 2
    return repetitions[both]


def changes(counted: pd.DataFrame, way: str, ways: tuple[str, str]) -> list[str]:
    """Return a table of changes from the first way to the second, over blocks measured in both."""
    first, second = ways
    lines = [
        f"| | change of the mean | 95 % interval | CV of each configuration, median: {first}, {second} |",
        "|---|---|---|---|",
    ]
    for column, label in MEASURES.items():
        values = counted.assign(value=pd.to_numeric(counted[column]))
        # Each configuration has the same weight, whatever its level.
        values["scaled"] = values.value / values.groupby("configuration_id").value.transform("mean")
        by_block = values.pivot_table(index=["series", "block"], columns=way, values="scaled", aggfunc="mean")
        change = paired_tests.mean_change(by_block[first].to_numpy(), by_block[second].to_numpy())
        groups = values.groupby([way, "configuration_id"]).value
        cv = (groups.std() / groups.mean()).groupby(way).median()
        lines.append(
            f"| {label} | {change.change_fraction:+.1%} | {change.low_fraction:+.1%} to {change.high_fraction:+.1%} | "
            f"{cv[first]:.2f}, {cv[second]:.2f} |"
        )
    return lines


def _on_request(block: Block, _: list[Repetition]) -> Block:
    print("ready", flush=True)
    return block if sys.stdin.readline() else []


def _row(repetition: Repetition) -> dict[str, object]:
    return {
        "block": repetition.block,
        "order_in_block": repetition.order_in_block,
        "configuration_id": repetition.configuration_id,
        "started_at": str(repetition.started_at),
        "outcome": repetition.outcome,
        "wall_s": repetition.wall_s,
        **{name: repetition.quantities.get(name) for name in MEASURES},
    }


@contextmanager
def _turn(clone: Path, store: Path, *planned: str) -> Iterator[Turn]:
    """Start a version's process; yield once its brokers are ready."""
    store.mkdir()
    # The file is this version's, the library the clone's: -P keeps this folder off the path.
    argv = [str(clone / ".state/venv/bin/python"), "-P", __file__, "measure", str(store), *planned]
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    environment |= {"PYTHONPATH": str(clone / "include"), "KAFKA_PARETO_STATE": str(clone / ".state")}
    with subprocess.Popen(
        argv, cwd=clone, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        turn = Turn(process)
        turn.wait()
        yield turn


def _commit(clone: Path) -> str:
    argv: Sequence[str] = ("git", "-C", str(clone), "describe", "--always", "--dirty")
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _stream(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the process has no pipe")
    return stream


if __name__ == "__main__":
    app()
