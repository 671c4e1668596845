"""The client of the notification: each kind of event of an order counts once, and alerts of the run alone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafka_pareto.drivers.services.programs.client import Client
from kafka_pareto.drivers.services.programs.messages import DELIVERED, PICKED_UP

pytestmark = pytest.mark.fast


def event(kind: str, number: int = 0, **changes: Any) -> dict[str, Any]:
    times = {"created_at": 100.0, "placed_at": 100.25, "appended_at": 101.0}
    return {"order_id": f"run-{number}", "kind": kind, **times, **changes}


def alert(rule: str, state: str, since: float) -> dict[str, Any]:
    return {"kind": "alert", "alert_id": f"{rule}-{state}-{since}", "rule": rule, "state": state, "since": since}


def client_of(*events: dict[str, Any], at: float) -> Client:
    client = Client()
    for each in events:
        client.take(each, at)
    return client


def test_an_order_is_complete_once_all_of_its_kinds_were_seen_and_a_repeat_is_counted() -> None:
    events = [event(kind) for kind in ("confirmed", PICKED_UP, PICKED_UP, DELIVERED)]
    found = client_of(*events, event("confirmed", number=1), at=101.5).result_of("run", 1, 0.0)

    assert (found["complete"], found["repeated"], found["out_of_order"]) == (1, 1, 0)
    assert found["shipping"]["mean_ms"] == pytest.approx(750)
    assert found["notifying"]["mean_ms"] == pytest.approx(500)
    assert found["completing"]["mean_ms"] == pytest.approx(1500)


def test_an_order_that_is_delivered_before_it_is_picked_up_is_out_of_order() -> None:
    client = client_of(*map(event, (DELIVERED, PICKED_UP, "confirmed")), at=101.5)

    assert client.result_of("run", 1, 0.0)["out_of_order"] == 1


def test_orders_created_before_the_part_that_counts_have_no_part_in_latencies() -> None:
    kinds = ("confirmed", PICKED_UP, DELIVERED)
    early = [event(kind, 0, created_at=99.0) for kind in kinds]
    counted = [event(kind, 1, created_at=100.0) for kind in kinds]

    found = client_of(*early, *counted, at=101.5).result_of("run", 2, 0.0, since=99.5)
    assert (found["complete"], found["completing"]["mean_ms"]) == (2, pytest.approx(1500))


def test_an_alert_counts_once_and_only_if_its_rule_was_broken_in_the_run() -> None:
    of_warmup = [alert("lag_orders", "raised", 90.0), alert("lag_orders", "cleared", 90.0)]
    of_run = [alert("brokers_gone", "raised", 110.0), alert("brokers_gone", "raised", 110.0)]
    client = client_of(*of_warmup, *of_run, at=120.0)

    alerts = client.result_of("run", 0, 0.0, began_at=100.0)["alerts"]
    assert [(each["rule"], each["state"]) for each in alerts] == [("brokers_gone", "raised")]
    assert client.result_of("run", 0, 0.0, began_at=100.0)["alerts"] == []


def test_no_time_is_waited_once_each_alert_that_was_raised_is_cleared() -> None:
    of_run = [alert("brokers_gone", "raised", 110.0), alert("brokers_gone", "cleared", 110.0)]
    # The raising of the other one came before a notification was killed.
    client = client_of(*of_run, alert("lag_orders", "cleared", 110.5), at=120.0)

    asked_at = time.monotonic()
    assert len(client.result_of("run", 0, 0.0, began_at=100.0, alerts_within_s=60.0)["alerts"]) == 3
    assert time.monotonic() < asked_at + 30


def test_an_alert_that_is_not_cleared_is_waited_for() -> None:
    client = client_of(alert("brokers_gone", "raised", 110.0), at=120.0)

    asked_at = time.monotonic()
    client.result_of("run", 0, 0.0, began_at=100.0, alerts_within_s=0.2)
    assert time.monotonic() >= asked_at + 0.2
