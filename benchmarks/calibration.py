"""Compare estimates of the front's points, and their 90 % intervals, with what was measured there afterwards.

`python -m benchmarks.calibration` reads recorded data alone:

- the kept campaigns: trained as they trained, asked for the points that they confirmed, compared with the mean of each
  point's choice blocks;
- the recorded grid of 8,192 B: the stored runs of `rounds` cut after two and four rounds, and random designs of single
  repetitions. The front is that of the trees' estimates over all configurations not yet measured, and is compared with
  the mean of the two blocks that answered nothing;
- the recording of five record sizes (60 configurations, ten blocks): designs of 24 single repetitions per record size,
  the front among the other configurations, compared with the mean of five other blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.progress import track

from benchmarks.search import write_section
from benchmarks.search_runs import RUNS
from benchmarks.strategies.grids import FIRST
from benchmarks.strategies.table import Answer, answering_blocks, recorded_table, table_study, truth_blocks
from kafka_pareto.analysis.hypervolume import logarithms
from kafka_pareto.analysis.pareto import losses_of, non_dominated
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study
from kafka_pareto.surrogates.calibration import Calibration, calibrate
from kafka_pareto.surrogates.scores import cross_validated
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate, split_by_configuration
from tests.recorded import paper_study, recorded_repetitions

Values = npt.NDArray[np.float64]
Interval = tuple[Values, Values, Values]

KEPT = Path(__file__).parent / "data" / "campaigns"
_OF_REPETITIONS = {"p95_latency_ms": "latency_p95_ms", "throughput_mib_s": "throughput_mib_s"}
SEEDS = 20
ROUNDS_UP_TO = (31, 49)
DESIGNS = (24, 60)
DESIGN_OF_FIVE, SEEDS_OF_FIVE, FIRST_TRUTH_BLOCK = 24, 10, 5
_NORMAL = 1.645


@dataclass(frozen=True)
class Situation:
    """A campaign's trials, the points that are estimated, and their means over `blocks` later blocks."""

    study: Tune
    trials: pd.DataFrame
    points: pd.DataFrame
    blocks: int


def main() -> None:
    """Print a table for each kind of data, and write them into `tables.md`."""
    kinds = {
        **{f"kept campaign `{name}`": [kept(name)] for name in ("cold_burst", "steady", "paper")},
        **{f"grid, `rounds`, {budget} repetitions": list(of_rounds(budget)) for budget in ROUNDS_UP_TO},
        **{f"grid, random design of {count}": list(of_designs(count)) for count in DESIGNS},
        f"five record sizes, design of {DESIGN_OF_FIVE}": list(of_five_sizes()),
    }
    lines = ["| data | objective | method | points | measured / estimated | in the interval | width |"]
    lines.append("|---|---|---|---|---|---|---|")
    for kind, situations in kinds.items():
        found = [judged(each) for each in track(situations, kind, transient=True)]
        for objective in _OF_REPETITIONS:
            for method in found[0][objective]:
                parts = [each[objective][method] for each in found]
                lines.append(f"| {kind} | {objective} | {method} | {_row(np.hstack(parts))} |")
    print("\n".join(lines))
    write_section("calibration", "\n".join(lines))


def judged(situation: Situation) -> dict[str, dict[str, Values]]:
    """Return for each mean and method the logarithms of measured, estimate, low and high end, shape (4, points)."""
    study, trials, points = situation.study, situation.trials, situation.points
    encoding = feature_encoding(study, trials)
    unseen = pd.DataFrame({each: cross_validated(study, encoding, trials, each) for each in _OF_REPETITIONS})
    return {
        objective: {
            method: np.vstack([logarithms(points, study, objective), *np.log(interval)])
            for method, interval in methods(situation, objective, unseen).items()
        }
        for objective in _OF_REPETITIONS
    }


