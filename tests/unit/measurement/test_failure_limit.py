"""The early stop of a campaign whose repetitions fail; on the seeded fake."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import GateError, LoadToolError
from kafka_pareto.measurement.failure_limit import failure_table
from kafka_pareto.steps import measure
from tests.unit.measuring import CASE, IN_A_BLOCK, PLANNED, measuring, quick

pytestmark = pytest.mark.fast


def test_more_failures_than_the_study_tolerates_stop_the_campaign_with_a_table(tmp_path: Path):
    study = quick(record_sizes_bytes=[int(CASE)], validation={"tolerated_rejected_fraction": 0.2})
    with measuring(tmp_path, study) as m:
        m.fail(LoadToolError("the machine\nhiccuped"))
        with pytest.raises(GateError) as stop:
            m.measure()
    message = str(stop.value)

    assert [r.outcome for r in m.stored()] == ["failed"] * 3
    assert "3 of 12 planned repetitions failed; the study tolerates 20.0 %" in message
    assert len(message.splitlines()) == 1 + 1 + 3
    for failed in m.stored():
        (line,) = [line for line in message.splitlines() if failed.repetition_id in line]
        assert f"acks={failed.configuration['acks']}" in line
        assert line.endswith("the machine hiccuped")


def test_failures_of_an_earlier_try_count_so_that_a_stopped_campaign_stays_stopped(tmp_path: Path):
    study = quick(record_sizes_bytes=[int(CASE)], validation={"tolerated_rejected_fraction": 0.0})
    with measuring(tmp_path, study) as m:
        m.fail(LoadToolError("the machine hiccuped"), lambda _: not m.stored())
        with pytest.raises(GateError, match="1 of 12"):
            m.measure()
        loads = len(m.tool.requests)
        with pytest.raises(GateError, match="1 of 12"):
            m.measure()
        assert len(m.tool.requests) == loads


@pytest.mark.slow
def test_adaptive_trials_that_have_stopped_are_planned_no_more_so_that_a_doomed_campaign_stops(tmp_path: Path):
    """One failure in 60 repetitions would be tolerated; in the fewer of trials that have stopped, it is not."""
    adaptive = {"repetitions": 10, "adaptive": {"minimum_repetitions": 2, "interval_fraction": 0.5}}
    study = quick(record_sizes_bytes=[int(CASE)], protocol=adaptive, validation={"tolerated_rejected_fraction": 0.03})
    with measuring(tmp_path, study) as m:
        m.fail(LoadToolError("the machine hiccuped"), lambda _: not m.stored())
        with pytest.raises(GateError, match=r"^1 of (\d+) planned") as stop:
            measure.run(m.campaign, CASE, ProducerRunner(m.campaign, CASE, m.testbed))
        planned = int(str(stop.value).split()[2])

        assert len(m.stored()) <= planned
        assert 0.03 * planned < 1 <= 0.03 * IN_A_BLOCK * 10


def test_the_table_names_twenty_failures_and_counts_the_others(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.measure()
    lines = failure_table(m.stored() * 2).splitlines()

    assert [word in lines[0] for word in ("repetition", "attempts", "configuration", "reason")] == [True] * 4
    assert len(lines) == 1 + 20 + 1
    assert lines[-1].strip() == f"… and {2 * PLANNED - 20} more"
    assert any("baseline: acks=all" in line for line in lines)
