"""Answer strategies from a table: a grid that was measured on a real broker.

`benchmarks/data/grid_8192.csv` holds every combination of four factors at 8,192 B, each measured in five blocks on a
Kafka 4.3.1 broker. Each seed splits the blocks: repetitions of three blocks answer, drawn with replacement. The means
of the two others are the truth, which no strategy sees. No model is involved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_pareto.analysis.hypervolume import volume
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.factors import Configuration, NumericFactor, configuration_id
from kafka_pareto.study.sections import Rounds
from kafka_pareto.study.tune import Tune
from tests.recorded import paper_study, recorded_grid

Values: TypeAlias = npt.NDArray[np.float64]
Asking: TypeAlias = Generator[list[Configuration], list[Repetition], None]
Strategy: TypeAlias = Callable[[Tune, str, int], Asking]
"""Given a study, a record size and a seed, asks for batches of single repetitions, and is sent them in that order."""

GRID = Path(__file__).parent.parent / "data" / "grid_8192.csv"
CASE = "8192"
BLOCKS = 5
TRUTH_BLOCKS = 2
SPLITS = list(itertools.combinations(range(BLOCKS), TRUTH_BLOCKS))


@dataclass(frozen=True)
class Answer:
    """One repetition that a strategy was given: a configuration of the table, and the block that answered."""

    configuration: int
    block: int


class Table:
    """The recorded grid; a configuration is named by its index."""

    def __init__(self, repetitions: Sequence[Repetition]) -> None:
        ids = sorted({repetition.configuration_id for repetition in repetitions})
        self._places = {name: place for place, name in enumerate(ids)}
        self._repetitions = {(self._places[r.configuration_id], r.block): r for r in repetitions}
        self.baseline = next(self._places[r.configuration_id] for r in repetitions if r.is_baseline)
        self.losses = np.empty((len(ids), BLOCKS, 2))
        for (place, block), repetition in self._repetitions.items():
            latency_ms = max(repetition.number("latency_p95_ms") or 0.0, 0.5)  # the tool prints whole milliseconds
            self.losses[place, block] = np.log(latency_ms), -np.log(repetition.number("throughput_mib_s") or np.nan)

    def answers(
        self, strategy: Strategy, study: Tune, seed: int, budget: int, answering: Sequence[int] | None = None
    ) -> list[Answer]:
        """Let a strategy spend a budget of repetitions and return its answers; a last batch that is too large is cut.

        Without `answering`, all blocks answer except the truth's.
        """
        rng = np.random.default_rng([seed, budget])
        answering = answering_blocks(seed) if answering is None else answering
        given: list[Answer] = []
        asking = strategy(study, CASE, seed)
        batch = next(asking)
        while True:
            if not batch:
                raise ValueError(f"the strategy asked for nothing after {len(given)} repetitions")
            answers = [
                Answer(self._places[configuration_id(each)], int(rng.choice(answering)))
                for each in batch[: budget - len(given)]
            ]
            given += answers
            if len(given) == budget:
                asking.close()
                return given
            batch = asking.send(self.repetitions(answers))

    def repetitions(self, given: Sequence[Answer]) -> list[Repetition]:
        """Return these answers as repetitions."""
        return [self._repetitions[each.configuration, each.block] for each in given]

    def truth(self, seed: int) -> Values:
        """Return log-losses relative to the baseline from the blocks that never answer, shape (configurations, 2)."""
        means = self.losses[:, truth_blocks(seed)].mean(axis=1)
        relative: Values = means - means[self.baseline]
        return relative

    def volume_measured(self, given: Sequence[Answer], seed: int) -> float:
        """Return the hypervolume of the truly non-dominated among all that was measured, as a share of the table's."""
        truth = self.truth(seed)
        return volume(truth[sorted({each.configuration for each in given})]) / volume(truth)

    def volume_handed_over(self, given: Sequence[Answer], seed: int) -> float:
        """Return the same share for what a user would get: the non-dominated by the means of its own answers."""
        truth = self.truth(seed)
        places = np.array(sorted({each.configuration for each in given}))
        means = np.array([self._mean(given, place) for place in places])
        return volume(truth[places[non_dominated(means)]]) / volume(truth)

    def _mean(self, given: Sequence[Answer], place: int) -> Values:
        mean: Values = np.mean(
            [self.losses[place, each.block] for each in given if each.configuration == place], axis=0
        )
        return mean


def truth_blocks(seed: int) -> list[int]:
    """Return the blocks that are the truth for this seed; ten seeds cover every split once."""
    return list(SPLITS[seed % len(SPLITS)])


def answering_blocks(seed: int) -> list[int]:
    """Return the blocks that may answer for this seed."""
    return [block for block in range(BLOCKS) if block not in truth_blocks(seed)]


@cache
def recorded_table() -> Table:
    """Return the recorded grid of 360 configurations."""
    return Table(recorded_grid(GRID))


def table_study() -> Tune:
    """Return the paper's study over the grid's levels, each configuration measured once, in rounds."""
    study = paper_study()
    levels: list[int | float] = [8192, 16384, 32768, 65536, 131072, 262144]
    factors = {**study.factors, "batch.size": NumericFactor(type="integer", levels=levels)}
    protocol = study.protocol.model_copy(update={"repetitions": 1, "order": "blocks"})
    changes = {
        "record_sizes_bytes": [int(CASE)],
        "factors": factors,
        "durability": Durability.acks_0,
        "design": study.design.model_copy(update={"configurations": 12, "feasible": True}),
        "strategy": "rounds",
        "rounds": Rounds(configurations=8),
        "protocol": protocol,
    }
    return study.model_copy(update=changes)
