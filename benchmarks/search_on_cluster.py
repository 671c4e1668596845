"""Run the strategies once on a real cluster: `python -m benchmarks.search_on_cluster measure`, then `table`.

Kafka's own bursts at 8,192 B on a stack started by `make up`; the study is `cold_burst` with levels for its one
range. All strategies run interleaved: a block is one repetition for each, in random order, so that drift affects all
equally. At the end each strategy's pick is measured in fresh blocks together with the baseline. Stored blocks are not
measured again, so the same command resumes an interrupted run; the CSV is written at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import Progress

from benchmarks.on_cluster import (
    DATA,
    WARM_UP,
    Measure,
    begun,
    clear_errors,
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
from benchmarks.search_on_cluster_table import FRESH, delivered_by, report
from benchmarks.strategies import strategy
from benchmarks.strategies.small_one_shot import one_shot_within
from benchmarks.strategies.table import CASE, Asking
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.measurement.blocks import PlannedRepetition, plan_blocks
from kafka_pareto.measurement.driver_runtime import RepetitionRunner, runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.factors import Configuration, NumericFactor, configuration_id
from kafka_pareto.study.study_file import load_named_study
from kafka_pareto.study.tune import Tune, tune_study

STRATEGIES = ("rounds", "one_shot", "random", "latin_hypercube", "optuna_nsga3", "optuna_tpe", "botorch_nehvi")
"""In this order: a repetition's round is its strategy's place here."""

BATCH_SIZE_LEVELS: list[int | float] = [16384, 32768, 65536, 131072, 262144, 524288]
WARM_UP_REPETITIONS = 5
SEED, BUDGET = 0, 50

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
SeedOption = Annotated[int, typer.Option(help="seed of all strategies")]
BudgetOption = Annotated[int, typer.Option(help="repetitions of each strategy", min=4)]
CampaignOption = Annotated[str, typer.Option(help="another id than the one that seed and budget make")]
DataOption = Annotated[Path | None, typer.Option(help="the CSV of every repetition; by default the campaign's own")]


class Asker:
    """Run a strategy, which is asked for one configuration at a time."""

    def __init__(self, name: str, asking: Asking) -> None:
        self.name = name
        self._asking = asking
        self._batch = next(asking)
        self._answers: list[Repetition] = []

    def next_configuration(self) -> Configuration:
        """Return the configuration to measure next; a batch that is fully answered is followed by a new one."""
        if len(self._answers) == len(self._batch):
            self._batch, self._answers = self._asking.send(self._answers), []
        return self._batch[len(self._answers)]

    def answer(self, repetition: Repetition) -> None:
        """Take the repetition that answers `next_configuration`."""
        self._answers.append(repetition)


def search_study(seed: int) -> Tune:
    """Return `cold_burst` at one record size, with levels for batch.size, since peers need lists."""
    study = tune_study(load_named_study(load_settings().studies, "cold_burst"))
    levels = NumericFactor(type="integer", levels=BATCH_SIZE_LEVELS)
    changes = {
        "name": "search_on_cluster",
        "seed": seed,
        "record_sizes_bytes": [int(CASE)],
        "factors": {**study.factors, "batch.size": levels},
    }
    return study.model_copy(update=changes)


def askers_of(names: Sequence[str], study: Tune, budget: int) -> list[Asker]:
    """Return the strategies, each at its beginning."""
    loaded = {name: one_shot_within(budget) if name == "one_shot" else strategy(name) for name in names}
    return [Asker(name, start(study, CASE, study.seed)) for name, start in loaded.items()]


def search(askers: Sequence[Asker], study: Tune, budget: int, measure: Measure) -> None:
    """Let all strategies spend the budget: block n holds the n-th repetition of each, in random order."""
    for number in range(budget):
        wanted = [each.next_configuration() for each in askers]
        order = np.random.default_rng([study.seed, number]).permutation(len(askers))
        block = [
            PlannedRepetition("choice", int(at), CASE, _candidate(wanted[at], study), number, place)
            for place, at in enumerate(order)
        ]
        for at, repetition in zip(order, measure(block), strict=True):
            askers[at].answer(repetition)


def run(
    campaign: Campaign,
    runner: RepetitionRunner,
    names: Sequence[str],
    budget: int,
    fresh_blocks: int,
    progress: Progress,
) -> None:
    """Run the strategies, then measure the configurations they deliver in fresh blocks."""
    study, measure = campaign.tune, measure_on(campaign, CASE, runner, WARM_UP_REPETITIONS)
    baseline = baseline_candidate(campaign, CASE)
    searching = shown(measure, progress, "search", budget * len(names))
    search(askers_of(names, study, budget), study, budget, searching)

    table = repetition_table(labelled(stored_repetitions(campaign), names), study)
    chosen = {each for found in delivered_by(table, study).values() for each in found} - {baseline.configuration_id}
    rows = table[table.configuration_id.isin(chosen)].drop_duplicates("configuration_id")
    in_play = [baseline, *candidates_of(rows.sort_values("configuration_id"), study)]
    fresh = plan_blocks(in_play, fresh_blocks, order="blocks", phase="gain", case=CASE, seed=study.seed)
    measure_blocks(fresh, shown(measure, progress, "fresh blocks", len(fresh)))


def labelled(repetitions: Sequence[Repetition], names: Sequence[str]) -> list[tuple[str, Repetition]]:
    """Return each repetition with the name of its strategy, of the fresh blocks, or of nobody."""

    def label(repetition: Repetition) -> str:
        if is_warm_up(repetition):
            return WARM_UP
        return FRESH if repetition.phase == "gain" else names[repetition.round]

    return [(label(each), each) for each in repetitions]


def csv_of(campaign_id: str) -> Path:
    """Return the file that keeps a campaign's repetitions."""
    return DATA / f"search_on_cluster_{campaign_id}.csv"


@app.command()
def measure(
    seed: SeedOption = SEED,
    budget: BudgetOption = BUDGET,
    blocks: Annotated[int, typer.Option(help="fresh blocks at the end", min=2)] = 5,
    campaign: CampaignOption = "",
    data: DataOption = None,
) -> None:
    """Measure what the store does not hold yet, and write all of it as a CSV."""
    with clear_errors():
        settings = stack_settings()
        campaign_id = campaign or _campaign_id(seed, budget)
        begun_campaign = begun(open_store(settings), search_study(seed), campaign_id)
        with (
            progress_bars() as progress,
            runtime_of(begun_campaign.study).runner(begun_campaign, CASE, settings) as runner,
        ):
            run(begun_campaign, runner, STRATEGIES, budget, blocks, progress)
        found = labelled(stored_repetitions(begun_campaign), STRATEGIES)
        write_csv(repetition_table(found, begun_campaign.study), data or csv_of(campaign_id))


@app.command()
def table(
    seed: SeedOption = SEED, budget: BudgetOption = BUDGET, campaign: CampaignOption = "", data: DataOption = None
) -> None:
    """Print the table from the CSV; needs no server."""
    with clear_errors():
        rows = read_csv(data or csv_of(campaign or _campaign_id(seed, budget)))
        print("\n".join(report(rows, search_study(seed))))


def _campaign_id(seed: int, budget: int) -> str:
    return f"seed{seed}-budget{budget}"


def _candidate(configuration: Configuration, study: Tune) -> Candidate:
    name = configuration_id(configuration)
    return Candidate(name, name == study.baseline_id(), dict(configuration))


if __name__ == "__main__":
    app()
