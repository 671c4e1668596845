"""Select the operator that runs the pipeline's steps, by `KAFKA_PARETO_RUNNER`.

`process` (the default) runs a step where its task runs, `docker` in a container, `kubernetes` in a pod.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import XComArg
from airflow.sdk.definitions.mappedoperator import MappedOperator

from kafka_pareto.errors import BadInputError
from kafka_pareto_airflow.task_rules import CASE_LABEL, RULES

RUNNER_VARIABLE = "KAFKA_PARETO_RUNNER"

# Only one is imported, because Docker's and Kubernetes' clients take longer to import than a DAG file to parse.
match os.environ.get(RUNNER_VARIABLE) or "process":
    case "process":
        from kafka_pareto_airflow.steps.process_step import ProcessStep as StepOperator
    case "docker":
        from kafka_pareto_airflow.steps.docker_step import DockerStep as StepOperator
    case "kubernetes":
        from kafka_pareto_airflow.steps.kubernetes_step import KubernetesStep as StepOperator
    case other:
        raise BadInputError(
            f"{RUNNER_VARIABLE}: {other!r}: must be process, docker or kubernetes; fix it in Airflow's environment"
        )

__all__ = ["StepOperator", "step_for_each", "step_task"]


def step_task(step: str, arguments: list[str], doc: str, **more: Any) -> StepOperator:
    """Return the task of a step, with the step's name and rules."""
    return StepOperator(task_id=step, step=step, arguments=arguments, doc_md=doc, **RULES[step], **more)


def step_for_each(case: XComArg, step: str, arguments: list[str], doc: str, **more: Any) -> MappedOperator:
    """Return the mapped task of a step, labeled by case."""
    fixed = {"arguments": arguments, "doc_md": doc, "map_index_template": CASE_LABEL, **RULES[step], **more}
    return StepOperator.partial(task_id=step, step=step, **fixed).expand(case=case)
