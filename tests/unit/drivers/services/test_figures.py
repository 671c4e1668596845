"""Figures of made orders: the bottleneck, and the recovery from a fault."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.drivers.services.fault import FaultRecord
from kafka_pareto.drivers.services.figures import bound_of, fault_figures, quantities
from kafka_pareto.drivers.services.orders import OrdersRun
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.quantities import FaultFigures
from kafka_pareto.drivers.services.studies import Load

pytestmark = pytest.mark.fast

BURST, PACED = Load("burst"), Load("paced", rate_s=100.0)
BEGAN_AT = 1000.0
# Ten seconds as they should be, five without a confirmation, five while the broker is still away, three late ones.
SECONDS = [(50, 10.0)] * 10 + [(0, None)] * 5 + [(50, 12.0)] * 5 + [(300, 4000.0)] * 3 + [(50, 15.0)] * 17


def fault(**changes: Any) -> FaultRecord:
    known = {"kind": "leader_killed", "what": "kafka-3", "began_at": 1010.0, "ended_at": 1018.0, "whole_at": 1020.0}
    return FaultRecord(**{**known, "is_noticed": True, **changes})


def placed(**changes: Any) -> dict[str, Any]:
    known = {"began_at": BEGAN_AT, "ended_at": BEGAN_AT + 40, "seconds": SECONDS, "orders_s": 100.0, "sending_s": 20.0}
    return known | changes


def test_a_fault_s_figures_count_from_when_it_is_over_and_all_is_in_sync() -> None:
    assert fault_figures(fault(), placed(), 0.0) == FaultFigures(full_isr_s=2.0, recovered_s=13.0)
    assert fault_figures(fault(whole_at=1025.5), placed(), 0.0) == FaultFigures(full_isr_s=7.5, recovered_s=16.0)
    assert fault_figures(fault(whole_at=None), placed(), 0.0) == FaultFigures()


def test_a_fault_that_no_broker_noticed_has_no_time_until_all_is_in_sync() -> None:
    assert fault_figures(fault(is_noticed=False), placed(), 0.0) == FaultFigures(recovered_s=13.0)


def test_a_killed_service_counts_from_its_start_and_the_notification_not_at_all() -> None:
    killed = fault(kind="manufacturer_killed", ended_at=1010.5, whole_at=1010.5, is_noticed=False)

    assert fault_figures(killed, placed(), 0.0) == FaultFigures(recovered_s=5.0)
    of_notification = fault(kind="notification_killed", whole_at=1010.5, is_noticed=False)
    assert fault_figures(of_notification, placed(), 0.0) == FaultFigures()


def test_warm_up_orders_are_not_part_of_the_earlier_latency() -> None:
    slowly = [(50, 9000.0)] * 3 + SECONDS[3:]

    assert fault_figures(fault(), placed(seconds=slowly), 0.0).recovered_s == 10.0  # as slow as it was at first
    assert fault_figures(fault(), placed(seconds=slowly), 3.0).recovered_s == 13.0


def test_the_script_is_the_bottleneck_if_it_places_no_faster_alone() -> None:
    assert bound_of(placed(), PACED, 1000.0) == ""
    assert bound_of(placed(), PACED, None) == ""
    assert "100 orders/s, compared with 110 orders/s without" in bound_of(placed(), PACED, 110.0)
    assert bound_of(placed(orders_s=None), BURST, 110.0) == ""


def test_the_script_is_the_bottleneck_of_a_burst_that_it_sends_until_the_end() -> None:
    assert bound_of(placed(sending_s=35.9), BURST, 1000.0) == ""
    assert "it sent for 90 % of the time" in bound_of(placed(sending_s=36.0), BURST, 1000.0)
    assert bound_of(placed(sending_s=39.0), PACED, 1000.0) == ""  # a rate is sent until the end


def test_duplicate_events_are_distinguished_from_duplicate_confirmations() -> None:
    hops = dict.fromkeys(("shipping", "notifying", "completing"))
    said = placed(sent=5, confirmed=5, repeated=1, overtaken=0, latency=None)
    seen = {"complete": 5, "repeated": 2, "out_of_order": 0, "alerts": [{"state": "raised"}], **hops}
    found = quantities(OrdersRun(Asked("run", 5), said, seen), BURST, LoadCounters(broker_cpu_s=1.0), None)

    assert (found.repeats_dropped, found.events_repeated) == (3, 2)
    assert (found.alerts_raised, found.alerts_cleared) == (1, 0)
    assert found.counters.broker_cpu_s == 1.0
    of_search = quantities(OrdersRun(Asked("run", 5), said, seen), Load("capacity"), found.counters, None)
    assert of_search.counters == LoadCounters()
