"""Measure campaigns for the benchmarks that run on an embedded stack, by the library's own rules.

Every block has a prefix of its own, `06_confirmation/<record size>/<phase>/<block>/`, and is not measured again when a
run resumes. A block that the cluster disturbed is measured again as a whole. Each run, also a resumed one, warms up
with the baseline before its first load. These repetitions do not count.
"""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.student import student
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import baseline_candidate
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.campaign.tables import repetition_row
from kafka_pareto.drivers.producer.testbed import Testbed, open_testbed
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import RepetitionRunner
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.study.tune import Tune
from kafka_pareto_embedded.stack.stack import Stack

Measure: TypeAlias = Callable[[Sequence[PlannedRepetition]], list[Repetition]]
"""Measures one block, as far as the store does not hold it, and returns all of it in the order planned."""

Values: TypeAlias = npt.NDArray[np.float64]

DATA = Path(__file__).parent / "data"
WARM_UP = "warm-up"
"""The `asked_by` of the repetitions that a run begins with."""
_WARM_UP_PHASE: Phase = "noise"
_COLUMNS = (
    *("case", "block", "order_in_block", "started_at", "configuration_id", "is_baseline", "outcome"),
    *("attempts", "throughput_records_s", "throughput_mib_s", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms"),
    *("batch_size_avg_bytes", "records_per_request_avg", "wall_s", "client_cpu_s", "load_1m", "cpu_steal_fraction"),
)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Print a user's mistake as one message, without a traceback; let TERM end a run in order, like Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    except KafkaParetoError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("Interrupted. All measurements are kept; to resume, run the same command.", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None


def stack_settings() -> Settings:
    """Return the settings of the embedded stack that `KAFKA_PARETO_STATE` names.

    Raises:
        BadInputError: If it was never started.
    """
    stack = Stack.load()
    if stack is None:
        raise BadInputError(
            "there is no embedded stack: start one with `make up`, or set KAFKA_PARETO_STATE to its folder"
        )
    return stack.settings()


def begun(store: Store, study: Tune, campaign_id: str) -> Campaign:
    """Return the campaign, either new or found in the store.

    Raises:
        BadInputError: If it was begun with another study.
    """
    keys = CampaignKeys(study.name, campaign_id)
    if store.tag(keys.frozen_study()) is None:
        store.put(keys.frozen_study(), dump_study(study).encode())
    found = Campaign.open(store, study.name, campaign_id)
    if found.study != study:
        raise BadInputError(f"campaign {keys.prefix} was begun with other values of its study; name a new --campaign")
    return found


@contextmanager
def own_testbed(study: Tune, brokers: int, settings: Settings) -> Iterator[tuple[Campaign, Testbed, Settings]]:
    """Start brokers for the study's first case; yield a campaign, a testbed, and settings that name these brokers."""
    with (
        tempfile.TemporaryDirectory(prefix="kafka-pareto-benchmark-") as folder,
        Brokers(brokers, settings, jmx_configuration=None, gc_log=False) as running,
    ):
        here = {"bootstrap_servers": running.bootstrap_servers, "own_cluster_id": running.cluster_id}
        own, campaign = settings.model_copy(update=here), begun(FolderStore(Path(folder)), study, "c1")
        with open_testbed(campaign, study.cases[0], own) as testbed:
            yield campaign, testbed, own


def measure_on(campaign: Campaign, case: str, runner: RepetitionRunner, warm_up_repetitions: int) -> Measure:
    """Return a function that measures blocks of this campaign, after a warm-up before the first new one."""
    measurer = Measurer(campaign.study, runner)
    is_warm = False

    def warm_up() -> None:
        nonlocal is_warm
        is_warm = True
        prefix, baseline = _prefix(campaign, case, _WARM_UP_PHASE), baseline_candidate(campaign, case)
        store = RepetitionStore(campaign, prefix)
        begins = len(store.repetitions())
        planned = [
            PlannedRepetition(_WARM_UP_PHASE, 0, case, baseline, number, order_in_block=0)
            for number in range(begins, begins + warm_up_repetitions)
        ]
        measurer.measure(MeasurementPhase(planned, store))

    def measure(block: Sequence[PlannedRepetition]) -> list[Repetition]:
        prefix = f"{_prefix(campaign, case, block[0].phase)}{block[0].block:03d}/"
        wanted = [planned.repetition_id for planned in block]
        store = RepetitionStore(campaign, prefix)
        stored = {each.repetition_id for each in store.repetitions()}
        if others := stored - set(wanted):
            raise BadInputError(
                f"{prefix}: holds {', '.join(sorted(others))}, which is not asked for now; was the code changed since? "
                "name a new --campaign"
            )
        # Brokers, topic and caches that have just started or rested are slow: no strategy should pay for that.
        if not is_warm and stored != set(wanted):
            warm_up()
        measured = {each.repetition_id: each for each in measurer.measure(MeasurementPhase(block, store))}
        return [measured[name] for name in wanted]

    return measure


def is_warm_up(repetition: Repetition) -> bool:
    """Return whether the repetition does not count, since it is part of a warm-up."""
    return repetition.phase == _WARM_UP_PHASE


def measure_blocks(planned: Sequence[PlannedRepetition], measure: Measure) -> None:
    """Measure block after block."""
    for _, block in groupby(planned, key=lambda each: each.block):
        measure(list(block))


def stored_repetitions(campaign: Campaign) -> list[Repetition]:
    """Return all repetitions so far, in the order of measuring."""
    prefixes = [_prefix(campaign, size, phase) for size in campaign.study.cases for phase in get_args(Phase)]
    found = [each for prefix in prefixes for each in campaign.read_repetitions(prefix)]
    return sorted(found, key=lambda each: each.started_at)


def repetition_table(labelled: Iterable[tuple[str, Repetition]], study: Study) -> pd.DataFrame:
    """Return repetitions as the rows of a CSV: the label `asked_by`, then what was asked for and the outcome."""
    rows = [{"asked_by": label, **repetition_row(each)} for label, each in labelled]
    return pd.DataFrame(rows, columns=["asked_by", *_COLUMNS, *study.varied_factors])


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write the table completely, or leave the earlier file."""
    partial = path.with_suffix(".partial")
    table.to_csv(partial, index=False)
    partial.replace(path)
    print(f"{len(table)} repetitions: {path}")


def read_csv(path: Path) -> pd.DataFrame:
    """Return a table that `repetition_table` made.

    Raises:
        BadInputError: If it is not there.
    """
    if not path.exists():
        raise BadInputError(f"{path} is missing; `measure` writes it once it is through")
    # Earlier runs named a case by its record size.
    read = pd.read_csv(path, dtype={"case": str, "record_size_bytes": str})
    return read.rename(columns={"record_size_bytes": "case"})


def change_cell(one: Values, other: Values) -> str:
    """Return the change of the mean from one to the other with its 95 % interval, by differences within blocks.

    Args:
        one: One value per block, shape (blocks,).
        other: The other's values of the same blocks, shape (blocks,).
    """
    if not len(one):
        return "not measured"
    change = paired_tests.mean_change(one, other)
    if not np.isfinite(change.low_fraction):
        return f"{change.change_fraction:+.0%}"
    return f"{change.change_fraction:+.0%} ({change.low_fraction:+.0%} to {change.high_fraction:+.0%})"


def invalid_outcomes(table: pd.DataFrame) -> str:
    """Return a text on how many repetitions were not valid, by outcome."""
    wrong = table[table.outcome != "valid"].outcome.value_counts()
    return ", ".join(f"{count} {outcome}" for outcome, count in wrong.items()) or "none"


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield progress bars with the time left; the library's warnings are printed above them."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    # Few redraws: they cost time of the machine that is measured.
    progress = Progress(*columns, *times, console=Console(), refresh_per_second=0.5, speed_estimate_period=600)
    logging.basicConfig(level=logging.WARNING, handlers=[RichHandler(console=progress.console, show_path=False)])
    with progress:
        yield progress


def shown(measure: Measure, progress: Progress, description: str, repetitions: int) -> Measure:
    """Return the same function with a progress bar, or without a terminal with a line for each block."""
    task_id = progress.add_task(description, total=repetitions)

    def measured(block: Sequence[PlannedRepetition]) -> list[Repetition]:
        found = measure(block)
        progress.advance(task_id, len(found))
        if not progress.console.is_terminal:
            task = next(each for each in progress.tasks if each.id == task_id)
            left = "" if task.time_remaining is None else f", about {task.time_remaining / 60:.0f} minutes left"
            print(f"{description}: {task.completed:.0f} of {repetitions} repetitions{left}", flush=True)
        return found

    return measured


def _prefix(campaign: Campaign, case: str, phase: Phase) -> str:
    return campaign.keys.confirmation(case, f"{phase}/")


def ratio_text(ratios: pd.Series[float]) -> str:
    """Return the geometric mean of the blocks' ratios, with its 95 % interval."""
    found = student(np.log(ratios.to_numpy()), 0.95)
    mean, low, high = np.exp([found.mean, found.low, found.high])
    return f"{mean:.2f} ({low:.2f} to {high:.2f})"
