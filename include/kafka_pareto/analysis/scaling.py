"""Estimate how throughput scales with the number of clients, and its limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from kafka_pareto.analysis.paired_tests import CONFIDENCE, MINIMUM_BLOCKS
from kafka_pareto.analysis.ratios import ByBlock, Ratio, ratio_of_levels
from kafka_pareto.analysis.rounding import Values, has_spread
from kafka_pareto.analysis.student import student

# A block's own fit may leave the law's 0 to 1, or its noise would be cut on one side. At the lower end the law's
# speed-up is infinite; at the upper one the second client takes 98 % of the throughput away.
_LOWEST_OF_POLE, _HIGHEST = 0.99, 100.0
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ScalingFit:
    """Scaling of a throughput with the number of clients; `speedup` is over one client.

    `serial_fraction` is Amdahl's, clipped to 0 … 1. Its inverse `limit` bounds the speed-up; NaN if the fraction does
    not differ significantly from 0: the curve does not bend. Neither has a p-value.
    """

    speedup: dict[int, Ratio]
    serial_fraction: Ratio
    limit: Ratio


def fit_scaling(throughput: Mapping[int, ByBlock]) -> ScalingFit | None:
    """Fit Amdahl's law to the speed-ups, by number of clients and block; None if one client was not measured.

    S(n) = n / (1 + s (n - 1)) with the serial fraction s (Amdahl, AFIPS Conference Proceedings 30, 1967). Each block
    gives one s, fitted to the logs of its speed-ups, with Student's interval over blocks: blocks stay independent,
    though a block's speed-ups share its single measurement of one client. The limit 1 / s takes the interval's inverted
    ends, as limits of blocks with s near 0 would have no mean.
    """
    alone = throughput.get(1)
    if not alone:
        return None
    serial = _serial_fraction(_shares(alone, throughput))
    return ScalingFit(
        speedup={clients: ratio_of_levels(alone, by_block) for clients, by_block in throughput.items()},
        serial_fraction=serial,
        limit=Ratio(1 / serial.value, 1 / serial.high, 1 / serial.low) if serial.low > 0 else Ratio(),
    )


def _shares(alone: ByBlock, throughput: Mapping[int, ByBlock]) -> Values:
    """Return the serial fraction of each block that measured one client and another number."""
    shares = []
    for block, single in alone.items():
        speedups = {
            clients: by_block[block] / single
            for clients, by_block in throughput.items()
            if clients > 1 and single > 0 and by_block.get(block, 0) > 0
        }
        if speedups:
            shares.append(_block_share(speedups))
    return np.array(shares)


def _block_share(speedups: Mapping[int, float]) -> float:
    """Return the serial fraction that fits the speed-ups by least squares on a log scale."""
    clients = np.array(list(speedups))
    log_efficiency = np.log(np.array(list(speedups.values())) / clients)

    def distance(serial: float) -> float:
        return float(np.sum((log_efficiency + np.log1p(serial * (clients - 1))) ** 2))

    lowest = -_LOWEST_OF_POLE / (max(clients) - 1)
    found = minimize_scalar(distance, bounds=(lowest, _HIGHEST), method="bounded", options={"xatol": _TOLERANCE})
    return float(found.x)


def _serial_fraction(shares: Values) -> Ratio:
    if not len(shares):
        return Ratio()
    found = [float(np.mean(shares))]
    if len(shares) >= MINIMUM_BLOCKS and has_spread(shares, scale=1.0):
        interval = student(shares, CONFIDENCE)
        found += [interval.low, interval.high]
    return Ratio(*np.clip(found, 0.0, 1.0).tolist())
