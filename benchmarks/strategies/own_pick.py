"""Hand over what this project would: its rounds, then its sequential confirmation, by the library's own decisions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from benchmarks.strategies.noisy_grid import Grid, Pick, World, measured, places_by_id
from benchmarks.strategies.own import rounds
from benchmarks.strategies.table import CASE
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.candidates import configurations_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import choose
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.decision.decide import decide, further_blocks
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.declarations import is_maximised, objective_named
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.sections import Confirmation
from kafka_pareto.study.tune import Tune

_NO_FRONT = pd.DataFrame(columns=["on_joint_front", "feasible", "configuration_id"]).astype(
    {"on_joint_front": bool, "feasible": bool}
)


@dataclass(frozen=True)
class Plan:
    """Split a budget of repetitions: so many for the rounds, the rest for the confirmation."""

    search: int
    confirmation: Confirmation


# The confirmations of `quick` and of `cold_burst`, with as many gain blocks as the budget leaves.
_SEQUENTIAL = partial(Confirmation, stopping="sequential", minimum_blocks=3)
PLANS = {
    60: Plan(22, _SEQUENTIAL(points=3, choice_blocks=2, gain_blocks=11, final_blocks=4)),
    120: Plan(31, _SEQUENTIAL(points=8, choice_blocks=5, gain_blocks=12, final_blocks=10)),
}


def confirmed_pick(world: World, budget: int) -> Pick:
    """Search in rounds, measure the best again in blocks, and confirms the pick as the pipeline does.

    Candidates are what was measured: the pipeline's surrogates and their NSGA-III, which add points of an estimated
    front, are left out.
    """
    plan, grid = PLANS[budget], world.grid(budget)
    study = world.study.model_copy(update={"confirmation": plan.confirmation})
    found = _searched(world)[: plan.search]
    candidates = select_candidates(_NO_FRONT, summarise_trials(found, study), study, plan.confirmation.points)
    decision = _confirmed(grid, study, candidates)
    spent = len(found) + grid.repetitions_measured
    if decision is None or not decision.offered or decision.pick_configuration_id is None:
        return Pick(None, spent)
    promised = sum(
        (1 if is_maximised(gain.objective) else -1) * float(np.log1p(gain.change_fraction or 0.0))
        for gain in decision.gains
        if not objective_named(gain.objective).spread_of
    )
    return Pick(places_by_id()[decision.pick_configuration_id], spent, promised, asked=not decision.recommended)


@lru_cache(maxsize=1)
def _searched(world: World) -> list[Repetition]:
    """Return what the rounds of the largest plan measure; those of a smaller one are its first."""
    repetitions, grid = max(plan.search for plan in PLANS.values()), world.grid(0)
    asking = rounds(world.study, CASE, world.seed)
    batch, found = next(asking), list[Repetition]()
    for number in itertools.count():
        answers = measured(grid, batch, "design", number)
        found += answers
        if len(found) >= repetitions:
            break
        batch = asking.send(answers)
    asking.close()
    return found[:repetitions]


def _confirmed(grid: Grid, study: Tune, candidates: pd.DataFrame) -> Decision | None:
    """Measure and decides as the step `confirm` does; None where no candidate beats the baseline in choice blocks."""
    confirmation, baseline = study.confirmation, study.baseline_configuration()
    in_play = [baseline, *configurations_of(candidates, study)]
    choice_repetitions = [
        each for block in range(confirmation.choice_blocks) for each in measured(grid, in_play, "choice", block)
    ]
    choice = choose(study, candidates, choice_repetitions)
    if choice.configuration_id == study.baseline_id():
        return None
    finalists = [baseline, *(each for each in in_play if configuration_id(each) == choice.configuration_id)]

    def decided(gain: list[Repetition], final: list[Repetition]) -> Decision:
        return decide(
            study,
            CASE,
            choice,
            candidates,
            choice_repetitions=choice_repetitions,
            gain_repetitions=gain,
            final_repetitions=final,
        )

    gain: list[Repetition] = []
    for block in range(confirmation.gain_blocks):
        gain += measured(grid, finalists, "gain", block)
        if block + 1 >= confirmation.minimum_blocks and (decision := decided(gain, [])).is_answered:
            break
    blocks = range(confirmation.gain_blocks, confirmation.gain_blocks + further_blocks(decision, 0, confirmation))
    return decided(gain, [each for block in blocks for each in measured(grid, finalists, "final", block)])
