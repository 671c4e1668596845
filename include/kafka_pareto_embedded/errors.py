"""Define the errors of the embedded stack."""

from __future__ import annotations

from kafka_pareto.errors import KafkaParetoError


class StackError(KafkaParetoError):
    """The embedded stack cannot be started, queried or stopped; the message says what to do."""


class AirflowUnreachableError(StackError):
    """Airflow's API did not answer."""


class AirflowRefusedError(StackError):
    """Airflow's API refused, or is temporarily unavailable."""

    def __init__(self, message: str, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(message)
