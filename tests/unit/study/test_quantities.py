"""Quantities: declared once, as a dataclass's fields, and stored in every repetition under their names."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.drivers.producer.quantities import ProducerQuantities
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.quantity import Shown, Value, quantities_of

pytestmark = pytest.mark.fast

FIGURES = LoadFigures(
    throughput_records_s=1000.0,
    latency_avg_ms=1.0,
    latency_max_ms=9.0,
    latency_p50_ms=1.0,
    latency_p95_ms=3.0,
    latency_p99_ms=5.0,
    latency_p999_ms=8.0,
)


@dataclass(frozen=True)
class Lag:
    lag_max_records: int
    lag_ms: float | None = None


@dataclass(frozen=True)
class Consumed:
    mode: Literal["steady", "catch_up"]
    pace_mib_s: Annotated[float, Shown("pace", maximised=True)]
    lag: Lag | None = None


CONSUMER = Driver(
    "consumer", quantities_of(Consumed), objectives=(), expectations=Path("consumer.yaml"), identity=("group",)
)
WHOLE: dict[str, Value] = {"mode": "steady", "pace_mib_s": 8.5, "lag_max_records": 7, "lag_ms": None}


def test_quantities_follow_from_the_fields_including_those_of_an_inner_dataclass() -> None:
    found = [(each.name, each.type, each.may_be_missing, each.unit) for each in CONSUMER.quantities]
    assert found == [
        ("mode", str, False, ""),
        ("pace_mib_s", float, False, "MiB/s"),
        ("lag_max_records", int, True, "records"),
        ("lag_ms", float, True, "ms"),
    ]
    assert [(each.label, each.maximised) for each in CONSUMER.quantities[:2]] == [("", None), ("pace", True)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"lag_max_records": None}, ""),
        ({"pace_mib_s": 8}, ""),
        ({"pace_mib_s": None}, "pace_mib_s: None: must be of type float"),
        ({"lag_max_records": 7.5}, "lag_max_records: 7.5: must be of type int"),
        ({"pace_mib": 1.0}, "pace_mib: is not a quantity of the driver consumer; did you mean pace_mib_s?"),
    ],
)
def test_a_value_that_breaks_the_declaration_is_named_with_the_rule(change: dict[str, Value], told: str) -> None:
    assert CONSUMER.fault_of(WHOLE | change) == told


def test_a_missing_quantity_is_named_and_an_optional_one_is_none() -> None:
    without = {name: value for name, value in WHOLE.items() if name not in ("lag_ms", "mode")}
    assert CONSUMER.fault_of(without).startswith("mode: is missing")
    assert CONSUMER.with_missing(without) == {**without, "lag_ms": None}


def test_a_producers_measurement_round_trips_without_figures_if_one_is_missing() -> None:
    client, counters = ClientMetrics(buffer_wait_s=0.5), LoadCounters(host_cpu_busy_fraction=0.9)
    measured = ProducerQuantities("steady_state", 10, 10, 10, 7.8, FIGURES, client, "slow", counters, "load_tool")
    values = measured.values()
    assert ProducerQuantities.of(values) == measured
    assert list(values) == [each.name for each in PRODUCER.quantities]
    assert asdict(FIGURES).items() <= values.items()
    assert PRODUCER.fault_of(values) == ""
    assert ProducerQuantities.of(values | {"latency_p95_ms": None}).figures is None


def test_a_cost_is_shown_with_the_unit_that_its_name_ends_with() -> None:
    headings = [each.heading for each in PRODUCER.derived_quantities]
    assert headings == ["client CPU [cores]", "batch fill"]


def test_what_costs_money_may_be_an_objective() -> None:
    assert [each.axis_label for each in PRODUCER.more_objectives] == [
        "stored size [B]",
        "requests [per 1,000 records]",
        "client CPU [s per million records]",
    ]
