"""Compute the strategies' results on the real cluster, from the CSV of `benchmarks.search_on_cluster`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.on_cluster import change_cell, invalid_outcomes
from benchmarks.search import LABELS as OF_STRATEGIES
from benchmarks.search import ONE_SHOT, OWN
from kafka_pareto.analysis.hypervolume import volume
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.tune import Tune

FRESH = "fresh"
LABELS = {**OF_STRATEGIES, ONE_SHOT: "one shot at this budget"}
_RESAMPLES = 2000
_RESUMES = "`measure` with the same seed, budget and campaign resumes the run"

Values = npt.NDArray[np.float64]
Blocks = npt.NDArray[np.int64]


def delivered_by(table: pd.DataFrame, study: Tune) -> dict[str, list[str]]:
    """Return, for each strategy, the ids that are non-dominated by the means of its own answers.

    Configurations that lost or duplicated a record, or never had a valid repetition, are not delivered.
    """
    own = _own_losses(table, study)
    return {name: [str(each) for each in means.index[non_dominated(means.to_numpy())]] for name, means in own.items()}


def best_by(table: pd.DataFrame, study: Tune) -> dict[str, str]:
    """Return, for each strategy, the id with the least sum of both log-losses by its own answers, if any is valid.

    Up to a constant, this is the sum of the losses relative to the baseline. The best is among the delivered ones.
    """
    own = _own_losses(table, study)
    return {name: str(means.sum(axis=1).idxmin()) for name, means in own.items() if len(means)}


class FreshTruth:
    """Compute log-losses relative to the baseline's, from means over the fresh blocks or over a resample of them.

    A block without a valid baseline is excluded, since nothing can be compared in it.

    Raises:
        BadInputError: If the baseline is valid in no block.
    """

    def __init__(self, fresh: pd.DataFrame, study: Tune) -> None:
        places = fresh[["configuration_id", "block"]]
        known = pd.concat([places, _losses(fresh, study)], axis=1).pivot(index="configuration_id", columns="block")
        self.ids = [str(each) for each in known.index]
        losses = np.stack([known["loss_latency"].to_numpy(), known["loss_throughput"].to_numpy()], axis=-1)
        self._baseline = self.ids.index(str(fresh[fresh.is_baseline].configuration_id.iloc[0]))
        self._losses = losses[:, np.isfinite(losses[self._baseline]).all(axis=1)]
        self.blocks = self._losses.shape[1]
        if not self.blocks:
            raise BadInputError("the baseline is valid in no fresh block; measure more, with a larger --blocks")
        lost = np.isin(self.ids, _lost(fresh))
        lost[self._baseline] = False  # the baseline, which all are compared with
        self._losses[lost] = np.nan

    def relative(self, blocks: Blocks) -> Values:
        """Return shape (configurations, 2); NaN, which has no volume, if nothing valid was measured."""
        drawn = self._losses[:, blocks]
        known = np.isfinite(drawn)
        with np.errstate(invalid="ignore"):
            means = np.where(known, drawn, 0.0).sum(axis=1) / known.sum(axis=1)
        relative: Values = means - means[self._baseline]
        return relative

    def shares(self, handed_over: dict[str, list[str]], blocks: Blocks) -> Values:
        """Return each strategy's share of the union's hypervolume; NaN if the union has none."""
        relative = self.relative(blocks)
        volumes = [volume(relative[np.isin(self.ids, own)]) if own else np.nan for own in handed_over.values()]
        return np.array(volumes) / volume(relative)


def report(table: pd.DataFrame, study: Tune) -> list[str]:
    """Return the table and its conclusions as Markdown.

    Raises:
        BadInputError: If something is missing in the fresh blocks.
    """
    fresh, handed_over = table[table.asked_by == FRESH], delivered_by(table, study)
    _require_complete(fresh, handed_over)
    truth, best = FreshTruth(fresh, study), best_by(table, study)
    rng = np.random.default_rng(0)
    shares = truth.shares(handed_over, np.arange(truth.blocks))
    resamples = rng.integers(truth.blocks, size=(_RESAMPLES, truth.blocks))
    drawn = np.array([truth.shares(handed_over, blocks) for blocks in resamples])
    own = list(handed_over).index(OWN)
    lines = [
        "| strategy | repetitions | delivered | share of the union's hypervolume | rounds minus it "
        "| its best: p95 latency | its best: throughput |",
        "|---|---|---|---|---|---|---|",
    ]
    for at, (name, ids) in enumerate(handed_over.items()):
        difference = "" if at == own else _interval(shares[own] - shares[at], drawn[:, own] - drawn[:, at], "+")
        changes = (
            [_change(fresh, best[name], column) for column in ("latency_p95_ms", "throughput_mib_s")] if ids else []
        )
        lines.append(
            f"| {LABELS[name]} | {(table.asked_by == name).sum()} | {len(ids)} | {_interval(shares[at], drawn[:, at])} "
            f"| {difference} | {' | '.join(changes or ['-', '-'])} |"
        )
    return [*lines, "", *_notes(table, fresh, truth)]


def _require_complete(fresh: pd.DataFrame, handed_over: dict[str, list[str]]) -> None:
    """Refuse fresh blocks that lack the baseline or a configuration that a strategy delivers."""
    if fresh.empty:
        raise BadInputError(f"the fresh blocks are not measured yet; {_RESUMES}")
    wanted = {"the baseline": fresh.is_baseline}
    wanted |= {each: fresh.configuration_id == each for own in handed_over.values() for each in own}
    missing = [
        f"{name} in block {block}"
        for block in range(fresh.block.max() + 1)
        for name, rows in wanted.items()
        if not (rows & (fresh.block == block)).any()
    ]
    if missing:
        raise BadInputError(f"the fresh blocks are not complete, without {', '.join(missing)}; {_RESUMES}")


def _notes(table: pd.DataFrame, fresh: pd.DataFrame, truth: FreshTruth) -> list[str]:
    baseline = fresh[fresh.is_baseline & (fresh.outcome == "valid")]
    return [
        f"Fresh: {len(truth.ids)} configurations, the baseline among them, in {fresh.block.nunique()} interleaved "
        f"blocks, of which {truth.blocks} have a valid baseline and count; its means there: p95 "
        f"{baseline.latency_p95_ms.mean():.0f} ms, {baseline.throughput_mib_s.mean():.1f} MiB/s.",
        "Hypervolume of p95 latency and throughput as logarithms relative to the baseline's, up to twice its latency "
        "and half of its throughput; means of logarithms over the fresh blocks. In brackets 95 % by the percentile "
        f"bootstrap over the blocks ({truth.blocks} of them, so rather too narrow); one run, one seed: it says nothing "
        "of how another run would end. The share favors strategies that deliver more configurations: each has another "
        "chance to be on the front.",
        "Its best: the one configuration with the largest sum of log-gains by the strategy's own answers, as changes "
        "against the baseline in the fresh blocks, with 95 % intervals from differences within blocks.",
        "The one shot spends half of its budget on the baseline and a Latin hypercube and half on points of its front, "
        "each measured once: the 910 repetitions of the paper's own are beyond this budget.",
        f"{len(table)} repetitions in all; not valid: {invalid_outcomes(table)}.",
    ]


def _interval(value: float, drawn: Values, sign: str = "") -> str:
    if np.isnan(value):
        return "-"
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def _change(fresh: pd.DataFrame, configuration_id: str, column: str) -> str:
    """Return the configuration's change against the baseline; for the baseline itself, no change."""
    valid = fresh[fresh.outcome == "valid"]
    own, baseline = valid[valid.configuration_id == configuration_id], valid[valid.is_baseline]
    if own.is_baseline.any():
        return "the baseline"
    both = pd.concat([each.set_index("block")[column] for each in (baseline, own)], axis="columns", join="inner")
    return change_cell(*both.to_numpy(dtype=np.float64).T)


def _own_losses(table: pd.DataFrame, study: Tune) -> dict[str, pd.DataFrame]:
    """Return, for each strategy, the mean log-losses of its valid answers by configuration id."""
    found = {}
    for name in LABELS:
        answers = table[table.asked_by == name]
        sound = answers[(answers.outcome == "valid") & ~answers.configuration_id.isin(_lost(answers))]
        if len(answers):
            found[name] = _losses(sound, study).groupby(sound.configuration_id).mean()
    return found


def _losses(repetitions: pd.DataFrame, study: Tune) -> pd.DataFrame:
    """Return logarithms of p95 latency, and of throughput with its sign turned; NaN if a repetition is not valid."""
    valid = repetitions[["latency_p95_ms", "throughput_mib_s"]].where(repetitions.outcome == "valid").astype(float)
    losses = {
        "loss_latency": np.log(valid.latency_p95_ms.clip(lower=smallest_value("p95_latency_ms", study.protocol))),
        "loss_throughput": -np.log(valid.throughput_mib_s),
    }
    return pd.DataFrame(losses, index=repetitions.index)


def _lost(repetitions: pd.DataFrame) -> list[str]:
    return list(repetitions[repetitions.outcome.isin(["records_lost", "records_duplicated"])].configuration_id)
