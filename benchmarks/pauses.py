"""Compare bursts after the published study's pause with bursts without one: `python -m benchmarks.pauses`.

Blocks of the same configurations of `paper`, at one record size, are measured both ways in random order: with a pause
of 5 s before each burst, and without. Each pair of blocks is appended to the CSV when it ends; the same command adds
pairs until it holds as many as asked for. Each run begins with pairs that do not count, because its brokers are new.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.harness_shift import MEASURES, changes, in_both
from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.testbed import open_testbed
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import dump_study, load_named_study
from kafka_pareto.study.tune import Tune, tune_study

FILE = DATA / "pauses.csv"
CASE = "1024"
BROKERS, WARM_UP_PAIRS = 3, 2
PAUSES_S = {"without": 0.0, "with": 5.0}
_WAYS = ("without", "with")


def main(
    pairs: Annotated[int, typer.Option(help="of blocks, those that do not count left out", min=2)] = 24,
    configurations: Annotated[int, typer.Option(help="drawn beside the defaults", min=1)] = 11,
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing pairs of blocks, and print the differences."""
    with clear_errors():
        if not only_table:
            _measure(pairs, configurations, file)
        print("\n".join(report(pd.read_csv(file))))


def report(measured: pd.DataFrame) -> list[str]:
    """Return the table of changes by the pause, with 95 % intervals over pairs of blocks."""
    counted = in_both(measured[measured.counts & (measured.outcome == "valid")], "pause")
    pairs = counted.groupby(["series", "block"]).ngroups
    return [
        f"{pairs} pairs of blocks of {counted.configuration_id.nunique()} configurations, {len(counted):,} bursts",
        "",
        *changes(counted, "pause", _WAYS),
    ]


def _measure(pairs: int, configurations: int, file: Path) -> None:
    known = pd.read_csv(file) if file.exists() else pd.DataFrame({"series": [], "block": [], "counts": []})
    counted = known[known.counts.astype(bool)].groupby(["series", "block"]).ngroups
    series = 0 if known.empty else int(known.series.max()) + 1
    missing = pairs - counted
    if missing <= 0:
        return
    settings = load_settings()
    paper = load_named_study(settings.studies, "paper")
    studies = {way: tune_study(with_overrides(paper, cases=[CASE], cool_down_s=s)) for way, s in PAUSES_S.items()}
    with (
        tempfile.TemporaryDirectory(prefix="kafka-pareto-pauses-") as folder,
        Brokers(BROKERS, settings, jmx_configuration=None, gc_log=False) as running,
    ):
        here = {"bootstrap_servers": running.bootstrap_servers, "own_cluster_id": running.cluster_id}
        study, store = studies["without"], FolderStore(Path(folder))
        keys = CampaignKeys(study.name, "c1")
        store.put(keys.frozen_study(), dump_study(study).encode())
        campaign = Campaign.open(store, study.name, "c1")
        candidates = [baseline_candidate(campaign, CASE), *_drawn(study, configurations)]
        with open_testbed(campaign, CASE, settings.model_copy(update=here)) as testbed:
            runner = ProducerRunner(campaign, CASE, testbed)
            for pair in range(WARM_UP_PAIRS + missing):
                rows = []
                for place in np.random.default_rng([series, pair]).permutation(len(_WAYS)):
                    way = _WAYS[place]
                    planned = plan_blocks(candidates, 1, order="blocks", phase="gain", case=CASE, seed=2 * pair + place)
                    stored = RepetitionStore(campaign, f"pairs/{pair}/{way}/")
                    for each in Measurer(studies[way], runner).measure(MeasurementPhase(planned, stored)):
                        row = {"series": series, "block": pair, "pause": way, "counts": pair >= WARM_UP_PAIRS}
                        row |= {"configuration_id": each.configuration_id, "order_in_block": each.order_in_block}
                        row |= {"started_at": each.started_at, "outcome": each.outcome}
                        rows.append(row | {name: each.quantities.get(name) for name in MEASURES})
                pd.DataFrame(rows).to_csv(file, mode="a", header=not file.exists(), index=False)
                print(f"pair {pair + 1} of {WARM_UP_PAIRS + missing}", flush=True)


def _drawn(study: Tune, count: int) -> Iterator[Candidate]:
    for each in latin_hypercube(study, count, CASE, np.random.default_rng(study.seed)):
        yield Candidate(configuration_id(each), is_baseline=False, configuration=dict(each))


if __name__ == "__main__":
    typer.run(main)
