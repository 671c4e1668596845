"""Declares the driver `calls`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.quantity import Shown, quantities_of


@dataclass(frozen=True)
class CallQuantities:
    """Holds what one repetition measured."""

    callers: int
    wait_s: Annotated[float | None, Shown("wait", maximised=False)] = None
    wait_cv_in_run: Annotated[float | None, Shown("wait CV", maximised=False)] = None
    calls_per_agent: Annotated[float | None, Shown("calls per agent", maximised=True)] = None


_QUANTITIES = {each.name: each for each in quantities_of(CallQuantities)}
DRIVER = Driver(
    name="calls",
    quantities=tuple(_QUANTITIES.values()),
    objectives=(
        Objective("wait_s", _QUANTITIES["wait_s"]),
        Objective("calls_per_agent", _QUANTITIES["calls_per_agent"]),
        Objective("wait_cv", _QUANTITIES["wait_cv_in_run"], spread_of="wait_s"),
    ),
    expectations=Path(__file__).with_name("expectations.yaml"),
    identity=("building",),
    case_words=("time of day", "times of day"),
    settings_word="rota",
    settings_file="rota.properties",
)
