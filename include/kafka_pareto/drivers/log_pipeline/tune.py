"""Study that tunes a log pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from kafka_pareto.drivers.log_pipeline.declaration import DRIVER
from kafka_pareto.drivers.log_pipeline.study import PIPELINE_SETTINGS, SETTINGS, LogPipelineStudy, pipeline_setting
from kafka_pareto.kafka.known_properties import Durability, PropertyValue
from kafka_pareto.study.factors import CategoricalFactor, Configuration, Factor, FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

CASE = "pipeline"
_DURABILITIES = {"0": Durability.acks_0, "1": Durability.acks_1, "all": Durability.acks_all_idempotent}


# The driver's class comes first: its protocol overrides the common one.
class TuneLogPipeline(LogPipelineStudy, Tune):
    """Tunes a log pipeline. Factors and baseline are settings of its parts, as in its comparisons.

    `load` and `workload` define the requests of all runs. The only case is `pipeline`; its shipper is Filebeat.
    """

    promises: ClassVar[frozenset[str]] = frozenset({"acks", "aggregator_acknowledges"})

    kind: Literal["tune"] = "tune"
    driver: Literal["log_pipeline"] = "log_pipeline"
    load: str = "50%"
    workload: Literal["shop", "static", "replay"] = "shop"
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(DRIVER.objective_names))

    @field_validator("factors")
    @classmethod
    def _factors_are_settings(cls, factors: dict[str, Factor]) -> dict[str, Factor]:
        for name, factor in factors.items():
            setting = pipeline_setting(name)
            needed = "integer" if setting.is_number else "categorical"
            if factor.type != needed:
                raise ValueError(f"{name} must be of type {needed}")
            for level in factor.extremes():
                if setting.value(level) != level:
                    raise ValueError(f"{name}: {level!r}: must be written as {setting.value(level)}")
        return factors

    @classmethod
    def setting_value(cls, name: str, given: PropertyValue) -> PropertyValue:
        """Return the validated value of a setting."""
        return pipeline_setting(name).value(given)

    @model_validator(mode="after")
    def _restarts_the_parts(self) -> Self:
        if self.protocol.keeps_running:
            raise ValueError(
                "protocol.keeps_running true: must be false in a tuning study, since each configuration needs newly "
                "started parts; use a comparison for a soak test"
            )
        return self

    @model_validator(mode="after")
    def _settings_go_together(self) -> Self:
        if conflict := self.conflict_in(self.baseline_configuration()):
            raise ValueError(conflict)
        longest, shortest = (
            pick(self.factors[name].extremes()) if name in self.factors else self.effective({})[name]
            for name, pick in (("backoff_ms", max), ("max_backoff_ms", min))
        )
        if conflict := self.conflict_in({"backoff_ms": longest, "max_backoff_ms": shortest}):
            raise ValueError(f"factors: {conflict}; change one of the ranges")
        return self

    @property
    def cases(self) -> list[str]:
        """List the one case."""
        return [CASE]

    def baseline_configuration(self, case: str = "") -> Configuration:  # noqa: ARG002
        """Return the baseline's value of each factor, or else the default."""
        found = self.effective({})
        return {
            name: str(found[name]) if isinstance(factor, CategoricalFactor) else found[name]
            for name, factor in self.factors.items()
        }

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return every setting of the parts: from the configuration, else the baseline, else the default."""
        found = self.effective(configuration)
        return {each.name: found[each.name] for each in PIPELINE_SETTINGS}

    def effective(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return every setting: from the configuration, else the baseline, else the default."""
        defaults = {each.name: each.value(each.default) for each in SETTINGS.values()}
        given = {"load": self.load, "workload": self.workload, **self.baseline, **configuration}
        return defaults | {name: value for name, value in given.items() if not isinstance(value, bool)}

    def replays_in(self, cases: Sequence[str]) -> bool:  # noqa: ARG002
        """Return whether the log is replayed: in all configurations or none."""
        return self.is_replayed({})

    def all_settings(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return every setting with its value."""
        return self.effective(configuration)

    def durability_of(self, configuration: Configuration) -> Durability:
        """Return the pipeline's durability guarantee; an aggregator may acknowledge events before Kafka has them."""
        found = self.effective(configuration)
        is_stored = found["aggregator_acknowledges"] == "kafka"
        return _DURABILITIES[str(found["acks"])] if is_stored else Durability.received

    def conditions(self) -> dict[str, Any]:
        """Return baseline, load, shop and protocol of a run, by key."""
        requests = {"load": self.load, "workload": self.workload}
        return self.conditions_with(baseline=self.baseline, requests=requests)
