"""Add a campaign's steps to a DAG, in the order that the library declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow.sdk import BaseOperator, TaskGroup
from airflow.sdk.definitions.mappedoperator import MappedOperator

from kafka_pareto.steps.pipeline import Step
from kafka_pareto.study.identifiers import round_group
from kafka_pareto_airflow.forms import CAMPAIGN_ARGUMENTS, round_arguments
from kafka_pareto_airflow.steps.step_operator import step_for_each, step_task

AnyTask: TypeAlias = BaseOperator | MappedOperator


@dataclass(frozen=True)
class DagGraph:
    """The tasks of the DAG that is being defined.

    `arguments` has those of steps that take more than study and campaign, `more` what else a step's task is given. A
    step that loads the system runs in `pool`.
    """

    pool: str
    arguments: Mapping[str, list[str]]
    more: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def once(self, step: Step, after: AnyTask | None = None, round_number: int = 0) -> AnyTask:
        """Add the step's task."""
        arguments = self._arguments_of(step, round_number)
        task: BaseOperator = step_task(step.name, arguments, step.doc, **self._more(step))
        if after is not None:
            after >> task
        return task

    def per_case(self, step: Step, cases_of: AnyTask, after: AnyTask, round_number: int = 0) -> AnyTask:
        """Add the step's mapped task."""
        arguments = self._arguments_of(step, round_number)
        mapped = step_for_each(cases_of.output, step.name, arguments, step.doc, **self._more(step))
        after >> mapped
        return mapped

    @contextmanager
    def round(self, number: int) -> Iterator[None]:
        """Put the tasks of the round into a group of their own."""
        tooltip = "Measures what the surrogates expect most of; skipped when done"
        with TaskGroup(round_group(number), tooltip=tooltip):
            yield

    def _arguments_of(self, step: Step, round_number: int) -> list[str]:
        if round_number:
            return round_arguments(round_number)
        return self.arguments.get(step.name, CAMPAIGN_ARGUMENTS)

    def _more(self, step: Step) -> dict[str, Any]:
        return {**({"pool": self.pool} if step.loads else {}), **self.more.get(step.name, {})}
