"""Run repetitions of log pipelines."""

from __future__ import annotations

import logging
import time

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.log_pipeline.attempt import attempt_run
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner
from kafka_pareto.measurement.highest_sustained import highest_sustained
from kafka_pareto.measurement.limits import LIMITS

log = logging.getLogger(__name__)

_FIRST_REQUESTS_S = 500.0
_RAMP_S = 15.0
_SETTLED_S = 30.0
_PRECISION = 1.15
_WARMUP_REQUESTS_S = 100.0
_RESPONSE_MS = 200.0
_LATE_MS = 50.0


class PipelineRunner(RepetitionRunner):
    """Runs the repetitions of one case, each with its own parts, or all on the same with `keeps_running`."""

    def __init__(self, testbed: PipelineTestbed) -> None:
        self._testbed = testbed
        self.limits, self.lease = LIMITS, testbed.lease
        self._requests_s = 0.0

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> None:  # noqa: ARG002
        """Check the shared parts and find the repetition's request rate."""
        self._testbed.require_running()
        try:
            self._requests_s = self._testbed.requests_s(planned.candidate.configuration, self._web_capacity)
        except (LoadStartError, LoadToolError) as error:
            raise ClusterError(str(error)) from error

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Start the parts unless they are kept, send requests, and follow them to Hive.

        A failure ends kept parts, and so do events in flight, which would arrive in the next window.
        """
        attempt = attempt_run(planned, self._testbed, self._requests_s)
        if attempt.outcome != "valid" or attempt.quantities["events_pending"]:
            self._testbed.end_kept()
        return attempt

    def require_unharmed(self) -> None:
        """Check broker, shop and database; everything else is restarted for each run, or checked by the next window."""
        self._testbed.require_running()

    def _web_capacity(self) -> float:
        """Find the highest rate that the web server sustains while the reference's pipeline keeps up.

        A backlog counts as a failure, since it would slow the next rate down on the same machine.
        """
        baseline, protocol = self._testbed.study.baseline_configuration(), self._testbed.study.protocol
        with OpenPipeline(self._testbed, baseline) as opened:
            settled_s = _SETTLED_S + opened.pipeline.quiet_s

            def is_settled(seconds: float) -> bool:
                return opened.pipeline.wait_until_idle(len(opened.logged()), seconds)

            def probe(requests_s: float) -> Answered | None:
                run = f"ramp{time.time_ns()}"
                try:
                    answered = opened.load.send(Wanted(run, run, requests_s, _RAMP_S))
                except LoadToolError as error:
                    opened.require_running()
                    log.info("%.0f requests/s not sustained: %s", requests_s, error)
                    opened.load.renew()
                    is_settled(protocol.drain_s)
                    return None
                is_sustained = (
                    not answered.refused
                    and answered.response_p95_ms <= _RESPONSE_MS
                    and answered.late_p95_ms <= _LATE_MS
                    and is_settled(settled_s)
                )
                if not is_sustained:  # a backlog must not count against the next rate
                    is_settled(protocol.drain_s)
                log.info(
                    "%.0f requests/s %s: p95 %.0f ms",
                    *(requests_s, "sustained" if is_sustained else "not sustained", answered.response_p95_ms),
                )
                return answered if is_sustained else None

            if protocol.warmup_s:
                opened.load.send(Wanted("warmup", "warmup", _WARMUP_REQUESTS_S, protocol.warmup_s))
                is_settled(protocol.drain_s)
            sustained = highest_sustained(probe, _FIRST_REQUESTS_S, _PRECISION)
        if sustained is None:
            raise LoadToolError(
                f"the web server cannot answer 1 request/s within {_RESPONSE_MS:g} ms (p95), or the pipeline cannot "
                "keep up; stop other programs on this machine and run again"
            )
        return sustained.rate_s
