"""Define the errors of the embedded stack."""

from __future__ import annotations

from kafka_pareto.errors import KafkaParetoError


class StackError(KafkaParetoError):
    """Says that the embedded stack cannot be started, asked or stopped, and what to do."""


class AirflowUnreachableError(StackError):
    """Says that Airflow's API did not answer."""


class AirflowRefusedError(StackError):
    """Says that Airflow's API refused, or cannot answer for now."""

    def __init__(self, message: str, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(message)

    @property
    def may_pass(self) -> bool:
        """Return whether the server is in trouble: the same request may succeed later."""
        return self.status >= 500
