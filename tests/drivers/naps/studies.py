"""Define the study that tunes a nap."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from kafka_pareto.drivers.naps.declaration import DRIVER
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune


class TuneNaps(Tune):
    """Tune a nap; the only factor is `nap_ms`."""

    declaration: ClassVar[Driver] = DRIVER

    kind: Literal["tune"] = "tune"
    driver: Literal["naps"] = "naps"
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(DRIVER.objective_names))

    @property
    def cases(self) -> list[str]:
        """List the only case."""
        return ["nap"]

    def baseline_configuration(self, case: str = "") -> Configuration:  # noqa: ARG002
        """Return the longest nap."""
        return {"nap_ms": max(self.factors["nap_ms"].extremes())}

    def conditions(self) -> dict[str, Any]:
        """Return nothing: naps of all studies are comparable."""
        return {}


STUDIES = {"tune": TuneNaps}
