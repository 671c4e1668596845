"""Compute the repetitions that an earlier campaign saves a later one: `python -m benchmarks.warm_start`.

Uses the recorded grid of `benchmarks.strategies.table`. One of the three answering blocks is yesterday's campaign; the
two others answer today's. Today's campaign starts in three ways. A cold one starts with nothing. A warm one starts with
yesterday's results. A misled one starts with yesterday's values, but shuffled among all configurations of the table, as
if the cluster had changed in everything but its baseline. Writes the table of `benchmarks/tables.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.progress import track

from benchmarks.search import difference, write_section
from benchmarks.strategies.own import rounds
from benchmarks.strategies.table import (
    GRID,
    SPLITS,
    Answer,
    Table,
    answering_blocks,
    recorded_table,
    table_study,
)
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.records import Repetition
from tests.recorded import recorded_grid

Values = npt.NDArray[np.float64]

SEEDS = 20
BUDGETS = (10, 20, 30, 40, 60)
YESTERDAYS_REPETITIONS = 44
HALF_LIFE_DAYS = 30.0
KINDS = ("measured", "delivered")
STARTS = ("cold", "warm", "misled")
_IDENTITY = {"repetition_id", "configuration_id", "is_baseline", "configuration"}


def main() -> None:
    """Print the table, and write it."""
    table, volumes = recorded_table(), np.empty((len(STARTS), len(KINDS), SEEDS, len(BUDGETS)))
    for seed in track(range(SEEDS), "seeds", transient=True):
        for start, given in enumerate(todays_campaigns(seed)):
            for kind, volume in enumerate((table.volume_measured, table.volume_handed_over)):
                volumes[start, kind, seed] = [volume(given[:budget], seed) for budget in BUDGETS]
    text = "\n".join(["", *report(volumes)])
    print(text)
    write_section("warm_start", text)


def todays_campaigns(seed: int) -> list[list[Answer]]:
    """Return the answers to the cold, the warm and the misled campaign."""
    answering = answering_blocks(seed)
    yesterday = answering.pop(seed % len(answering))
    changed = Table(reshuffled(recorded_grid(GRID), np.random.default_rng(seed)))
    priors = [None, yesterdays_trials(recorded_table(), seed, yesterday), yesterdays_trials(changed, seed, yesterday)]
    # A seed with the same truth as yesterday's, but another Latin hypercube.
    todays_seed = SEEDS * len(SPLITS) + seed
    budget = BUDGETS[-1]
    return [
        recorded_table().answers(partial(rounds, prior=prior), table_study(), todays_seed, budget, answering)
        for prior in priors
    ]


def yesterdays_trials(table: Table, seed: int, block: int) -> pd.DataFrame:
    """Return the trials, a day old, of a campaign that this block answered (`PRIOR_TRIAL_COLUMNS` and factors)."""
    given = table.answers(rounds, table_study(), seed, YESTERDAYS_REPETITIONS, [block])
    trials = summarise_trials(table.repetitions(given), table_study())
    return trials.assign(prior_campaign="yesterday", age_days=1.0, weight=0.5 ** (1.0 / HALF_LIFE_DAYS))


def reshuffled(repetitions: Sequence[Repetition], rng: np.random.Generator) -> list[Repetition]:
    """Return each configuration with another's values, the same one's in all blocks; the baseline keeps its own."""
    known = {(each.configuration_id, each.block): each for each in repetitions if not each.is_baseline}
    names = sorted({name for name, _ in known})
    dealt_to = dict(zip(names, rng.permutation(names), strict=True))
    baseline = [each for each in repetitions if each.is_baseline]
    return baseline + [
        each.model_copy(update=known[dealt_to[name], block].model_dump(include=_IDENTITY))
        for (name, block), each in known.items()
    ]


def report(volumes: Values) -> list[str]:
    """Return the table as Markdown; the volumes' shape is (starts, kinds, seeds, budgets)."""
    lines = ["| repetitions | " + " | ".join(str(budget) for budget in BUDGETS) + " |"]
    lines.append("|" + "---|" * (len(BUDGETS) + 1))
    for kind, name in enumerate(KINDS):
        medians = np.median(volumes[:, kind], axis=1).T
        cells = [", ".join(f"{median:.3f}" for median in of_starts) for of_starts in medians]
        lines.append(_row(f"{name}: {', '.join(STARTS)} (medians)", cells))
        for start in (1, 2):
            paired = (volumes[start, kind] - volumes[0, kind]).T
            lines.append(_row(f"{name}: {STARTS[start]} minus cold", [difference(each) for each in paired]))
    return lines


def _row(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
