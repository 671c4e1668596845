"""Run and judge one attempt: send requests and follow each to Hive."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

from kafka_pareto.campaign.records import Outcome, Timeline
from kafka_pareto.drivers.log_pipeline.behaviour_labels import label_text, timeline_of_run
from kafka_pareto.drivers.log_pipeline.figures import quantities_of_run, resource_figures
from kafka_pareto.drivers.log_pipeline.pipeline import PartEndedError
from kafka_pareto.drivers.log_pipeline.quantities import LogPipelineQuantities
from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import REPLAY
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import (
    Reconciled,
    backlog_at,
    first_ids_text,
    negative_stage,
    reconcile,
)
from kafka_pareto.drivers.log_pipeline.study import LogPipelineProtocol, LogPipelineStudy
from kafka_pareto.drivers.log_pipeline.testbed import PARENTS, OpenPipeline, PipelineTestbed
from kafka_pareto.drivers.log_pipeline.watch import Watch, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import ArtifactError, ClusterError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.study.factors import Configuration

_MOST_CLOCK_STEP_MS = 1.0
_MS = 1e3
_MOST_REFUSED_FRACTION = 0.01
_TRICKLE_S = 5.0
_TRICKLE_FRACTION = 0.2
_PIECE_S = 1.0


class Followed(NamedTuple):
    """Observations of a run.

    `is_warm` is False if warm-up requests were still in flight when it began; `running_s` is the parts' age at its end.
    """

    answered: Answered
    watched: Watched
    reconciled: Reconciled
    is_warm: bool = True
    running_s: float = 0.0


def attempt_run(planned: PlannedRepetition, testbed: PipelineTestbed, requests_s: float) -> Attempt:
    """Send a level's requests at this rate and follow each to Hive."""
    configuration, study, protocol = planned.candidate.configuration, testbed.study, testbed.study.protocol
    started_at, began_s = datetime.now(UTC).isoformat(), time.monotonic()
    wanted = wanted_of(configuration, study, requests_s, planned.block)
    found = LogPipelineQuantities(round(requests_s * protocol.seconds))
    outcome: Outcome = "failed"
    reason, is_excused = "", False
    watched: Watched | None = None
    timeline: Timeline | None = None
    try:
        with testbed.opened(configuration) as opened:
            answered, watched, reconciled, is_warm, running_s = follow(opened, wanted, protocol)
        found = quantities_of_run(answered, watched, reconciled, wanted, protocol)
        if protocol.keeps_running:
            found = replace(found, resources=resource_figures(watched.resources, running_s))
        if len(reconciled.events):
            timeline = timeline_of_run(reconciled, wanted, answered.began_ms)
        outcome, reason = judge(reconciled, answered.began_ms)
        if outcome == "valid":
            if (study.rate_of(configuration).capacity_fraction or 0.0) <= 1:
                require_answers(answered)
            require_logged(answered, reconciled)
            require_one_clock(reconciled, watched)
            label = label_text(found.flow.label) if found.flow else ""
            left = 0 if is_warm else backlog_at(reconciled.arrivals, answered.began_ms)
            cold = f"warm-up requests still in flight when the run began: {left}" if left else ""
            reason = "; ".join(each for each in (label, cold, reason) if each)
    except PartEndedError as error:  # a result of the level's settings
        outcome, reason = "failed", str(error)
    except RequestsRejectedError as error:
        outcome, reason, is_excused = "failed", str(error), study.is_within_capacity(configuration)
    except (LoadToolError, ClusterError, ArtifactError) as error:
        # The level did not cause a failed start, a failed load generator or a clock step, so it is measured again.
        outcome, reason, is_excused = "failed", str(error), True
    return Attempt(
        outcome=outcome,
        reason=reason,
        is_excused=is_excused,
        started_at=started_at,
        quantities=found.values(),
        wall_s=time.monotonic() - began_s,
        client_cpu_s=watched.whole.cpu_s if watched else 0.0,
        cpu_steal_fraction=watched.steal_fraction if watched else 0.0,
        other_cpu_fraction=watched.other_fraction if watched else 0.0,
        timeline=timeline,
    )


def wanted_of(configuration: Configuration, study: LogPipelineStudy, requests_s: float, block: int) -> Wanted:
    """Return a level's load; it is the same for all levels of a block."""
    found, burst = study.effective(configuration), study.protocol.burst
    wanted = Wanted(
        run=secrets.token_hex(4),
        seed=f"{study.seed}.{block}",
        rate_s=requests_s,
        seconds=study.protocol.seconds,
        workload=str(found["workload"]),
    )
    if found["burst"] == "none":
        return wanted
    return replace(wanted, burst_from_s=burst.from_s, burst_until_s=burst.until_s, burst_times=burst.times)


