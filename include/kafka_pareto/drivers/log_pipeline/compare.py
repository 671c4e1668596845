"""Study that compares settings of a log pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import JsonValue, model_validator

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.log_pipeline.model import predicted_stages
from kafka_pareto.drivers.log_pipeline.study import SETTINGS, LogPipelineProtocol, LogPipelineStudy
from kafka_pareto.study.compare import Compare, MeansByCase
from kafka_pareto.study.factors import Configuration, FactorValue, configuration_id
from kafka_pareto.study.setting import Setting

_DATABASES = {"mariadb": "MariaDB", "sqlite": "SQLite"}


# The driver's class comes first: its rules override the common ones.
class CompareLogPipeline(LogPipelineStudy, Compare):
    """Compares settings of a log pipeline on this machine: nginx, Filebeat, an aggregator, Kafka, Spark and Hive.

    For its levels, see `docs/log_pipeline.md`.
    """

    kind: Literal["compare"] = "compare"
    driver: Literal["log_pipeline"] = "log_pipeline"
    protocol: LogPipelineProtocol = LogPipelineProtocol(repetitions=5, cool_down_s=5.0)

    @property
    def fewest_levels(self) -> int:
        """Return the fewest levels of a part: a soak test has one."""
        return 1 if self.protocol.keeps_running else super().fewest_levels

    @model_validator(mode="after")
    def _keeps_one_level_running(self) -> Self:
        for part in self.parts if self.protocol.keeps_running else ():
            if (number := len(self.levels_of(part.part))) != 1:
                raise ValueError(
                    f"protocol.keeps_running true: part {part.part} has {number} levels, but windows on the same "
                    "running parts need exactly one; give each level a part with a single variant"
                )
        return self

    def settings(self) -> Mapping[str, Setting]:
        """Return the settings of the parts and of the load, by name."""
        return SETTINGS

    def effective(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return every setting: from the configuration, else the reference, else the default."""
        return Compare.effective(self, configuration)

    def replays_in(self, cases: Sequence[str]) -> bool:
        """Return whether any level of these cases replays the log."""
        return any(self.is_replayed(level) for case in cases for level in self.levels_of(case))

    def unused_keys(self, levels: Sequence[Configuration]) -> dict[str, JsonValue]:
        """Return the study's keys without a log that none of these levels replays."""
        return {} if any(map(self.is_replayed, levels)) else {"replay": None}

    @property
    def compared(self) -> tuple[str, ...]:
        """List the quantities compared in the published study."""
        return ("latency_mean_ms", "latency_p95_ms", "steady_latency_p95_ms", "packets_s")

    def described_protocol(self) -> dict[str, str]:
        """Describe one run for people."""
        protocol, replay = self.protocol, self.replay
        described = super().described_protocol() | {
            "requests": f"from {counted(self.senders, 'load generator')} for {protocol.seconds} s, after "
            f"{protocol.warmup_s:g} s of warm-up; steady part from {protocol.steady_from_s} s",
            "end": f"when the last event is in Hive, or after {protocol.drain_s:g} s; then the pipeline "
            f"{'keeps running for the next window' if protocol.keeps_running else 'stops'}",
            "shop": f"Flask behind nginx, with {_DATABASES[self.database]}",
        }
        if replay:
            described["replay"] = f"the requests of {replay.file}, at {replay.times:g} times the logged speed"
        return described

    def predicted(self, level: Configuration, means: MeansByCase) -> dict[str, float]:
        """Predict a level's stages from the reference at the lowest share of the web server's capacity.

        There is no prediction if all levels have the same share, for a burst, or for Collectors.
        """
        settings, found = self.effective(level), self._light_level()
        if found is None:
            return {}
        case, light = found
        measured = means.get(case, {}).get(configuration_id(light))
        share, light_share = (self.rate_of(each).capacity_fraction for each in (level, light))
        modelled = all(map(_is_modelled, (settings, self.effective(light))))
        if not (measured and share and light_share and modelled):
            return {}
        events_s = measured.get("committed_events_s", 0.0) * share / light_share
        return predicted_stages(settings, events_s, self.effective(light), measured)

    def _light_level(self) -> tuple[str, Configuration] | None:
        """Return case and level of the reference at its lowest load, if any is below its usual load."""
        ordinary, found = self.rate_of(self.baseline_configuration()).capacity_fraction or 0.0, None
        for case in self.cases:
            level = self.baseline_configuration(case)
            unlike = {name for name, value in self.effective(level).items() if value != self.effective({})[name]}
            share = self.rate_of(level).capacity_fraction
            if unlike == {"load"} and share is not None and share < ordinary:
                ordinary, found = share, (case, level)
        return found

    def conditions(self) -> dict[str, Any]:
        """Return reference, shop and protocol of a run, by key."""
        return self.conditions_with(reference=self.stated({}))


def _is_modelled(settings: Mapping[str, FactorValue]) -> bool:
    return (settings["burst"], settings["workload"], settings["shipper"]) == ("none", "shop", "filebeat")
