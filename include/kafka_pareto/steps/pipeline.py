"""The order of a campaign's steps: one declaration for the DAGs and for a run without Airflow. Imports little."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kafka_pareto.study.identifiers import MOST_ROUNDS


@dataclass(frozen=True)
class Step:
    """A step and its module in this package; `loads` means that it loads the measured system."""

    name: str
    doc: str
    loads: bool = False
    module: str = ""  # if it is not the step's name


DESIGN = Step("design", "Freezes the study, draws the configurations to measure, and checks time and disk.")
PROPOSE = Step("propose", "Proposes the next configurations for each case whose search continues.")
MEASURE = Step("measure", "Measures every configuration on the cluster for one case.", loads=True)
VALIDATE = Step("validate", "Checks the measurements, rejects bad rows, and stops the campaign if too many are bad.")
TRAIN = Step("train", "Trains one surrogate model per objective on all trials so far, and logs it in MLflow.")
OPTIMIZE = Step("optimize", "Searches the surrogates for the non-dominated configurations of one case.")
CONFIRM = Step("confirm", "Measures points of the front and the baseline again, in blocks, and decides.", loads=True)
REPORT = Step(
    "report", "Writes the decision cards, the client settings, the figures and the page; logs them in MLflow."
)
ACCEPT = Step("accept", "Activates the recommendations that need no approval.")

LIST_LEVELS = Step("design", "Freezes the study, lists the levels of each part, and checks time and disk.")
MEASURE_PART = Step("measure", "Measures every level of one part, block by block.", loads=True)
COMPARE = Step("compare", "Compares the levels of each part with the reference, with intervals.")
REPORT_TABLES = Step(
    "report", "Writes the tables, the figures and the page; logs them in MLflow.", module="report_comparison"
)

Done = TypeVar("Done")


class Graph(Protocol[Done]):
    """The interface that adds or runs steps; `Done` is an added or completed step with the cases it named."""

    def once(self, step: Step, after: Done | None = None, round_number: int = 0) -> Done:
        """Add the step after another one; it is skipped in a round without cases."""
        ...

    def per_case(self, step: Step, cases_of: Done, after: Done, round_number: int = 0) -> Done:
        """Add the step once for each case that an earlier step named."""
        ...

    def round(self, number: int) -> AbstractContextManager[object]:
        """Group the steps of a round that follows the design."""
        ...


def tune(graph: Graph[Done]) -> Done:
    """Add the steps of a tuning campaign with the maximum number of rounds; return the last step."""
    designed = graph.once(DESIGN)
    learned = _learn(graph, designed, 0)
    for number in range(1, MOST_ROUNDS + 1):
        with graph.round(number):
            learned = _learn(graph, graph.once(PROPOSE, learned, number), number)
    confirmed = graph.per_case(CONFIRM, designed, learned)
    return graph.once(ACCEPT, graph.once(REPORT, confirmed))


def compare(graph: Graph[Done]) -> Done:
    """Add the steps of a comparison; return the last one."""
    designed = graph.once(LIST_LEVELS)
    measured = graph.per_case(MEASURE_PART, designed, designed)
    return graph.once(REPORT_TABLES, graph.once(COMPARE, graph.once(VALIDATE, measured)))


def _learn(graph: Graph[Done], planned: Done, number: int) -> Done:
    """Add the four steps that follow a design or a proposal."""
    measured = graph.per_case(MEASURE, planned, planned, number)
    trained = graph.once(TRAIN, graph.once(VALIDATE, measured, number), number)
    return graph.per_case(OPTIMIZE, trained, trained, number)
