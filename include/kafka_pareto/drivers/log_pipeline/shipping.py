"""Says what a pipeline needs of the two programs that take a log to a topic."""

from __future__ import annotations

import os
from typing import Protocol

from kafka_pareto.drivers.common.child_process import ChildProcess

READY_S = 90.0
"""Is how long a program may take to become ready."""


class Shipping(Protocol):
    """Starts a shipper, which follows the log, and the aggregator that it sends to."""

    @property
    def holds_ms(self) -> int:
        """Returns how long settings let both hold an event that was read, for others to come with it."""

    @property
    def sleeps_ms(self) -> int:
        """Returns for how long the shipper may not look at a log that does not grow."""

    def start_aggregator(self) -> ChildProcess:
        """Starts the aggregator, and waits until it is ready; one that is started anew listens where the last one did.

        Raises:
            ClusterError: If there is no free port.
            LoadStartError: If it cannot be started, or does not become ready.
        """

    def start_shipper(self) -> ChildProcess:
        """Starts the shipper, which goes on where the last one was; it may not be reading yet.

        Raises:
            LoadStartError: If it cannot be started.
        """


def environment() -> dict[str, str]:
    """Returns what each part of the pipeline has of this process' environment."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8"}
