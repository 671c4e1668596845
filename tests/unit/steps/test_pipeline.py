"""The order of the steps, walked by a graph that only records its calls."""

from __future__ import annotations

import pytest

from kafka_pareto.steps.local import LocalGraph
from kafka_pareto.steps.pipeline import Step, compare, tune

pytestmark = pytest.mark.fast


class Written(LocalGraph):
    """Runs nothing: a proposal names the cases of its round, and a design both."""

    def __init__(self, rounds: list[list[str]]) -> None:
        self.steps: list[str] = []
        self._rounds = rounds

    def _run(self, step: Step, case: str | None, round_number: int) -> list[str]:
        self.steps.append(
            " ".join([step.name, *([case] if case else []), *([str(round_number)] if round_number else [])])
        )
        if step.name != "propose":
            return ["a", "b"] if step.name != "train" or not round_number else self._rounds[round_number - 1]
        return self._rounds[round_number - 1] if round_number <= len(self._rounds) else []


def test_a_round_measures_the_cases_that_its_proposal_names_and_an_empty_one_ends_the_search() -> None:
    graph = Written([["b"]])
    tune(graph)
    assert graph.steps == [
        *("design", "measure a", "measure b", "validate", "train", "optimize a", "optimize b"),
        *("propose 1", "measure b 1", "validate 1", "train 1", "optimize b 1"),
        *("propose 2", "confirm a", "confirm b", "report", "accept"),
    ]


def test_a_comparison_measures_its_parts_one_after_another() -> None:
    graph = Written([])
    compare(graph)
    assert graph.steps == ["design", "measure a", "measure b", "validate", "compare", "report"]
