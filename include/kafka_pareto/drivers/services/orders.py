"""Run orders through running services, with a fault if requested, and search their capacity."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, replace

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.services.fault import Fault, FaultRecord
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import Record
from kafka_pareto.drivers.services.studies import Capacity
from kafka_pareto.drivers.services.testbed import OpenTopology
from kafka_pareto.errors import LoadToolError
from kafka_pareto.measurement.highest_sustained import highest_sustained

log = logging.getLogger(__name__)

_ERRORS = 2.0
_ALERTS_WITHIN_S = 10.0
_POLL_S = 0.2


class CapacityError(LoadToolError):
    """A topology does not sustain even one order per second."""


@dataclass(frozen=True)
class OrdersRun:
    """The outcome of a run of orders.

    Attributes:
        placed: The hospital's report once all orders are confirmed or the timeout expires.
        seen: The client's report.
        fault: The injected fault, if any.
        chain_cpu_s: CPU time of services and client, from the first order until all were seen and, after a fault, all
            replicas are in sync again.
        late: Orders confirmed after `asked.timeout_s`, but within twice that time.
    """

    asked: Asked
    placed: Record
    seen: Record
    fault: FaultRecord | None = None
    chain_cpu_s: float = 0.0
    late: int = 0

    @property
    def lost(self) -> int:
        """Return how many orders were not confirmed, or not seen complete, within twice `asked.timeout_s`."""
        return int(self.placed["sent"]) - min(int(self.placed["confirmed"]) + self.late, int(self.seen["complete"]))


def run_orders(opened: OpenTopology, asked: Asked, fault: Fault | None = None) -> OrdersRun:
    """Place the orders; wait until all are confirmed and seen by the client, at most twice the timeout.

    Raises:
        LoadToolError: If a service has exited by itself.
    """
    cpu_before_s = opened.chain.cpu_s()
    opened.chain.ask(asked)
    done = fault.make(opened) if fault else None
    placed = opened.chain.answer(asked)
    late_until = time.monotonic() + asked.timeout_s
    seen = opened.chain.seen(
        asked.run,
        int(placed["sent"]),
        asked.timeout_s,
        began_at=placed["began_at"],
        since=placed["began_at"] + asked.skip_s,
        alerts_within_s=_ALERTS_WITHIN_S if done else 0.0,
    )
    while (after := opened.chain.after(asked))["confirmed"] < placed["sent"] and time.monotonic() < late_until:
        time.sleep(_POLL_S)
    return OrdersRun(
        asked,
        {**placed, "repeated": after["repeated"]},
        seen,
        done,
        max(opened.chain.cpu_s() - cpu_before_s, 0.0),
        late=after["confirmed"] - placed["confirmed"],
    )


def find_capacity(
    opened: OpenTopology, asked: Asked, rule: Capacity, guesses_s: defaultdict[str, float], offset: float = 0.0
) -> OrdersRun:
    """Return the outcome at the highest sustained rate.

    Args:
        opened: The services.
        asked: Names the runs and limits the wait for the last confirmation after the sending time; its rate and number
            are replaced.
        rule: When a rate counts as sustained.
        guesses_s: The first rate by topology name, in orders per second; updated with the result.
        offset: Starts the search this many steps of the rule's precision above its guess. Independent searches need
            different offsets, or they try the same rates.

    Raises:
        CapacityError: If one order per second is not sustained.
        LoadToolError: If a service has exited by itself.
    """
    tries = 0

    def probe(rate_s: float) -> OrdersRun | None:
        nonlocal tries
        tries += 1
        orders_run = run_orders(
            opened,
            replace(
                asked,
                run=f"{asked.run}.{tries}",
                orders=max(round(rate_s * (rule.warmup_s + rule.seconds)), 1),
                rate_s=rate_s,
                skip_s=rule.warmup_s,
                most_open=max(round(rate_s * rule.most_open_s), 1),
                timeout_s=asked.timeout_s + rule.warmup_s + rule.seconds,
            ),
        )
        fault = fault_of(orders_run, rule)
        log.info("%s: %.0f orders/s %s", opened.name, rate_s, f"not sustained: {fault}" if fault else "sustained")
        return None if fault else orders_run

    found = highest_sustained(probe, guesses_s[opened.name] * rule.precision**offset, rule.precision)
    if found is None:
        raise CapacityError(f"topology {opened.name} does not sustain one order per second")
    guesses_s[opened.name] = found.rate_s
    return found.found


def fault_of(orders_run: OrdersRun, rule: Capacity) -> str:
    """Return why a rate was not sustained, by Theodolite's lag trend and latency metrics; empty if it was."""
    placed, latency, rate_s = orders_run.placed, orders_run.placed["latency"], orders_run.asked.rate_s
    if placed["failure"]:
        return str(placed["failure"])
    if placed["sent"] < orders_run.asked.orders:
        return f"more than {counted(orders_run.asked.most_open, 'order')} waited"
    if orders_run.lost:
        return f"{counted(orders_run.lost, 'order')} lost"
    if orders_run.late:
        return f"{counted(orders_run.late, 'order')} late"
    if not latency or latency["p95_ms"] > rule.latency_p95_ms:
        return f"p95 latency {latency['p95_ms']:.0f} ms" if latency else "no order was confirmed"
    if placed["open_slope_s"] is None:
        return ""
    # Only growth that is significant against the fluctuation of open orders.
    growth_s = placed["open_slope_s"] - _ERRORS * placed["open_slope_error_s"]
    if growth_s <= rule.open_growth_fraction * rate_s:
        return ""
    return f"the backlog grew by {counted(round(growth_s), 'order')} per second"
