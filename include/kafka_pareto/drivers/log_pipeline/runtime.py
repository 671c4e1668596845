"""Runtime of the driver `log_pipeline`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.systems import open_system
from kafka_pareto.drivers.log_pipeline.runner import PipelineRunner
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy
from kafka_pareto.drivers.log_pipeline.testbed import open_pipeline_testbed
from kafka_pareto.measurement.driver_runtime import DriverRuntime, System
from kafka_pareto.settings import Settings
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.study import Study

_GIB = 1 << 30
# Estimates for plans; log_pipeline_short measured 503 requests/s.
_PARTS_START_S = 25.0
_PARTS_END_S = 15.0
_WINDOW_END_S = 10.0
_RAMP_S = 300.0
_REQUESTS_S = 600.0
_BYTES_OF_AN_EVENT = 3_000
_PARTS_MIB = 2_500


class LogPipelineRuntime(DriverRuntime):
    """Runs log pipelines."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
        """Estimate the cost of these repetitions: the requests, and starting and stopping the parts around them.

        A pipeline that falls behind takes up to twice the protocol's `drain_s` longer. Parts that keep running start
        once in each case, and keep all data.
        """
        found = LogPipelineStudy.of(study)
        count = sum(repetitions.values())
        protocol = found.protocol
        run_s, parts_s = protocol.seconds + protocol.cool_down_s, protocol.warmup_s + _PARTS_START_S + _PARTS_END_S
        if protocol.keeps_running:
            duration_s = count * (run_s + _WINDOW_END_S) + len(repetitions) * parts_s
        else:
            duration_s = count * (run_s + parts_s)
        levels = [found.baseline_configuration()]
        if isinstance(found, Compare):
            levels += [level for case in repetitions for level in found.levels_of(case)]
        asks_shares = any(found.rate_of(each).capacity_fraction for each in levels)
        requests_s = max(_REQUESTS_S, *(_requests_s(found, each) for each in levels))
        sent_gib = count * protocol.seconds * requests_s * _BYTES_OF_AN_EVENT / _GIB
        return Plan(
            repetitions=count,
            duration_s=duration_s + (0.0 if sized or not asks_shares else _RAMP_S),
            sent_gib=sent_gib,
            peak_disk_gib=sent_gib / max(len(repetitions) if protocol.keeps_running else count, 1),
        )

    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open a stand-in for the broker and the parts, which do not run before the first repetition."""
        return open_system(study, settings, lambda: _PARTS_MIB)

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[PipelineRunner]:
        """Open the runner of one case: lease, broker, shop and programs."""
        study = LogPipelineStudy.of(campaign.study)
        with open_pipeline_testbed(campaign, study, case, settings) as testbed:
            yield PipelineRunner(testbed)


def _requests_s(study: LogPipelineStudy, level: Configuration) -> float:
    """Return a level's mean rate; 0 for a share of the web server's capacity, and for a replayed log."""
    rate_s, burst = study.rate_of(level).requests_s or 0.0, study.protocol.burst
    if study.effective(level)["burst"] == "none":
        return rate_s
    return rate_s * (1 + (burst.times - 1) * (burst.until_s - burst.from_s) / study.protocol.seconds)


RUNTIME = LogPipelineRuntime()
