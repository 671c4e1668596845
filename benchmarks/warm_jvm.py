"""Measure whether one warm JVM measures like a fresh one for every repetition: `python -m benchmarks.warm_jvm`.

Configurations of the study `steady` at one record size, on brokers of its own. Every block measures each of them in
three ways, in random order: `fresh` (a JVM and the study's warm-up for each load), `warm` (one JVM, little warm-up) and
`short` (the same, and shorter parts). Then the baseline in one JVM for many loads, fresh ones among them; then again
and again before and after a load that fails.

Each repetition is appended to the CSV. The same command resumes an interrupted run, at the same fixed rate; what
needs one JVM from its first load to its last (drift, failures) is appended as a whole.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import pandas as pd
import typer
from rich.progress import Progress

from benchmarks.on_cluster import DATA, clear_errors, own_testbed, progress_bars
from benchmarks.warm_jvm_table import FAILING, FRESH, SHORT, WARM, report
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.attempt import judge, mib_s
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.sizing import sizing_of
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import load_named_study
from kafka_pareto.study.tune import Tune, tune_study

LITTLE_WARMUP_S = 0.25
SHORT_PART_S = 1.0
LOADS_BETWEEN_FRESH = 10  # in the drift
_EXPIRES_AT_ONCE = {"delivery.timeout.ms": 1, "request.timeout.ms": 1, "linger.ms": 0}
_KEY = ("phase", "block", "configuration_id", "arm")
_COLUMNS = (
    *("phase", "block", "order", "configuration_id", "arm", "outcome", "reason", "started_at", "seconds", "wall_s"),
    *("client_cpu_s", "records_sent", "throughput_mib_s", "latency_p50_ms", "latency_p95_ms", "paced_rate_records_s"),
    *("settling_s", "load_1m"),
)

Row: TypeAlias = dict[str, object]


@dataclass
class Bench:
    """Both load generators on one testbed, and the load of each method."""

    study: Tune
    case: str
    testbed: Testbed
    warm: LoadGenerator
    arms: Mapping[str, TimedLoad]

    def __post_init__(self) -> None:
        self._end_offsets = EndOffsets(self.testbed.cluster, self.testbed.topic)
        self._bytes_to_delete = 0

    def measure(self, phase: str, block: int, order: int, configuration: Configuration, arm: str) -> Row:
        """Execute one load and return its row, whatever came of it."""
        study, timed = ProducerStudy.of(self.study), self.arms[arm]
        request = LoadRequest(
            topic=self.testbed.topic,
            record_size_bytes=int(self.case),
            properties=study.properties(configuration) | (_EXPIRES_AT_ONCE if arm == FAILING else {}),
            timeout_s=study.protocol.timeout_s,
            timed=timed,
        )
        row: Row = {"phase": phase, "block": block, "order": order, "arm": arm, "outcome": "failed"}
        row |= {"configuration_id": configuration_id(configuration), "paced_rate_records_s": timed.paced_rate_records_s}
        row |= {"started_at": datetime.now(UTC).isoformat(), "load_1m": os.getloadavg()[0], **configuration}
        started = time.monotonic()
        self._end_offsets.begin()
        try:
            result = (self.testbed.load_tool if arm == FRESH else self.warm).run(request)
        except LoadToolError as error:
            return row | {"reason": str(error)}
        growth = self._end_offsets.growth(result.records_sent)
        row["outcome"], row["reason"] = judge(result, growth, request.record_size_bytes)
        row["seconds"] = time.monotonic() - started
        self._clean_up(result.records_attempted * request.record_size_bytes)
        return row | _values(result, request)

    def _clean_up(self, sent_bytes: int) -> None:
        self._bytes_to_delete += sent_bytes
        if self._bytes_to_delete > DELETE_RECORDS_AFTER_BYTES:
            self.testbed.cluster.delete_records(self.testbed.topic)
            self._bytes_to_delete = 0


def _values(result: LoadResult, request: LoadRequest) -> Row:
    row: Row = {name: getattr(result, name) for name in ("wall_s", "client_cpu_s", "records_sent", "settling_s")}
    if (figures := result.figures) is None:
        return row
    throughput_mib_s = mib_s(figures, request.record_size_bytes)
    latencies = {name: getattr(figures, name) for name in ("latency_p50_ms", "latency_p95_ms")}
    return row | latencies | {"throughput_mib_s": throughput_mib_s}


def arms_of(timed: TimedLoad) -> dict[str, TimedLoad]:
    """Return what each way of measuring sends, from what the study's own repetition does."""
    warm = timed.model_copy(update={"warmup_s": LITTLE_WARMUP_S, "paced_warmup_s": LITTLE_WARMUP_S})
    short = warm.model_copy(update={"seconds": SHORT_PART_S, "paced_seconds": SHORT_PART_S})
    return {FRESH: timed, WARM: warm, SHORT: short, FAILING: short}


