from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled

BEGAN_MS = 1_764_000_000_000


def made_events(logged_ms: Sequence[float], latencies_ms: Sequence[float]) -> pd.DataFrame:
    """Return events logged at these offsets (ms), which spend all of their latency in Filebeat."""
    t0 = BEGAN_MS + np.asarray(logged_ms, dtype="int64")
    t7 = t0 + np.asarray(latencies_ms, dtype="int64")
    events = pd.DataFrame({"request_id": [f"r{number}" for number in range(len(t0))], "t0": t0, "t1": t0})
    events = events.assign(**dict.fromkeys(("t2", "t3", "t4", "t5", "t6", "t7"), t7))
    return events.assign(**{name: events[end] - events[begin] for name, (begin, end) in STAGES.items()})


def even(rate_s: float, seconds: int) -> np.ndarray:
    """Return evenly spaced offsets in milliseconds."""
    return np.arange(0, seconds * 1000, 1000 / rate_s)


def reconciled(events: pd.DataFrame, pending_ms: Sequence[float] = (), waited_until_ms: float = 0) -> Reconciled:
    """Return these events, all in Hive, with others pending that were logged at these offsets (ms)."""
    t0 = BEGAN_MS + np.asarray(pending_ms, dtype="int64")
    pending = pd.DataFrame({"t0": t0, "t7": BEGAN_MS + np.int64(waited_until_ms)})
    waiting = pending[["t0"]].assign(request_id=[f"p{number}" for number in range(len(t0))])
    logged = pd.concat([events[["request_id", "t0"]], waiting], ignore_index=True)
    return Reconciled(events, logged, pending, [], [], 0, 0)
