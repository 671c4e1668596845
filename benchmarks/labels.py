"""Count the correct labels of a log pipeline's runs, on queues with known truth and on kept campaigns.

`python -m benchmarks.labels` simulates queues, labels each as a run is labelled, and writes the tables into
`benchmarks/tables.md`. The truth of kept campaigns is unknown: the table shows the evidence of each label.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from benchmarks.search import write_section
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.log_pipeline.behaviour_labels import growth_of, label_of
from kafka_pareto.drivers.log_pipeline.quantities import PipelineLabel
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy
from kafka_pareto.study.study_file import load_study

KEPT = Path(__file__).parent / "data" / "campaigns"
CAMPAIGNS = ("log_pipeline_short", "log_pipeline_tuned")
SEEDS = 200
WARMUP_S = 30.0
STEADY: Mapping[int, int] = {20: 10, 40: 20, 90: 30, 140: 40, 300: 40, 600: 40}
"""Maps how long a simulated run is steady to when its steady part begins; the first four are shipped studies' kind."""


@dataclass(frozen=True)
class Queue:
    """Holds what a simulated pipeline did.

    Attributes:
        logged_s: When each event was logged, in order; the run begins at 0.
        passed_s: When it left the server.
        committed_s: When it was in Hive.
        offered: The requests due, of the run alone.
        untaken: Of these, refused.
    """

    logged_s: Values
    passed_s: Values
    committed_s: Values
    offered: int = 1
    untaken: int = 0

    def timeline(self, seconds: int) -> Timeline:
        """Return the seconds of a run of this length, as `per_second` counts them."""
        edges = np.arange(seconds + 1)
        logged, passed, done = (
            np.diff(np.searchsorted(np.sort(times), edges))
            for times in (self.logged_s, self.passed_s, self.committed_s)
        )
        left = np.searchsorted(self.logged_s, 0) - np.sum(self.committed_s < 0)
        series = {
            "logged_events_s": logged,
            "shipped_events_s": passed,
            "aggregated_events_s": passed,
            "queue_events": left + np.cumsum(logged - done),
        }
        return Timeline(
            done=done.tolist(),
            latency_p95_ms=[None] * seconds,
            series={name: values.astype(float).tolist() for name, values in series.items()},
        )


Simulation = Callable[[np.random.Generator, int], Queue]


def one_server(
    rng: np.random.Generator,
    seconds: int,
    load: float,
    rate_s: float = 500.0,
    cycle_s: float = 1.2,
    rates: Callable[[int], Sequence[tuple[float, float, float]]] | None = None,
) -> Queue:
    """Simulate a server of random service times, behind which events are committed in batches.

    Args:
        rng: Draws arrivals, service times, and how long each batch takes.
        seconds: How long the run is.
        load: The mean rate over what the server can do.
        rate_s: The mean rate.
        cycle_s: The mean time between two commits; it varies by a fifth.
        rates: Gives stretches of time with a rate each, where it is not the same throughout.
    """
    logged = _arrivals(rng, rates(seconds) if rates else [(-WARMUP_S, seconds, rate_s)])
    service = rng.exponential(load / rate_s, len(logged))
    worked = np.cumsum(service)
    passed = worked + np.maximum.accumulate(logged - (worked - service))
    number = int((passed[-1] + WARMUP_S) / cycle_s * 1.5) + 20
    commits = -WARMUP_S + rng.uniform(0, cycle_s) + np.cumsum(rng.gamma(25, cycle_s / 25, number))
    return Queue(logged, passed, commits[np.searchsorted(commits, passed)])


def bounded(rng: np.random.Generator, seconds: int, load: float, rate_s: float = 100.0, places: int = 500) -> Queue:
    """Simulate the same server with this many waiting places: requests beyond them are refused, and not logged."""
    due = _arrivals(rng, [(-WARMUP_S, seconds, rate_s)])
    inside: deque[float] = deque()
    taken, passed = [], []
    for at, service in zip(due.tolist(), rng.exponential(load / rate_s, len(due)).tolist(), strict=True):
        while inside and inside[0] <= at:
            inside.popleft()
        if len(inside) < places:
            inside.append(max(at, inside[-1] if inside else at) + service)
            taken.append(at)
            passed.append(inside[-1])
    logged, ready = np.array(taken), np.array(passed)
    offered = int(np.sum(due >= 0))
    return Queue(logged, ready, np.ceil(ready), offered, offered - int(np.sum(logged >= 0)))


def micro_batches(rng: np.random.Generator, seconds: int, load: float, rate_s: float = 500.0) -> Queue:
    """Simulate batches that take all that waits: half a second plus a share for each event, give or take a quarter.

    The more waits, the longer the next batch: near its capacity such a queue wanders for minutes.
    """
    logged = _arrivals(rng, [(-WARMUP_S, seconds, rate_s)])
    committed = np.empty(len(logged))
    first, now = 0, float(logged[0])
    while first < len(logged):
        now = max(now, float(logged[first]))
        last = int(np.searchsorted(logged, now, side="right"))
        now += (0.5 + load / rate_s * (last - first)) * rng.gamma(16, 1 / 16)
        committed[first:last] = now
        first = last
    return Queue(logged, logged, committed)


def _arrivals(rng: np.random.Generator, stretches: Sequence[tuple[float, float, float]]) -> Values:
    """Draw random times, from, until and at the rate that each stretch has."""
    times = [rng.uniform(begin, end, rng.poisson(rate_s * (end - begin))) for begin, end, rate_s in stretches]
    return np.sort(np.concatenate(times))