def methods(situation: Situation, objective: str, unseen: pd.DataFrame) -> Mapping[str, Interval]:
    """Return estimate, low and high end of every point, by each way to find them.

    Args:
        situation: What is known, and what is asked.
        objective: A mean.
        unseen: Of each trial the estimates of the means by trees that had not seen it.
    """
    study, trials, points, blocks = situation.study, situation.trials, situation.points, situation.blocks
    estimated = unseen[objective]
    of_trees = _trees(study, trials, points)[f"estimated_{objective}"].to_numpy()
    by = {
        name: study.model_copy(update={"surrogate": study.surrogate.model_copy(update={"estimates": name})})
        for name in ("trees", "gaussian_process")
    }
    trees, process = (calibrate(one, trials, objective, estimated) for one in by.values())
    if trees is None or process is None:
        raise ValueError("too few trials to be calibrated")
    of_errors, of_process = trees[0], process[0]
    plain = of_process.model_copy(update={"low": -_NORMAL, "high": _NORMAL})
    logs, guesses = logarithms(trials, study, objective), np.log(np.maximum(estimated.to_numpy(dtype=float), 1e-3))
    slope, level = np.polyfit(guesses, logs, 1)
    shrunk = np.exp(level) * np.maximum(of_trees, 1e-3) ** slope
    chosen = _fronts(trials.case, unseen)
    flattery = float(np.median((logs - guesses)[chosen]))
    found: dict[str, tuple[Calibration, Values]] = {
        "trees": (of_errors, of_trees),
        "trees, shrunk": (_moved(logs - level - slope * guesses), shrunk),
        "trees, less the flattery of cross-validated fronts": (
            _moved(logs - guesses - flattery),
            of_trees * np.exp(flattery),
        ),
        "process": (plain, of_trees),
        "process, stretched": (of_process, of_trees),
    }
    return {name: one.interval(study, points, estimates, blocks) for name, (one, estimates) in found.items()}


def kept(name: str) -> Situation:
    """Return a kept campaign; its points are those that were confirmed and, with `rounds`, not yet measured."""
    study = tune_study(load_study(KEPT / name / "study.yaml"))
    rows = pd.read_csv(KEPT / name / "repetitions.csv", keep_default_na=False, na_values=[""], low_memory=False)
    rows = rows.rename(columns={"record_size_bytes": "case"}).astype({"case": str})
    rows = rows[rows.outcome == "valid"] if "outcome" in rows else rows
    rows = rows.astype({each: str for each, factor in study.factors.items() if factor.type == "categorical"})
    trials, points = (_summarised(study, rows[rows.phase == phase]) for phase in ("design", "choice"))
    known = pd.MultiIndex.from_frame(trials[["case", "configuration_id"]])
    new = ~pd.MultiIndex.from_frame(points[["case", "configuration_id"]]).isin(known)
    points = points[~points.is_baseline & (new | (study.strategy == "one_shot"))].reset_index(drop=True)
    return Situation(study, trials, points, study.confirmation.choice_blocks)


def of_rounds(budget: int) -> Iterator[Situation]:
    """Yield stored runs of the strategy `rounds`, cut after this many repetitions."""
    runs = json.loads((RUNS / FIRST.name / "rounds.json").read_text())["runs"]
    for seed in range(SEEDS):
        yield _of_grid(seed, [Answer(*pair) for pair in runs[str(seed)][:budget]])


def of_designs(count: int) -> Iterator[Situation]:
    """Yield the baseline and random configurations of the grid, measured once each."""
    baseline, places = recorded_table().baseline, len(recorded_table().losses)
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, count])
        drawn = rng.choice(np.delete(np.arange(places), baseline), count, replace=False)
        blocks = rng.choice(answering_blocks(seed), count + 1)
        yield _of_grid(seed, [Answer(int(p), int(b)) for p, b in zip([baseline, *drawn], blocks, strict=True)])