def follow(opened: OpenPipeline, wanted: Wanted, protocol: LogPipelineProtocol) -> Followed:
    """Warm up, send the measured requests, and wait until all are in Hive.

    Then all parts stop, unless they keep running for the next window.
    """
    is_warm = warm_up(opened, wanted, protocol) if protocol.warmup_s else True
    with Watch(opened.roots, PARENTS) as watch:
        answered = opened.load.send(wanted)
        sending = watch.counted()
        opened.require_running()
        logged = opened.end_requests(answered.answered_ids)
        working = [sending]
        is_drained = opened.pipeline.wait_until_idle(
            len(logged), protocol.drain_s, on_commit=lambda: working.append(watch.counted())
        )
        now_s = time.time()
        is_on_its_way = not is_drained and opened.pipeline.is_moving(now_s)
        waited_until_ms = round(now_s * _MS) if is_on_its_way else None
        watched, running_s = watch.watched(sending, working[-1]), opened.running_s
    if opened.keeps_running:
        committed, committed_at = opened.end_window()
    else:
        committed, committed_at = opened.pipeline.end(is_done=not is_on_its_way)
    reconciled = reconcile(logged, committed, dict(committed_at), waited_until_ms)
    return Followed(answered, watched, reconciled, is_warm, running_s)


def judge(reconciled: Reconciled, began_ms: int) -> tuple[Outcome, str]:
    """Check that each request, warm-up included, reached Hive exactly once with all timestamps.

    A pipeline that did not finish in time is slow, not failed; the reason states the number of requests in flight.
    """
    if reconciled.lost:
        return "records_lost", reconciled.fault
    if reconciled.doubled:
        return "records_duplicated", reconciled.fault
    if reconciled.fault:
        return "failed", reconciled.fault
    logged, came, pending = (
        int((each.t0 >= began_ms).sum()) for each in (reconciled.requests, reconciled.events, reconciled.pending)
    )
    if not came:
        return "failed", f"no request reached Hive in time ({logged} logged)" if logged else "no request was logged"
    return "valid", f"requests still in flight at the end: {pending} of {logged}" if pending else ""


def require_one_clock(reconciled: Reconciled, watched: Watched) -> None:
    """Check that the clock was not adjusted and that no stage ends before it begins.

    Raises:
        LoadToolError: If either check fails.
    """
    if watched.clock_step_ms > _MOST_CLOCK_STEP_MS:
        raise LoadToolError(
            f"the clock was adjusted by {watched.clock_step_ms:.1f} ms during the run, above the limit of "
            f"{_MOST_CLOCK_STEP_MS:g} ms"
        )
    if backwards := negative_stage(reconciled.events):
        raise LoadToolError(backwards)


def require_logged(answered: Answered, reconciled: Reconciled) -> None:
    """Check that the web server logged each request it answered; no later check would notice a missing one.

    Raises:
        LoadToolError: If requests are missing; names the first ones.
    """
    logged = set(reconciled.requests.request_id)
    if missing := [each for each in answered.answered_ids if each not in logged]:
        raise LoadToolError(
            f"answered requests missing from the web server's log: {len(missing)} of {answered.due} "
            f"({first_ids_text(missing)})"
        )


class RequestsRejectedError(LoadToolError):
    """Raised when the web server rejects requests."""


def require_answers(answered: Answered) -> None:
    """Check that the web server answered.

    Raises:
        RequestsRejectedError: If it rejected, or did not answer, more than 1 % of the requests.
    """
    if answered.refused > _MOST_REFUSED_FRACTION * answered.due:
        raise RequestsRejectedError(
            f"the web server rejected or did not answer {answered.refused} of {answered.due} requests; lower load or "
            "replay.times, or set workload: static"
        )


def warm_up(opened: OpenPipeline, wanted: Wanted, protocol: LogPipelineProtocol) -> bool:
    """Warm up all parts; return whether Hive had all requests logged so far within `drain_s`.

    The backlog of a pipeline that has just started is not due to its settings. During the wait a few requests are sent,
    all answered before this returns: Filebeat polls an idle log less and less often, up to every `max_backoff_ms`, and
    would be in backoff when the run begins. Parts that have run a window get only these few requests.
    """
    numbers = count()
    if opened.is_new:
        opened.load.send(replace(wanted, run=f"{wanted.run}w", seconds=protocol.warmup_s, burst_until_s=0.0))
    else:
        opened.load.trickle(trickle_of(wanted, next(numbers)))
    logged = len(opened.logged())
    return opened.pipeline.wait_until_committed(
        logged, protocol.drain_s, meanwhile=lambda: opened.load.trickle(trickle_of(wanted, next(numbers)))
    )


def trickle_of(wanted: Wanted, number: int) -> Wanted:
    """Return one second (`number`) of a much lower load with its own users; a replayed log gets static requests."""
    return replace(
        wanted,
        run=f"{wanted.run}t{number}",
        seed=f"{wanted.seed}.t{number}",
        rate_s=min(_TRICKLE_S, _TRICKLE_FRACTION * wanted.rate_s),
        seconds=_PIECE_S,
        workload="static" if wanted.workload == REPLAY else wanted.workload,
        burst_until_s=0.0,
    )
