"""Run strategies without a model, which every other one must beat."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.strategies.table import Asking
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.errors import StudyError
from kafka_pareto.search.acquisition import WHOLE_SPACE_UP_TO, whole_space
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.tune import Tune

DESIGN = 60
_TRIES = 1000


def random_search(study: Tune, case: str, seed: int) -> Asking:
    """Ask for configurations at random, none twice while others are left."""
    rng = np.random.default_rng([seed, case_seed(case)])
    seen: set[str] = set()
    while True:
        configuration = _unseen(study, case, seen, rng)
        seen.add(configuration_id(configuration))
        yield [configuration]


def latin_hypercube_alone(study: Tune, case: str, seed: int) -> Asking:
    """Ask for one Latin hypercube of 60 configurations after the other, one repetition of each configuration."""
    rng = np.random.default_rng([seed, case_seed(case)])
    while True:
        yield latin_hypercube(study, at_most(DESIGN, study, case), case, rng)


def at_most(wanted: int, study: Tune, case: str) -> int:
    """Return the wanted number, or the number of configurations without the baseline, whichever is smaller."""
    allowed = [each for each in whole_space(study) or [] if study.may_be_recommended(each, case)]
    return min(wanted, sum(configuration_id(each) != study.baseline_id() for each in allowed) or wanted)


def all_candidates(study: Tune, case: str) -> list[Configuration]:
    """Return every configuration that may be recommended, for strategies that look at each of them.

    Raises:
        StudyError: If a factor is a range, or there are too many combinations of levels.
    """
    space = whole_space(study)
    if space is None:
        ranges = [name for name, factor in study.factors.items() if factor.levels is None]
        count = math.prod(len(factor.levels or []) for factor in study.factors.values())
        found = f"{', '.join(ranges)}: a range" if ranges else f"{count:,} combinations of levels"
        rule = f"this strategy looks at every combination, at most {WHOLE_SPACE_UP_TO:,}; give each factor a few levels"
        raise StudyError(study.name, [f"factors: {found}: {rule}"])
    return [each for each in space if study.may_be_recommended(each, case)]


def _unseen(study: Tune, case: str, seen: set[str], rng: np.random.Generator) -> Configuration:
    """Return a candidate that was not seen; after a thousand tries any candidate."""
    sound: Configuration | None = None
    for _ in range(_TRIES):
        drawn = {name: factor.at(rng.random()) for name, factor in study.factors.items()}
        if study.may_be_recommended(drawn, case):
            sound = drawn
            if configuration_id(drawn) not in seen:
                return drawn
    if sound is None:
        raise ValueError(f"no candidate in {_TRIES} draws at {case} B")
    return sound
