"""Selects the operator that runs the pipeline's steps: `KAFKA_PARETO_RUNNER` says which.

`process` (the default) runs a step where its task runs, `docker` in a container, `kubernetes` in a pod.
"""

from __future__ import annotations

import os

from kafka_pareto.errors import BadInputError

RUNNER_VARIABLE = "KAFKA_PARETO_RUNNER"

# Only one is imported: Docker's and Kubernetes' clients take longer to import than a DAG file takes to parse.
match os.environ.get(RUNNER_VARIABLE) or "process":
    case "process":
        from kafka_pareto_airflow.steps.process_step import ProcessStep as StepOperator
    case "docker":
        from kafka_pareto_airflow.steps.docker_step import DockerStep as StepOperator
    case "kubernetes":
        from kafka_pareto_airflow.steps.kubernetes_step import KubernetesStep as StepOperator
    case other:
        raise BadInputError(
            f"{RUNNER_VARIABLE}: {other!r}: must be process, docker or kubernetes; mend it where Airflow is started"
        )

__all__ = ["StepOperator"]
