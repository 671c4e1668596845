"""Predicts the time in each stage from settings and a lightly loaded run: T = B + W + S, summed over the stages. Pure.

B is the time for which settings let an event wait for others. S is the service time, from a run in which nothing waits.
W is the time in a queue by Kingman's formula, W = u/(1-u) * (ca2 + cs2)/2 * S, with the load u = arrivals/capacity and
the squared coefficients of variation of arrivals and services (Kingman 1961, The single server queue in heavy traffic).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class StageModel:
    """Holds what a stage is predicted by.

    Attributes:
        batching_ms: Mean wait that the settings ask for.
        service_ms: Mean time of one event when nothing waits.
        arrivals_s: Events that arrive in each second.
        capacity_s: Events that it can take in each second.
        arrival_variation: Squared coefficient of variation of the times between arrivals.
        service_variation: The same of the service times.
    """

    batching_ms: float
    service_ms: float
    arrivals_s: float
    capacity_s: float
    arrival_variation: float = 1.0
    service_variation: float = 1.0

    @property
    def load(self) -> float:
        """Returns the share of its capacity that is asked of it."""
        return self.arrivals_s / self.capacity_s

    @property
    def waiting_ms(self) -> float:
        """Returns the mean wait in the queue; infinite where more arrives than it can take."""
        if self.load >= 1:
            return math.inf
        variation = (self.arrival_variation + self.service_variation) / 2
        return self.load / (1 - self.load) * variation * 1e3 / self.capacity_s

    @property
    def total_ms(self) -> float:
        """Returns the predicted mean time in the stage."""
        return self.batching_ms + self.waiting_ms + self.service_ms


def mean_wait_in_batch_ms(batch_size: int, delay_ms: float, arrivals_s: float) -> float:
    """Returns the mean wait of an event for its batch, which is full at a size or closed after a delay.

    Events that arrive evenly fill a batch in (size - 1) / rate; whichever comes first, an event waits for half of it on
    average.
    """
    filled_ms = (batch_size - 1) / arrivals_s * 1e3 if arrivals_s > 0 else math.inf
    return min(filled_ms, delay_ms) / 2
