"""What an earlier campaign spares a later one: `python -m benchmarks.warm_start`.

On the recorded grid of `benchmarks.strategies.table`: one of the three answering blocks is yesterday's campaign, the
two others answer today's. Today's begins cold; warm, with what yesterday's found; and misled, with yesterday's values
dealt out anew among its configurations, as if the cluster had changed in all but its baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.progress import track

from benchmarks.search import difference, quartiles
from benchmarks.strategies.own import rounds
from benchmarks.strategies.table import (
    BLOCKS,
    GRID,
    RECORD_SIZE_BYTES,
    Answer,
    Asking,
    recorded_table,
    table_study,
    truth_blocks,
)
from kafka_pareto.factors import configuration_id
from kafka_pareto.goals import OBJECTIVES
from kafka_pareto.records import Repetition
from kafka_pareto.trials import summarise_trials
from tests.recorded import recorded_grid

Values = npt.NDArray[np.float64]

SEEDS = 20
BUDGETS = (10, 20, 30, 40, 60)
YESTERDAYS_REPETITIONS = 44
HALF_LIFE_DAYS = 30.0
KINDS = ("measured", "handed over")


def main() -> None:
    """Prints the volumes of the three, and their differences from the cold start's."""
    volumes: dict[str, dict[str, list[list[float]]]] = {}
    for seed in track(range(SEEDS), "seeds", transient=True):
        for name, given in todays_campaigns(seed).items():
            for kind, values in _volumes(given, seed).items():
                volumes.setdefault(name, {}).setdefault(kind, []).append(values)
    found = {name: {kind: np.array(rows) for kind, rows in kinds.items()} for name, kinds in volumes.items()}
    for kind in KINDS:
        print("\n".join(_report(found, kind)))


def todays_campaigns(seed: int) -> dict[str, list[Answer]]:
    """What the cold, the warm and the misled campaign were given."""
    answering = [block for block in range(BLOCKS) if block not in truth_blocks(seed)]
    yesterday = answering.pop(seed % len(answering))
    study = table_study()
    _, repetitions = _answered(rounds(study, RECORD_SIZE_BYTES, seed), [yesterday], seed, YESTERDAYS_REPETITIONS)
    prior = summarise_trials(repetitions, study)
    prior = prior.assign(prior_campaign="yesterday", age_days=1.0, weight=0.5 ** (1.0 / HALF_LIFE_DAYS))
    priors = {"cold": None, "warm": prior, "misled": _dealt_anew(prior, seed)}
    # Another seed than yesterday's: the Latin hypercube of today is another one.
    return {
        name: _answered(rounds(study, RECORD_SIZE_BYTES, SEEDS + seed, known), answering, seed, BUDGETS[-1])[0]
        for name, known in priors.items()
    }


def _dealt_anew(prior: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The values of the configurations in another order; the baseline keeps its own, so that no sentinel tells."""
    others = np.flatnonzero(~prior.is_baseline.to_numpy())
    dealt = prior.copy()
    values = list(OBJECTIVES)
    source = np.random.default_rng(seed).permutation(others)
    dealt.loc[prior.index[others], values] = prior.loc[prior.index[source], values].to_numpy()
    return dealt


def _answered(asking: Asking, blocks: Sequence[int], seed: int, budget: int) -> tuple[list[Answer], list[Repetition]]:
    """Lets a strategy spend a budget of repetitions of these blocks; a last batch that is too large is cut."""
    rng = np.random.default_rng([seed, budget])
    given: list[Answer] = []
    repetitions: list[Repetition] = []
    batch = next(asking)
    while True:
        asked = [Answer(_places()[configuration_id(each)], int(rng.choice(blocks))) for each in batch]
        answers = [_grid()[each.configuration, each.block] for each in asked]
        given += asked
        repetitions += answers
        if len(given) >= budget:
            asking.close()
            return given[:budget], repetitions[:budget]
        batch = asking.send(answers)


@cache
def _places() -> dict[str, int]:
    """The configurations' places in the table, by their ids."""
    ids = sorted({repetition.configuration_id for repetition in recorded_grid(GRID)})
    return {name: place for place, name in enumerate(ids)}


@cache
def _grid() -> dict[tuple[int, int], Repetition]:
    return {(_places()[each.configuration_id], each.block): each for each in recorded_grid(GRID)}


def _volumes(given: Sequence[Answer], seed: int) -> dict[str, list[float]]:
    table = recorded_table()
    volumes = dict(zip(KINDS, (table.volume_measured, table.volume_handed_over), strict=True))
    return {kind: [volume(given[:budget], seed) for budget in BUDGETS] for kind, volume in volumes.items()}


def _report(found: Mapping[str, Mapping[str, Values]], kind: str) -> list[str]:
    lines = ["", f"| {kind}, repetitions | " + " | ".join(str(budget) for budget in BUDGETS) + " |"]
    lines.append("|" + "---|" * (len(BUDGETS) + 1))
    for name, volumes in found.items():
        lines.append(f"| {name} | " + " | ".join(quartiles(column) for column in volumes[kind].T) + " |")
    for name in ("warm", "misled"):
        paired = (found[name][kind] - found["cold"][kind]).T
        lines.append(f"| {name} minus cold | " + " | ".join(difference(column) for column in paired) + " |")
    return lines


if __name__ == "__main__":
    main()
