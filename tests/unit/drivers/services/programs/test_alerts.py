"""Alerts: raised once when a rule is broken, cleared once when it holds again."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.services.programs.alerts import Alerts, Rule, rules_of

pytestmark = pytest.mark.fast


def test_an_alert_is_raised_once_and_cleared_once() -> None:
    alerts = Alerts([Rule("lag_orders", 10.0)])

    assert alerts.of({"lag_orders": 10.0}, 1.0) == []
    (raised,) = alerts.of({"lag_orders": 11.0}, 2.0)
    assert alerts.of({"lag_orders": 12.0}, 3.0) == []
    (cleared,) = alerts.of({"lag_orders": 3.0}, 4.0)
    assert alerts.of({"lag_orders": 3.0}, 5.0) == []

    assert (raised["state"], raised["value"], raised["bound"], raised["since"]) == ("raised", 11.0, 10.0, 2.0)
    assert (cleared["state"], cleared["value"], cleared["since"]) == ("cleared", 3.0, 2.0)


def test_a_minimum_rate_is_violated_from_below_and_an_unknown_value_violates_nothing() -> None:
    alerts = Alerts([Rule("orders_s", 100.0)])

    assert alerts.of({}, 1.0) == []
    assert alerts.of({"orders_s": 100.0}, 2.0) == []
    assert [each["state"] for each in alerts.of({"orders_s": 99.0}, 3.0)] == ["raised"]


def test_a_rule_recovers_when_nothing_is_in_flight_and_its_value_is_unknown() -> None:
    alerts = Alerts([Rule("latency_p95_ms", 500.0), Rule("replicas_out_of_sync", 0.0)])

    assert len(alerts.of({"latency_p95_ms": 900.0, "replicas_out_of_sync": 2.0}, 1.0)) == 2
    assert alerts.of({}, 2.0) == []
    (cleared,) = alerts.of({}, 3.0, is_idle=True)
    assert (cleared["state"], cleared["value"], cleared["since"]) == ("cleared", None, 1.0)
    assert alerts.of({}, 4.0, is_idle=True) == []


def test_rules_are_data_and_an_unknown_one_is_named() -> None:
    assert rules_of('{"lag_orders": 5}') == [Rule("lag_orders", 5.0)]
    with pytest.raises(ValueError, match="--rules: lag: must be one of latency_p95_ms, orders_s, lag_orders"):
        rules_of('{"lag": 5}')
