"""One attempt at a repetition on the seeded fake."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.producer.attempt import attempt_repetition, request_for
from kafka_pareto.drivers.producer.sizing import sizing_of
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.kafka.end_offsets import EndOffsets
from tests.unit.measuring import CASE, measuring

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("cores", "said"), [(1.3, "it used 103 % of 1.3 cores for 0.9 s"), (2.0, "")])
def test_the_load_generators_saturation_is_judged_by_its_allowed_cores(tmp_path: Path, cores: float, said: str):
    with measuring(tmp_path) as m:
        study, planned = ProducerStudy.of(m.campaign.study), m.planned()[0]
        sizing, configuration = sizing_of(m.campaign, CASE, m.testbed), planned.candidate.configuration
        request = request_for(CASE, configuration, study, sizing, m.testbed.topic)
        guard, offsets = ClusterGuard(study, m.cluster, m.testbed.topic), EndOffsets(m.cluster, m.testbed.topic)
        offsets.begin()
        healthy = guard.require_healthy()
        attempt, _ = attempt_repetition(request, m.testbed, guard, healthy, offsets, cores)
    assert str(attempt.quantities["generator_bound"]).endswith(said)
    assert bool(attempt.quantities["generator_bound"]) == bool(said)
    assert (attempt.quantities["limited_by"] == "load_tool") == bool(said)


def test_a_repetition_whose_rate_limited_part_began_during_write_back_counts_with_a_note(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.tool.after_run = lambda result: replace(result, is_settled=False, settling_s=5.0)
        measured = m.measure()
    assert {repetition.outcome for repetition in measured} == {"valid"}
    assert {repetition.reason for repetition in measured} == {
        "latencies may be too high: after a pause of 5.0 s the machine was still writing data of the unthrottled phase "
        "when the paced phase began"
    }