def of_five_sizes() -> Iterator[Situation]:
    """Yield random designs of the recording of five record sizes, the baseline in each."""
    study = _with_default_trees(paper_study())
    repetitions = recorded_repetitions(tuple(study.cases))
    truth = summarise_trials([each for each in repetitions if each.block >= FIRST_TRUTH_BLOCK], study)
    blocks = len({each.block for each in repetitions}) - FIRST_TRUTH_BLOCK
    for seed in range(SEEDS_OF_FIVE):
        rng = np.random.default_rng(seed)
        drawn = truth.groupby("case").sample(DESIGN_OF_FIVE, random_state=seed)
        wanted = {*zip(drawn.case, drawn.configuration_id, strict=True)}
        block = {pair: int(rng.integers(FIRST_TRUTH_BLOCK)) for pair in sorted(wanted)}
        measured = [
            each
            for each in repetitions
            if each.block == (0 if each.is_baseline else block.get((each.case, each.configuration_id)))
        ]
        yield _with_front(study.model_copy(update={"seed": seed}), summarise_trials(measured, study), truth, blocks)


def _of_grid(seed: int, given: list[Answer]) -> Situation:
    table, study = recorded_table(), _with_default_trees(table_study().model_copy(update={"seed": seed}))
    places, held_out = range(len(table.losses)), truth_blocks(seed)
    truth = table.repetitions([Answer(place, block) for place in places for block in held_out])
    trials = summarise_trials(table.repetitions(given), study)
    return _with_front(study, trials, summarise_trials(truth, study), len(held_out))


def _with_front(study: Tune, trials: pd.DataFrame, truth: pd.DataFrame, blocks: int) -> Situation:
    """Return the situation in which the trees' front among the configurations not yet measured is estimated."""
    known = pd.MultiIndex.from_frame(trials[["case", "configuration_id"]])
    new = truth[~pd.MultiIndex.from_frame(truth[["case", "configuration_id"]]).isin(known)]
    front = [
        part[non_dominated(losses_of(_trees(study, trials, part), "estimated_"))] for _, part in new.groupby("case")
    ]
    return Situation(study, trials, pd.concat(front, ignore_index=True), blocks)


def _trees(study: Tune, trials: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Return what the campaign's trees estimate."""
    encoding, (seen, _) = feature_encoding(study, trials), split_by_configuration(trials, study)
    return pd.DataFrame(
        {f"estimated_{each}": fit_surrogate(study, encoding, seen, each).predict(points) for each in _OF_REPETITIONS}
    )


def _fronts(cases: pd.Series, estimates: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Mark the rows that are on their case's front."""
    marked = np.zeros(len(cases), dtype=bool)
    for case in cases.unique():
        places = np.flatnonzero((cases == case).to_numpy())
        marked[places[non_dominated(losses_of(estimates.iloc[places]))]] = True
    return marked


def _moved(errors: Values) -> Calibration:
    low, high = np.quantile(errors, [0.05, 0.95])
    return Calibration(low=float(low), high=float(high))


def _summarised(study: Tune, rows: pd.DataFrame) -> pd.DataFrame:
    groups = rows.groupby(["case", "configuration_id"], sort=False)
    means = groups[list(_OF_REPETITIONS.values())].mean().rename(columns={v: k for k, v in _OF_REPETITIONS.items()})
    facts = groups[["is_baseline", *study.factors]].first().assign(repetitions_valid=groups.size())
    return facts.join(means).reset_index()


def _with_default_trees(study: Tune) -> Tune:
    return study.model_copy(update={"surrogate": Surrogate()})


def _row(logs: Values) -> str:
    measured, estimate, low, high = logs
    inside = (measured >= low) & (measured <= high)
    ratio, width = np.exp(np.median(measured - estimate)), np.exp(np.nanmedian(high - low))
    return f"{len(measured)} | {ratio:.2f} | {inside.mean():.0%} | x{width:.1f}"


if __name__ == "__main__":
    main()
