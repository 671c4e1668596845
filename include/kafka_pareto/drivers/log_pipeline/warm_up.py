"""Warms a pipeline up: with requests at the load's rate, and then with a few, until what they left is in Hive."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from kafka_pareto.drivers.log_pipeline.access_log import read_access_log
from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import REPLAY
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.study import LogPipelineProtocol
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline

_TRICKLE_S = 5.0
_TRICKLE_FRACTION = 0.2
_PIECE_S = 1.0


def warm_up(opened: OpenPipeline, wanted: Wanted, protocol: LogPipelineProtocol) -> bool:
    """Warms all parts up, and waits until Hive has as many requests as were logged by then.

    What a pipeline that has just started has not done yet would be a queue that its settings have not made. Meanwhile
    a few requests keep coming: Filebeat looks ever more seldom at a log that does not grow, up to `max_backoff_ms`, and
    would sleep when the run begins. All are answered when this returns.

    Returns:
        False where Hive had fewer after `drain_s`.
    """
    opened.load.send(replace(wanted, run=f"{wanted.run}w", seconds=protocol.warmup_s, burst_until_s=0.0))
    logged, numbers = len(read_access_log(opened.log_file)), count()
    return opened.pipeline.wait_until_committed(
        logged, protocol.drain_s, meanwhile=lambda: opened.load.trickle(trickle_of(wanted, next(numbers)))
    )


def trickle_of(wanted: Wanted, number: int) -> Wanted:
    """Returns a second's requests, far below the load; where a log is replayed they are those that nginx answers.

    Args:
        wanted: What is asked of the load.
        number: Of this second: each has accounts and chances of its own.
    """
    return replace(
        wanted,
        run=f"{wanted.run}t{number}",
        seed=f"{wanted.seed}.t{number}",
        rate_s=min(_TRICKLE_S, _TRICKLE_FRACTION * wanted.rate_s),
        seconds=_PIECE_S,
        workload="static" if wanted.workload == REPLAY else wanted.workload,
        burst_until_s=0.0,
    )
