"""What can go wrong with the embedded stack."""

from __future__ import annotations

from kafka_pareto.errors import KafkaParetoError


class StackError(KafkaParetoError):
    """The embedded stack cannot be started, asked or stopped; the message says what to do."""
