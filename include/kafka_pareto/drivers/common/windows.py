"""Tells which part of a load its counters are of: the one whose records are counted for the throughput."""

from __future__ import annotations

from kafka_pareto.bottleneck.load_window import LoadWindow
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult

# A cold JVM of the generator sends its first record 0.6 to 1.2 s after it was started, on 2 cores.
_JVM_START_S = 1.0
_LEAD_S = 0.5


def expected_window(request: LoadRequest, *, jvm_is_warm: bool = False) -> LoadWindow | None:
    """Returns when the measured sending of the first part is expected; None for a load of so many records.

    Only that part shows what limits a load: the fixed rate that follows leaves every resource with something to spare.
    The window begins in the part's warm-up, where reading the brokers disturbs nothing that is measured.
    """
    timed = request.timed
    if timed is None:
        return None
    is_unthrottled = timed.seconds > 0
    warmup_s = timed.warmup_s if is_unthrottled else timed.paced_warmup_s
    begin_s = (0.0 if jvm_is_warm else _JVM_START_S) + warmup_s
    return LoadWindow(max(begin_s - _LEAD_S, 0.0), begin_s + (timed.seconds if is_unthrottled else timed.paced_seconds))


def measured_window(result: LoadResult) -> LoadWindow | None:
    """Returns when the measured sending of the unthrottled part was; None where the tool does not say."""
    if result.unthrottled_began_s is None or result.unthrottled_s is None:
        return None
    return LoadWindow(result.unthrottled_began_s, result.unthrottled_began_s + result.unthrottled_s)
