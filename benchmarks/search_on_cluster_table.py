"""What the strategies found on the real cluster, from the CSV of `benchmarks.search_on_cluster`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.search import LABELS as OF_STRATEGIES
from benchmarks.search import ONE_SHOT, OWN
from kafka_pareto.errors import BadInputError
from kafka_pareto.hypervolume import volume
from kafka_pareto.selection import non_dominated

FRESH = "fresh"
LABELS = {**OF_STRATEGIES, ONE_SHOT: "one shot at this budget"}
_RESAMPLES = 2000
_SMALLEST_LATENCY_MS = 0.5  # Kafka's tool prints whole milliseconds

Values = npt.NDArray[np.float64]


def handed_over_by(table: pd.DataFrame) -> dict[str, list[str]]:
    """For each strategy the ids that are non-dominated by the means of its own answers.

    What lost or duplicated a record is not handed over, nor what never gave a valid repetition.
    """
    answers = table[table.asked_by.isin(LABELS)]
    return {name: _handed_over(answers[answers.asked_by == name]) for name in LABELS if name in set(answers.asked_by)}


class FreshTruth:
    """Log-losses relative to the baseline's, by the means over the fresh blocks or over a resample of them."""

    def __init__(self, fresh: pd.DataFrame) -> None:
        places = fresh[["configuration_id", "block"]]
        known = pd.concat([places, _losses(fresh)], axis=1).pivot(index="configuration_id", columns="block")
        self.ids = list(known.index)
        self.blocks = known["loss_latency"].shape[1]
        self._losses = np.stack([known["loss_latency"].to_numpy(), known["loss_throughput"].to_numpy()], axis=-1)
        self._losses[np.isin(self.ids, _lost(fresh))] = np.nan
        baseline = fresh[fresh.is_baseline].configuration_id.iloc[0]
        self._baseline = self.ids.index(baseline)

    def relative(self, blocks: npt.NDArray[np.int64]) -> Values:
        """Shape (configurations, 2); NaN, which has no volume, where nothing valid was measured."""
        drawn = self._losses[:, blocks]
        known = np.isfinite(drawn)
        with np.errstate(invalid="ignore"):
            means = np.where(known, drawn, 0.0).sum(axis=1) / known.sum(axis=1)
        relative: Values = means - means[self._baseline]
        return relative

    def shares(self, handed_over: dict[str, list[str]], blocks: npt.NDArray[np.int64]) -> Values:
        """Of the whole union's hypervolume, the share that each strategy would hand over."""
        relative = self.relative(blocks)
        return np.array([volume(relative[np.isin(self.ids, own)]) for own in handed_over.values()]) / volume(relative)


def report(table: pd.DataFrame) -> list[str]:
    """The table and what it says, as Markdown.

    Raises:
        BadInputError: If the fresh blocks are not measured yet.
    """
    fresh = table[table.asked_by == FRESH]
    if fresh.empty:
        raise BadInputError("the fresh blocks are not measured yet; `measure` goes on with the run")
    truth, handed_over = FreshTruth(fresh), handed_over_by(table)
    rng = np.random.default_rng(0)
    every = np.arange(truth.blocks)
    shares, relative = truth.shares(handed_over, every), truth.relative(every)
    drawn = np.array([
        truth.shares(handed_over, rng.integers(truth.blocks, size=truth.blocks)) for _ in range(_RESAMPLES)
    ])  # fmt: skip
    own = list(handed_over).index(OWN)
    lines = [
        "| strategy | repetitions | handed over | share of the union's hypervolume | rounds minus it "
        "| best p95 latency | best throughput |",
        "|---|---|---|---|---|---|---|",
    ]
    for at, (name, ids) in enumerate(handed_over.items()):
        best = np.nanmin(relative[np.isin(truth.ids, ids)], axis=0)
        difference = "" if at == own else _interval(shares[own] - shares[at], drawn[:, own] - drawn[:, at], "+")
        lines.append(
            f"| {LABELS[name]} | {(table.asked_by == name).sum()} | {len(ids)} | {_interval(shares[at], drawn[:, at])} "
            f"| {difference} | {np.expm1(best[0]):+.0%} | {np.expm1(-best[1]):+.0%} |"
        )
    return [*lines, "", *_notes(table, fresh, truth)]


def _notes(table: pd.DataFrame, fresh: pd.DataFrame, truth: FreshTruth) -> list[str]:
    baseline = fresh[fresh.is_baseline & (fresh.outcome == "valid")]
    wrong = table[table.outcome != "valid"].outcome.value_counts()
    return [
        f"Fresh: {len(truth.ids)} configurations, the baseline among them, in {truth.blocks} interleaved blocks; the "
        f"baseline's means there: p95 {baseline.latency_p95_ms.mean():.0f} ms, "
        f"{baseline.throughput_mib_s.mean():.1f} MiB/s.",
        "Hypervolume of p95 latency and throughput as logarithms relative to the baseline's, up to twice its latency "
        "and half of its throughput; means of logarithms over the fresh blocks. In brackets 95 % by the percentile "
        f"bootstrap over the blocks ({truth.blocks} of them, so rather too narrow); one run, one seed: it says nothing "
        "of how another run would end.",
        "The one shot spends half of its budget on the baseline and a Latin hypercube and half on points of its front, "
        "each measured once: the 910 repetitions of the paper's own are beyond this budget.",
        f"{len(table)} repetitions in all; not valid: "
        + (", ".join(f"{count} {outcome}" for outcome, count in wrong.items()) or "none")
        + ".",
    ]


def _interval(value: float, drawn: Values, sign: str = "") -> str:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def _handed_over(answers: pd.DataFrame) -> list[str]:
    sound = answers[(answers.outcome == "valid") & ~answers.configuration_id.isin(_lost(answers))]
    means = _losses(sound).groupby(sound.configuration_id).mean()
    return [str(name) for name in means.index[non_dominated(means.to_numpy())]]


def _losses(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of p95 latency, and of throughput with its sign turned; NaN where the repetition is not valid."""
    valid = repetitions[["latency_p95_ms", "throughput_mib_s"]].where(repetitions.outcome == "valid").astype(float)
    losses = {
        "loss_latency": np.log(valid.latency_p95_ms.clip(lower=_SMALLEST_LATENCY_MS)),
        "loss_throughput": -np.log(valid.throughput_mib_s),
    }
    return pd.DataFrame(losses, index=repetitions.index)


def _lost(repetitions: pd.DataFrame) -> list[str]:
    return list(repetitions[repetitions.outcome.isin(["records_lost", "records_duplicated"])].configuration_id)