def measure_arms(bench: Bench, configurations: list[Configuration], blocks: int, file: Path, bar: Progress) -> None:
    """Measure every configuration in every way, once in each block; skips what the file has."""
    done = set(read_rows(file)[list(_KEY)].itertuples(index=False, name=None))
    task = bar.add_task("blocks", total=3 * blocks * len(configurations))
    for block in range(blocks):
        pairs = [(each, arm) for each in configurations for arm in (FRESH, WARM, SHORT)]
        order = np.random.default_rng([bench.study.seed, block]).permutation(len(pairs))
        for place, at in enumerate(order):
            configuration, arm = pairs[at]
            if ("arms", block, configuration_id(configuration), arm) not in done:
                append_rows(file, [bench.measure("arms", block, place, configuration, arm)], bench.study)
            bar.advance(task)


def measure_drift(bench: Bench, loads: int, file: Path, bar: Progress) -> None:
    """Measure the baseline in one JVM, with a fresh one after every ten; skips it where the file has as many."""
    rows = read_rows(file)
    if len(rows[(rows.phase == "drift") & (rows.arm == SHORT)]) >= loads:
        return
    baseline, found, task = bench.study.baseline_configuration(), list[Row](), bar.add_task("drift", total=loads)
    for load in range(loads):
        found.append(bench.measure("drift", load, load, baseline, SHORT))
        if load % LOADS_BETWEEN_FRESH == 0:
            found.append(bench.measure("drift", load, load, baseline, FRESH))
        bar.advance(task)
    append_rows(file, found, bench.study)


def measure_failures(bench: Bench, times: int, file: Path, bar: Progress) -> None:
    """Measure the baseline before and after a load whose records all expire, in one JVM; skips what the file has."""
    rows = read_rows(file)
    if rows[rows.phase == "failure"].block.nunique() >= times:
        return
    baseline, found, task = bench.study.baseline_configuration(), list[Row](), bar.add_task("failures", total=times)
    for block in range(times):
        for order, arm in enumerate((SHORT, FAILING, SHORT)):
            found.append(bench.measure("failure", block, order, baseline, arm))
        bar.advance(task)
    append_rows(file, found, bench.study)


def read_rows(file: Path) -> pd.DataFrame:
    """Return what was measured; an empty table where nothing was."""
    return pd.read_csv(file) if file.exists() else pd.DataFrame(columns=list(_COLUMNS))


def append_rows(file: Path, rows: list[Row], study: Tune) -> None:
    """Append rows to the CSV, with its header where it is new."""
    is_new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [*_COLUMNS, *study.factors], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


@contextmanager
def open_bench(study: Tune, brokers: int, file: Path, settings: Settings) -> Iterator[Bench]:
    """Open brokers, a topic and both load generators; the fixed rate is the file's, else as the study finds it."""
    case = study.cases[0]
    with ExitStack() as opened:
        campaign, testbed, own = opened.enter_context(own_testbed(study, brokers, settings))
        warm = opened.enter_context(LoadGenerator(own.bootstrap_servers, None, own, has_brokers=True, keeps_jvm=True))
        timed = sizing_of(campaign, case, testbed).timed  # it also warms up the brokers
        if timed is None:
            raise BadInputError(f"study {study.name}: protocol: must use the load generator here")
        rows = read_rows(file)
        if len(rows):
            timed = timed.model_copy(update={"paced_rate_records_s": float(rows.paced_rate_records_s.iloc[0])})
        yield Bench(study, case, testbed, warm, arms_of(timed))


def main(
    configurations: Annotated[int, typer.Option(help="how many the Latin hypercube draws")] = 30,
    blocks: Annotated[int, typer.Option(help="how often each of them is measured in each way")] = 5,
    drift: Annotated[int, typer.Option(help="loads of the baseline in one JVM")] = 200,
    failures: Annotated[int, typer.Option(help="how often a load fails between two of the baseline")] = 10,
    record_size: Annotated[int, typer.Option(help="in bytes; the smaller, the more the client's code weighs")] = 1024,
    brokers: Annotated[int, typer.Option(help="how many brokers to start: 1 or 3")] = 3,
    file: Annotated[Path | None, typer.Option(help="the CSV of all repetitions")] = None,
    table: Annotated[bool, typer.Option("--table", help="measure nothing, print what the CSV says")] = False,
) -> None:
    """Measure what the CSV does not hold yet, and print the comparison."""
    with clear_errors():
        settings = load_settings()
        file = file or DATA / f"warm_jvm_{record_size}.csv"
        if not table:
            study = tune_study(with_overrides(load_named_study(settings.studies, "steady"), cases=[str(record_size)]))
            replicas = {"replication_factor": brokers, "min_insync_replicas": (brokers + 1) // 2}
            workload = ProducerStudy.of(study).workload.model_copy(update=replicas)
            study = study.model_copy(update={"workload": workload})
            rng = np.random.default_rng(study.seed)
            drawn = latin_hypercube(study, configurations, str(record_size), rng)
            with open_bench(study, brokers, file, settings) as bench, progress_bars() as bar:
                measure_arms(bench, drawn, blocks, file, bar)
                for phase, times in ((measure_drift, drift), (measure_failures, failures)):
                    bench.warm.close()  # each with a JVM of its own
                    phase(bench, times, file, bar)
        print("\n".join(report(read_rows(file))))


if __name__ == "__main__":
    typer.run(main)