def _bursts(seconds: int) -> list[tuple[float, float, float]]:
    begins = np.arange(-WARMUP_S, seconds, 20)
    return [part for at in begins for part in ((at, at + 15, 400.0), (at + 15, at + 20, 1200.0))]


def _one_burst(seconds: int) -> list[tuple[float, float, float]]:
    return [(-WARMUP_S, 60, 500.0), (60, 90, 1000.0), (90, max(seconds, 91), 500.0)]


SCENARIOS: Mapping[str, tuple[Simulation, PipelineLabel]] = {
    "stable, load 60 %": (partial(one_server, load=0.6), "stable"),
    "stable, 90 %": (partial(one_server, load=0.9), "stable"),
    "stable, 98 %": (partial(one_server, load=0.98), "stable"),
    "stable, 98 %, 100/s": (partial(one_server, load=0.98, rate_s=100), "stable"),
    "bursts of 5 s each 20 s that drain": (partial(one_server, load=0.6, rates=_bursts), "stable"),
    "one burst, twice the load of 50 %, from 60 s to 90 s": (partial(one_server, load=0.5, rates=_one_burst), "stable"),
    "batches of 10 s, 60 %": (partial(one_server, load=0.6, cycle_s=10), "stable"),
    "batches of 10 s, 105 %": (partial(one_server, load=1.05, cycle_s=10), "collapsing"),
    "overload, 105 %": (partial(one_server, load=1.05), "collapsing"),
    "overload, 105 %, 100/s": (partial(one_server, load=1.05, rate_s=100), "collapsing"),
    "overload, 150 %": (partial(one_server, load=1.5), "collapsing"),
    "bounded buffer, 105 %, 100/s": (partial(bounded, load=1.05, places=100), "throttled"),
    "bounded buffer, 150 %, 100/s": (partial(bounded, load=1.5), "throttled"),
    "batches that take all that waits, 60 %": (partial(micro_batches, load=0.6), "stable"),
    "batches that take all that waits, 80 %": (partial(micro_batches, load=0.8), "stable"),
    "batches that take all that waits, 90 %": (partial(micro_batches, load=0.9), "stable"),
}
"""Maps each simulated pipeline to how it runs and what it is; at 500 events/s unless stated."""


def labels(simulation: Simulation, steady_s: int, seeds: int) -> Counter[PipelineLabel]:
    """Count the labels of this many simulated runs."""
    seconds = STEADY[steady_s] + steady_s
    queues = (simulation(np.random.default_rng(seed), seconds) for seed in range(seeds))
    return Counter(label_of(each.timeline(seconds), STEADY[steady_s], each.untaken / each.offered) for each in queues)


def main() -> None:
    """Print both tables, and write them into `tables.md`."""
    found = {name: [labels(run, steady_s, SEEDS) for steady_s in STEADY] for name, (run, _) in track(SCENARIOS.items())}
    lines = [f"| steady for | {' | '.join(f'{steady_s} s' for steady_s in STEADY)} |", "|---" * (len(STEADY) + 1) + "|"]
    for name, counts in found.items():
        cells = [_shares_text(each, SCENARIOS[name][1]) for each in counts]
        lines.append(f"| {name}: {SCENARIOS[name][1]} | {' | '.join(cells)} |")
    text = "\n".join([*lines, "", *kept_lines()])
    print(text)
    write_section("labels", text)


def kept_runs(name: str) -> Iterator[tuple[dict[str, Any], Timeline, LogPipelineStudy]]:
    """Yield each valid run of a kept campaign: its row, its seconds and the study."""
    folder = KEPT / name
    study = LogPipelineStudy.of(load_study(folder / "study.yaml"))
    rows = pd.read_csv(folder / "repetitions.csv", keep_default_na=False, na_values=[""])
    kept = (json.loads(line) for line in (folder / "timelines.jsonl").read_text().splitlines())
    for row, seconds in zip(rows.to_dict("records"), kept, strict=True):
        timeline = {each: seconds[each] for each in Timeline.model_fields if each in seconds}
        yield {str(each): value for each, value in row.items()}, Timeline.model_validate(timeline), study


def untaken_fraction(row: Mapping[str, Any]) -> float:
    """Return the share of a kept run's requests that was refused or lost."""
    return float((row["refused"] + row["events_lost"]) / row["requests_due"])


def kept_lines() -> list[str]:
    """Return a table of the kept campaigns' labels, with the least and the greatest growth of each."""
    lines = ["| kept campaign | label | runs | growth of the queue, of what was logged |", "|---|---|---|---|"]
    for name in CAMPAIGNS:
        growths: dict[PipelineLabel, list[float]] = {}
        for row, timeline, study in kept_runs(name):
            steady_from_s = study.protocol.steady_from_s
            growth = growth_of(timeline, steady_from_s)
            label = label_of(timeline, steady_from_s, untaken_fraction(row))
            growths.setdefault(label, []).append(growth.fraction if growth else float("nan"))
        for label, values in growths.items():
            spread = f"{min(values):+.1%} to {max(values):+.1%}"
            lines.append(f"| `{name}` | {label.replace('_', ' ')} | {len(values)} | {spread} |")
    return lines


def _shares_text(counts: Counter[PipelineLabel], truth: PipelineLabel) -> str:
    """Return the share that is right, and in brackets what is wrong; the rest was too short to tell."""
    runs, right, untold = counts.total(), counts[truth], counts["too_short_to_tell"]
    wrong = runs - right - untold
    return f"{right / runs:.0%}{f' ({wrong / runs:.1%} wrong)' if wrong else ''}"


if __name__ == "__main__":
    main()
