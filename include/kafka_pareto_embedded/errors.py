"""What can go wrong with the embedded stack."""

from __future__ import annotations

from kafka_pareto.errors import KafkaParetoError


class StackError(KafkaParetoError):
    """The embedded stack cannot be started, asked or stopped; the message says what to do."""


class AirflowUnreachableError(StackError):
    """Airflow's API did not answer."""


class AirflowRefusedError(StackError):
    """Airflow's API answered that it will not, or cannot for now.

    Args:
        message: What the user reads.
        status: The HTTP status of the answer.
        detail: Airflow's own words, in one line.
    """

    def __init__(self, message: str, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(message)

    @property
    def may_pass(self) -> bool:
        """True where the server is in trouble: the same request may succeed later."""
        return self.status >= 500
