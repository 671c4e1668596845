"""The judgment of a repetition's orders and of sustained rates."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_pareto.drivers.services import orders
from kafka_pareto.drivers.services.attempt import is_to_be_repeated, judge
from kafka_pareto.drivers.services.fault import FaultRecord
from kafka_pareto.drivers.services.orders import CapacityError, OrdersRun, fault_of
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import Record
from kafka_pareto.drivers.services.studies import Capacity
from kafka_pareto.drivers.services.testbed import OpenTopology
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError

pytestmark = pytest.mark.fast

FAULT = FaultRecord("leader_killed", "kafka-3", 10.0, 30.0, 32.0, is_noticed=True)


def orders_run(fault: FaultRecord | None = None, late: int = 0, **changes: Any) -> OrdersRun:
    placed = {
        "sent": 100,
        "confirmed": 100,
        "repeated": 0,
        "failure": "",
        "open_slope_s": 0.0,
        "open_slope_error_s": 0.1,
        "latency": {"p95_ms": 20.0},
    }
    seen = {"complete": 100, "repeated": 0, "out_of_order": 0}
    for name, value in changes.items():
        (placed if name in placed else seen)[name] = value
    return OrdersRun(Asked("run", 100, rate_s=50.0), placed, seen, fault, late=late)


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({"fault": FAULT, "repeated": 5}, "valid", ""),
        ({"fault": FAULT, "complete": 99}, "records_lost", "1 of 100 orders"),
        ({}, "valid", ""),
        ({"failure": "no leader"}, "failed", "could not place its orders: no leader"),
        ({"sent": 90}, "failed", "90 of 100 orders were placed"),
        ({"complete": 98}, "records_lost", "2 of 100 orders were not completed within 240 s"),
        ({"confirmed": 97}, "records_lost", "3 of 100 orders"),
        ({"confirmed": 97, "late": 3}, "failed", "3 of 100 orders took longer than"),
        ({"confirmed": 97, "late": 2}, "records_lost", "1 of 100 orders"),
        ({"repeated": 1}, "records_duplicated", "1 duplicate among confirmations and events"),
        ({"out_of_order": 4}, "failed", "4 orders delivered before pickup"),
    ],
)
def test_a_repetition_counts_when_each_order_came_to_its_end_once_and_in_order(
    changes: dict[str, Any], outcome: str, reason: str
) -> None:
    found = judge(orders_run(**changes), keeps_order=True)

    assert found[0] == outcome
    assert reason in found[1]
    assert bool(reason) == bool(found[1])


def test_round_robin_promises_no_order() -> None:
    assert judge(orders_run(out_of_order=4), keeps_order=False)[0] == "valid"


class SlowChain:
    """A chain that confirms three of 100 orders only after the time is over; the client has seen all by then."""

    def __init__(self, confirmed: list[int]) -> None:
        self._confirmed = confirmed

    def cpu_s(self) -> float:
        return 0.0

    def ask(self, asked: Asked) -> None:
        pass

    def answer(self, asked: Asked) -> Record:
        return {"sent": asked.orders, "confirmed": 97, "repeated": 0, "failure": "", "began_at": 0.0}

    def seen(self, _run: str, orders: int, *_: float, **__: float) -> Record:
        return {"complete": orders, "repeated": 0, "out_of_order": 0}

    def after(self, _: Asked) -> Record:
        return {"confirmed": self._confirmed.pop(0) if self._confirmed[1:] else self._confirmed[0], "repeated": 0}


@pytest.mark.parametrize(
    ("confirmed", "late", "lost"), [([97, 98, 100], 3, 0), ([99], 2, 1)], ids=["in the end", "never all"]
)
def test_late_confirmations_are_waited_for_when_the_client_has_seen_all(
    monkeypatch: pytest.MonkeyPatch, confirmed: list[int], late: int, lost: int
) -> None:
    monkeypatch.setattr(orders, "_POLL_S", 0.01)
    opened = cast("OpenTopology", SimpleNamespace(chain=SlowChain(confirmed)))
    found = orders.run_orders(opened, Asked("run", 100, timeout_s=0.2 if lost else 60.0))
    assert (found.late, found.lost) == (late, lost)


class SteadyChain(SlowChain):
    """A chain that sustains 100 orders per second, and places orders until the time is over."""

    def __init__(self) -> None:
        super().__init__([0])

    def answer(self, asked: Asked) -> Record:
        sent = min(asked.orders, round(asked.rate_s * asked.timeout_s))
        self._confirmed = [sent]
        latency = {"p95_ms": 20.0 if asked.rate_s <= 100 else 9_999.0}
        backlog = {"open_slope_s": 0.0, "open_slope_error_s": 0.1, "latency": latency}
        return {"sent": sent, "confirmed": sent, "repeated": 0, "failure": "", "began_at": 0.0, **backlog}


def test_a_probe_of_the_capacity_may_take_longer_than_the_wait_for_its_last_confirmation() -> None:
    opened = cast("OpenTopology", SimpleNamespace(chain=SteadyChain(), name="small"))
    rule = Capacity(warmup_s=60.0, seconds=120.0)
    found = orders.find_capacity(opened, Asked("run", 1, timeout_s=120.0), rule, defaultdict(lambda: 50.0))
    assert 90 < found.asked.rate_s <= 100


def test_a_service_that_ends_is_the_level_s_own_result_under_a_fault_alone() -> None:
    ended, not_started, gone = LoadToolError("ended"), LoadStartError("not started"), ClusterError("gone")

    assert all(is_to_be_repeated(error, "none") for error in (ended, not_started, gone))
    assert not is_to_be_repeated(ended, "leader_killed")
    assert is_to_be_repeated(not_started, "leader_killed")
    assert is_to_be_repeated(gone, "leader_killed")
    assert not is_to_be_repeated(CapacityError("holds nothing"), "none")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"failure": "no leader"}, "no leader"),
        ({"latency": {"p95_ms": 501.0}}, "p95 latency 501 ms"),
        ({"open_slope_s": 0.6}, ""),
        ({"open_slope_s": 2.0}, "the backlog grew by 2 orders per second"),
        ({"open_slope_s": 2.0, "open_slope_error_s": 1.0}, ""),
        ({"open_slope_s": None}, ""),
        ({"sent": 99}, "more than 0 orders waited"),
        ({"complete": 99}, "1 order lost"),
        ({"latency": None}, "no order was confirmed"),
    ],
)
def test_a_rate_is_sustained_within_latency_and_without_a_growing_queue(changes: dict[str, Any], fault: str) -> None:
    assert fault_of(orders_run(**changes), Capacity()) == fault
