"""Defines the study that tunes a call centre."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from kafka_pareto.drivers.calls.declaration import DRIVER
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.tune import Tune

HOURS = ("morning", "evening")
CALLERS = {"morning": 120, "evening": 300}
BASELINE: Configuration = {"agents": 2, "queue": "first", "break_s": 30}


class TuneCalls(Tune):
    """Adds the times of day; a study may name agents, queues and breaks as factors."""

    declaration: ClassVar[Driver] = DRIVER

    kind: Literal["tune"] = "tune"
    driver: Literal["calls"] = "calls"

    hours: list[Literal["morning", "evening"]] = Field(default_factory=lambda: list(HOURS), min_length=1)
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(DRIVER.objective_names))

    @property
    def cases(self) -> list[str]:
        return list(self.hours)

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, Any]:
        return {"hours": list(cases)}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, Any]:
        return {"hours": list(cases)}

    def variables(self, case: str) -> dict[str, int]:
        return {"callers": CALLERS[case]}

    def baseline_configuration(self, case: str = "") -> Configuration:  # noqa: ARG002
        return {name: value for name, value in {**BASELINE, **self.baseline}.items() if name in self.factors}

    def conditions(self) -> dict[str, Any]:
        return {"baseline": {**BASELINE, **self.baseline}}

    def durability_of(self, _configuration: Configuration) -> Durability:
        return Durability.acks_all

    def rule_parameters(self) -> dict[str, object]:
        return {"most_callers": max(CALLERS.values())}

    def derived_values(self, values: Values) -> dict[str, float]:
        waited = values["wait_s"]
        return {"waited_at_all": float(waited > 0) if isinstance(waited, float) else float("nan")}


STUDIES = {"tune": TuneCalls}
