"""Add a campaign's steps to a DAG, in the library's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow.sdk import BaseOperator, TaskGroup
from airflow.sdk.definitions.mappedoperator import MappedOperator

from kafka_pareto.steps.pipeline import Step
from kafka_pareto.study.identifiers import round_group
from kafka_pareto_airflow.forms import CAMPAIGN_ARGUMENTS
from kafka_pareto_airflow.steps.step_operator import step_for_each, step_task

AnyTask: TypeAlias = BaseOperator | MappedOperator


@dataclass(frozen=True)
class DagGraph:
    """The tasks of the DAG that is being defined.

    `arguments` has the arguments of steps beyond study and campaign, `more` further operator arguments by step. A step
    that loads the system runs in `pool`; its tasks are collected in `loads`.
    """

    pool: str
    arguments: Mapping[str, list[str]]
    more: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    loads: list[AnyTask] = field(default_factory=list)

    def once(self, step: Step, after: AnyTask | None = None, round_number: int = 0) -> AnyTask:
        """Add the step's task."""
        task: BaseOperator = step_task(**self._options(step, round_number))
        if after is not None:
            after >> task
        return task

    def per_case(self, step: Step, cases_of: AnyTask, after: AnyTask, round_number: int = 0) -> AnyTask:
        """Add the step's mapped task."""
        mapped = step_for_each(cases_of.output, **self._options(step, round_number))
        after >> mapped
        if step.loads:
            self.loads.append(mapped)
        return mapped

    def round(self, number: int) -> TaskGroup:
        """Return a group for the tasks of the round."""
        return TaskGroup(
            round_group(number),
            tooltip="Measures the surrogates' best configurations; skipped if not needed",
        )

    def _options(self, step: Step, round_number: int) -> dict[str, Any]:
        arguments = [*CAMPAIGN_ARGUMENTS, f"--round={round_number}"] if round_number else self.arguments.get(step.name)
        pool = {"pool": self.pool} if step.loads else {}
        more = self.more.get(step.name, {})
        return {"step": step.name, "arguments": arguments or CAMPAIGN_ARGUMENTS, "doc": step.doc, **pool, **more}
