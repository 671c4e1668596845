"""Declare the driver `naps`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class NapQuantities(Quantities):
    """Quantities of one nap."""

    asleep_ms: Annotated[float | None, Shown("time asleep", maximised=False)] = None
    naps_events_s: Annotated[float | None, Shown("naps", maximised=True)] = None


_ASLEEP, _NAPS = quantities_of(NapQuantities)
DRIVER = Driver(
    name="naps",
    quantities=(_ASLEEP, _NAPS),
    identity=("bed",),
    objectives=(Objective("asleep_ms", _ASLEEP), Objective("naps_events_s", _NAPS)),
    expectations=Path(__file__).with_name("expectations.yaml"),
)
