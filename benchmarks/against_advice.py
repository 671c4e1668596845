"""Compare a kept campaign's picks with the best advice: `python -m benchmarks.against_advice [FOLDER]`.

Both were measured in the same gain and final blocks. The changes are of logarithms within blocks, with Student's 95 %
intervals, one comparison at a time; over all record sizes each counts the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy import stats

from benchmarks.kept_campaign import OF_REPETITIONS, KeptCampaign, read_kept
from benchmarks.on_cluster import DATA, Values, clear_errors
from kafka_pareto.errors import BadInputError


def main(
    folder: Annotated[Path, typer.Argument(help="a kept campaign")] = DATA / "campaigns" / "cold_burst_advice",
) -> None:
    """Print a row for each record size, and one for all together."""
    with clear_errors():
        kept = read_kept(folder)
        print("| record size | " + " | ".join(OF_REPETITIONS) + " |")
        print("|---" * (1 + len(OF_REPETITIONS)) + "|")
        found: dict[str, list[Values]] = {mean: [] for mean in OF_REPETITIONS}
        for case in kept.study.cases:
            pair = pick_and_advice(kept, case)
            if pair is None:
                print(f"| {case} | the pick is what is advised" + " |" * len(OF_REPETITIONS))
                continue
            for mean, logs in found.items():
                logs.append(log_ratios(kept, case, pair, mean))
            print(f"| {case} | " + " | ".join(_change(logs[-1]) for logs in found.values()) + " |")
        print("| together | " + " | ".join(map(_together, found.values())) + " |")


def pick_and_advice(kept: KeptCampaign, case: str) -> tuple[str, str] | None:
    """Return the IDs of the pick and of the advice measured with it; None if the pick is advice.

    Raises:
        BadInputError: If the campaign has measured no advice there.
    """
    own = kept.repetitions
    beside = own[(own.case == case) & (own.phase == "gain") & ~own.is_baseline.astype(bool)]
    measured = set(beside.configuration_id)
    roles = kept.estimates[kept.estimates["case"] == case].set_index("configuration_id").chosen_as
    advised = [each for each in measured if "advised" in str(roles.get(each, "")).split()]
    if not advised:
        raise BadInputError(f"{case}: no advice was measured with the pick")
    picks = measured - set(advised)
    return (picks.pop(), advised[0]) if picks else None


def log_ratios(kept: KeptCampaign, case: str, pair: tuple[str, str], mean: str) -> Values:
    """Return the logarithms of pick over advice, one for each gain or final block that has both."""
    own = kept.repetitions
    rows = own[(own.case == case) & own.phase.isin(["gain", "final"]) & own.configuration_id.isin(pair)]
    values = rows.pivot(index=["phase", "block"], columns="configuration_id", values=OF_REPETITIONS[mean]).dropna()
    ratios: Values = np.log((values[pair[0]] / values[pair[1]]).to_numpy(dtype=float))
    return ratios


def _change(logs: Values) -> str:
    low, high = stats.t.interval(0.95, len(logs) - 1, logs.mean(), stats.sem(logs))
    return _text(float(logs.mean()), float(low), float(high), f", {len(logs)} blocks")


def _together(of_cases: list[Values]) -> str:
    centre = float(np.mean([logs.mean() for logs in of_cases]))
    error = float(np.sqrt(np.sum(np.square([stats.sem(logs) for logs in of_cases])))) / len(of_cases)
    return _text(centre, centre - 1.96 * error, centre + 1.96 * error, "")


def _text(centre: float, low: float, high: float, more: str) -> str:
    change, least, most = np.expm1([centre, low, high]).tolist()
    return f"{change:+.1%} ({least:+.1%} to {most:+.1%}){more}"


if __name__ == "__main__":
    typer.run(main)
