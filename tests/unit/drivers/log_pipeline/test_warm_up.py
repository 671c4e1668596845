from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.attempt import trickle_of, warm_up
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import read_access_log
from kafka_pareto.drivers.log_pipeline.study import LogPipelineProtocol
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline

pytestmark = pytest.mark.fast

WANTED = Wanted("run", "7.0", rate_s=100.0, seconds=60, burst_from_s=20.0, burst_until_s=30.0, burst_times=2.0)
PROTOCOL = LogPipelineProtocol(repetitions=3, seconds=60, warmup_s=15, drain_s=90)


class Recorded:
    """Records and logs each request; Hive catches up after a few checks."""

    def __init__(self, log_file: Path, looks: int, *, is_new: bool = True) -> None:
        self.log_file = log_file
        self.is_new = is_new
        self.sent: list[Wanted] = []
        self.waited: list[tuple[int, float]] = []
        self.load = SimpleNamespace(send=self._send, trickle=self._send)
        self.pipeline = SimpleNamespace(wait_until_committed=self._wait)
        self._looks = looks

    def logged(self) -> pd.DataFrame:
        return read_access_log(self.log_file)

    def _send(self, wanted: Wanted) -> None:
        self.sent.append(wanted)
        with self.log_file.open("a") as log:
            log.write('{"request_id": "a", "t0": 1.0}\n' * round(wanted.rate_s * wanted.seconds))

    def _wait(self, rows: int, seconds: float, meanwhile: Callable[[], None]) -> bool:
        self.waited.append((rows, seconds))
        for _ in range(self._looks):
            meanwhile()
        return True


def test_a_few_requests_follow_until_the_warm_up_is_in_hive(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "access.log", looks=3)

    assert warm_up(cast("OpenPipeline", recorded), WANTED, PROTOCOL)

    first, *trickle = recorded.sent
    assert (first.rate_s, first.seconds, first.burst_until_s) == (100.0, 15, 0.0)
    assert recorded.waited == [(1500, 90.0)]  # none of those that follow
    assert {(each.rate_s, each.seconds, each.burst_until_s) for each in trickle} == {(5.0, 1.0, 0.0)}
    assert len({each.run for each in (WANTED, first, *trickle)}) == len({each.seed for each in trickle}) + 2 == 5
    # They are far below a low load, and no requests of a log that is replayed.
    low = Wanted("run", "7.0", rate_s=10.0, seconds=60, workload="replay")
    assert (trickle_of(low, 0).rate_s, trickle_of(low, 0).workload) == (2.0, "static")
    assert trickle_of(WANTED, 0).workload == "shop"


def test_parts_that_have_run_a_window_get_a_few_requests_only(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "access.log", looks=2, is_new=False)

    assert warm_up(cast("OpenPipeline", recorded), WANTED, PROTOCOL)

    assert [(each.rate_s, each.seconds) for each in recorded.sent] == [(5.0, 1.0)] * 3
    assert len({each.run for each in recorded.sent}) == 3
    assert recorded.waited == [(5, 90.0)]
