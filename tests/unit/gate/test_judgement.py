from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.gate.judgement import judge
from tests.unit.deciding import CASE
from tests.unit.gate.made_gate import measured, study_with

pytestmark = pytest.mark.fast
STUDY = study_with()


def test_equal_sides_hold_conditions_with_a_margin() -> None:
    judged = judge(STUDY, CASE, measured(STUDY))
    assert judged.verdict == "holds"
    assert [each.verdict for each in judged.conditions] == ["holds", "holds"]
    p95 = judged.conditions[0]
    assert p95.low is not None
    assert p95.high is not None
    assert p95.low < 1 < p95.high < 1.1
    assert p95.value == pytest.approx(1, abs=0.02)
    assert (p95.blocks, judged.blocks) == (10, 10)


def test_a_ratio_beyond_its_bound_is_broken_and_one_near_it_undecided() -> None:
    assert judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 130))).verdict == "broken"
    near = judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 109), spread=0.05))
    assert (near.verdict, near.conditions[0].verdict) == ("undecided", "undecided")


def test_a_faster_candidate_breaks_nothing() -> None:
    judged = judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 50), throughput_mib_s=(20, 40)))
    assert judged.verdict == "holds"


def test_a_bound_in_units_is_compared_with_the_candidates_own_geometric_mean() -> None:
    study = study_with("throughput_mib_s > 18", "p95_latency_ms < 90")
    throughput, p95 = judge(study, CASE, measured(study, throughput_mib_s=(5, 20))).conditions
    assert (throughput.verdict, p95.verdict) == ("holds", "broken")
    assert throughput.value == pytest.approx(20, rel=0.01)
    assert p95.value == pytest.approx(100, rel=0.01)


def test_a_cv_is_compared_with_the_references_once_all_blocks_are_measured() -> None:
    study = study_with("latency_cv < 3 * reference")
    (alike,) = judge(study, CASE, measured(study, blocks=30)).conditions
    assert alike.value == pytest.approx(1, rel=0.6)
    assert alike.verdict == "holds"
    spread_out = [
        each
        if each.configuration_id == study.baseline_id()
        else each.with_values({"latency_p95_ms": 100 * (1 + (each.quantities["latency_p95_ms"] / 100 - 1) * 30)})
        for each in measured(study, blocks=30)
    ]
    assert judge(study, CASE, spread_out).verdict == "broken"
    before_the_last = judge(study, CASE, [each for each in spread_out if each.block < 29])
    assert (before_the_last.verdict, before_the_last.may_be_decided) == ("undecided", True)
    assert before_the_last.conditions[0].low is not None
    assert before_the_last.conditions[0].low > 3


def test_lost_records_break_a_gate_at_any_speed() -> None:
    judged = judge(STUDY, CASE, measured(STUDY, throughput_mib_s=(20, 40), outcomes=["records_lost"]))
    assert judged.verdict == "broken"
    assert judged.harm == ["records were lost or duplicated in 1 repetition"]


def test_more_failures_break_a_gate_once_chance_is_ruled_out() -> None:
    some = judge(STUDY, CASE, measured(STUDY, spread=0.003, outcomes=["failed"] * 5))
    assert [each.verdict for each in some.conditions] == ["holds", "holds"]
    assert (some.verdict, some.harm) == ("undecided", [])
    assert some.doubts == ["5 attempts failed or disrupted the cluster, versus 0 of the reference"]
    all_failed = judge(STUDY, CASE, measured(STUDY, outcomes=["failed"] * 10))
    assert all_failed.verdict == "broken"
    assert all_failed.harm == ["10 attempts failed or disrupted the cluster, versus 0 of the reference"]


def test_disruptions_of_the_cluster_count_as_failures_do() -> None:
    equal = measured(STUDY, spread=0.003)
    assert judge(STUDY, CASE, equal).verdict == "holds"
    candidate = [each for each in equal if each.configuration_id != STUDY.baseline_id()]
    rejected = [each.with_values({"upsets": 1}) for each in candidate]
    once = judge(STUDY, CASE, equal, rejected[:1])
    assert (once.verdict, once.harm) == ("undecided", [])
    assert once.doubts == ["1 attempt failed or disrupted the cluster, versus 0 of the reference"]
    assert judge(STUDY, CASE, equal, rejected * 2).verdict == "broken"
    repeated = [each.with_values({"attempts": 3, "upsets": 2}) if each in candidate else each for each in equal]
    assert judge(STUDY, CASE, repeated).harm == [
        "20 attempts failed or disrupted the cluster, versus 0 of the reference"
    ]


def test_one_block_decides_nothing_and_is_followed_by_more() -> None:
    judged = judge(STUDY, CASE, measured(STUDY, blocks=1))
    assert (judged.verdict, judged.may_be_decided) == ("undecided", True)
    assert judged.conditions[0].low is None


def test_measuring_ends_where_the_blocks_left_could_hardly_decide() -> None:
    hopeless = study_with("p95_latency_ms < 1.001 * reference", blocks=12)
    judged = judge(hopeless, CASE, measured(hopeless, spread=0.2, blocks=10))
    assert (judged.verdict, judged.may_be_decided) == ("undecided", False)
    assert judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 106), spread=0.05, blocks=8)).may_be_decided


@pytest.mark.parametrize("blocks", [2, 5, 30])
def test_the_verdict_follows_from_the_interval_shown(blocks: int) -> None:
    rng = np.random.default_rng(blocks)
    for _ in range(20):
        ratio = float(rng.uniform(0.8, 1.4))
        judged = judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 100 * ratio), spread=0.05, blocks=blocks))
        p95 = judged.conditions[0]
        if p95.low is None or p95.high is None:
            assert p95.verdict == "undecided"
        else:
            expected = "holds" if p95.high < 1.1 else "broken" if p95.low > 1.1 else "undecided"
            assert p95.verdict == expected
