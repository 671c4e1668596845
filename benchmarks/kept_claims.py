"""Apply today's rule to the fresh blocks of the kept tuning campaigns; the figures of docs/results/.

`python -m benchmarks.kept_claims` prints a table for each of them, or for the named ones, and the spread of the
log-ratios of their blocks. Their cards are kept as printed, under the rule of their time.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd

from benchmarks.on_cluster import DATA, Values
from kafka_pareto.analysis.gains import Gain, gain_of
from kafka_pareto.analysis.repetition_values import is_mean, smallest_value, spread_of
from kafka_pareto.analysis.wording import interval_text, percent, value_text
from kafka_pareto.decision.harm import harm_margin
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import label_of, objective_named
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study

CAMPAIGNS = ("quick", "cold_burst_advice", "cold_burst", "steady", "paper")
_PICK = re.compile(r"repetitions\s+gain-r\d\d-(\S+)-b\d+-(\w+)\s")


def fresh_blocks(campaign: str) -> tuple[Tune, dict[str, pd.DataFrame], dict[str, str]]:
    """Return the campaign's study, by case its valid repetitions of gain and final blocks, and the id of its pick."""
    folder = DATA / "campaigns" / campaign
    study = tune_study(load_study(folder / "study.yaml"))
    rows = pd.read_csv(folder / "repetitions.csv").rename(columns={"record_size_bytes": "case"})
    rows = rows[rows.phase.isin(["gain", "final"])]
    if "outcome" in rows:
        rows = rows[rows.outcome == "valid"]
    picks = dict(_PICK.findall((folder / "cards.txt").read_text()))
    by_case = {case: rows[rows.case.astype(str) == case] for case in study.cases if case in picks}
    return study, by_case, picks


def _sides(study: Tune, rows: pd.DataFrame, other: str, pick: str, objective: str) -> tuple[Values, Values]:
    by_mean = is_mean(objective, study.protocol.variability)
    column = objective_named(objective if by_mean else spread_of(objective)).quantity.name
    sides = [rows[rows.configuration_id == name].set_index("block")[column] for name in (other, pick)]
    both = pd.concat(sides, axis=1, join="inner").sort_index().dropna().to_numpy(dtype=float)
    least = smallest_value(objective, study.protocol) if by_mean else -np.inf
    reference, candidate = np.maximum(both, least).T
    return reference, candidate


def outcome_of(gains: list[Gain], margin_fraction: float) -> str:
    """Return what follows from the means alone: no failures, limits or lost records."""
    means = [gain for gain in gains if not objective_named(gain.objective).spread_of]
    doubtful = [gain for gain in means if gain.may_be_worse_by(margin_fraction)]
    if any(gain.resolution == "worse" for gain in doubtful):
        return "keep: harm"
    if all(gain.resolution != "better" for gain in means):
        return "keep: no gain shown"
    return "a person decides" if doubtful else "change recommended"


def table_of(campaign: str) -> list[str]:
    """Return a row for each case, as Markdown: in bold what is better or worse, with the joint 95 % interval.

    Below it, the pick's means are compared with the advice in the same blocks.
    """
    study, by_case, picks = fresh_blocks(campaign)
    names = study.objective_names
    lines = [f"| | {' | '.join(map(label_of, names))} | |", "|---" * (len(names) + 2) + "|"]
    beside = []
    for case, rows in by_case.items():
        gains = [gain_of(name, *_sides(study, rows, study.baseline_id(), picks[case], name), study) for name in names]
        outcome = outcome_of(gains, harm_margin(study.confirmation))
        lines.append(f"| {case_label(case)} | {' | '.join(map(_cell, gains))} | {outcome} |")
        for advice in set(rows.configuration_id) - {study.baseline_id(), picks[case]}:
            against = [gain_of(mean, *_sides(study, rows, advice, picks[case], mean), study) for mean in study.means]
            changes = (
                f"{label_of(each.objective)} {percent(each.change_fraction)} ({interval_text(each)})"
                for each in against
            )
            beside.append(f"{case_label(case)} against the advice {advice}: {'; '.join(changes)}")
    return [*lines, *(["", *beside] if beside else [])]


def spread_lines(campaign: str) -> list[str]:
    """Return for each mean how the log-ratios of pick and baseline vary from block to block, over all cases.

    The correlation of neighbours is less what it is expected to be between independent blocks of so few.
    """
    study, by_case, picks = fresh_blocks(campaign)
    lines = []
    for mean in study.means:
        series = []
        for case, rows in by_case.items():
            reference, candidate = _sides(study, rows, study.baseline_id(), picks[case], mean)
            series.append(np.log(candidate / reference))
        off = [each - each.mean() for each in series]
        sds = [float(np.std(each, ddof=1)) for each in series]
        scaled = np.concatenate([each / sd for each, sd in zip(off, sds, strict=True)])
        products = sum(float((each[1:] * each[:-1]).sum()) / sd**2 for each, sd in zip(off, sds, strict=True))
        expected = -sum((len(each) - 1) / len(each) for each in off)
        lag = (products - expected) / sum(len(each) - 1 for each in off)
        skewness = float((scaled**3).mean() / (scaled**2).mean() ** 1.5)
        lines.append(
            f"{label_of(mean)}: SD of a block {min(sds):.2f} to {max(sds):.2f}, skewness {skewness:+.2f}, correlation "
            f"of neighbours {lag:+.2f} ({len(scaled)} blocks)"
        )
    return lines


def _cell(gain: Gain) -> str:
    change = f"{percent(gain.change_fraction)} ({interval_text(gain).removesuffix(' %')})"
    if gain.resolution == "no difference shown":
        return f"no difference: {change}"
    if gain.resolution == "not resolved":
        return f"inconclusive: {change}"
    values = (value_text(value, gain.objective) for value in (gain.reference_value, gain.candidate_value))
    return f"**{change.replace(' (', '** (', 1)}, {' → '.join(values)}"


def main() -> None:
    """Print the tables."""
    for campaign in sys.argv[1:] or CAMPAIGNS:
        print(f"\n{campaign}\n")
        print("\n".join([*table_of(campaign), "", *spread_lines(campaign)]))


if __name__ == "__main__":
    main()
