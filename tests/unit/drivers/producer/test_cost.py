"""The planned cost of a campaign."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.producer.cost import RAMP_FRACTIONS, RAMP_STEP_S, RAMP_WARMUP_S, require_possible_loads
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.errors import PlanError
from kafka_pareto.measurement.cost import describe_plan, plan_campaign, plan_check
from kafka_pareto.study.sections import Confirmation
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_named_study, parse_study
from tests.recorded import STUDIES
from tests.small_quick import small_quick

pytestmark = pytest.mark.fast


def altered(name: str, protocol: dict[str, Any], **changes: Any) -> Study:
    content = small_quick() if name == "quick" else yaml.safe_load((STUDIES / f"{name}.yaml").read_text())
    content |= changes
    content["protocol"] |= protocol
    return parse_study(yaml.safe_dump(content), f"{name} (altered)")


def planned(study: Study) -> Plan:
    return plan_campaign(study, ProducerRuntime())


def burst_s(size_bytes: int, mib_s: float = 40.0) -> float:
    """Return the planned seconds of a burst of 1,000 records: the tool's start, and the size at a rate."""
    return 1.6 + 1000 * size_bytes / (mib_s * (1 << 20))


def test_the_paper_takes_3050_repetitions_and_1550_to_1850_to_confirm():
    plan = planned(load_named_study(STUDIES, "paper"))

    assert plan.repetitions == 5 * 61 * 10 + 5 * (31 * 10 + 2 * (10 + 10 + 10)) == 3050 + 1850
    assert (plan.fewest_repetitions, plan.noise_repetitions) == (3050 + 1550, 0)


def test_quick_is_planned_in_minutes_and_measures_no_noise():
    plan = planned(load_named_study(STUDIES, "quick"))

    assert plan.noise_repetitions == 0
    most = 7 + 4 * 2 + 3 * (12 + 4)  # the best advice is in every block after the choice
    assert (plan.fewest_repetitions, plan.repetitions) == (5 * (7 + 4 * 2), 5 * most)
    assert plan.fewest_duration_s is not None
    assert 4 * 60 < plan.fewest_duration_s < 6 * 60
    assert 12 * 60 < plan.duration_s < 14 * 60  # seen: 12 and 13 minutes


def test_adaptive_repetitions_and_rounds_are_planned_from_the_fewest_to_the_most_with_the_noise_among_both():
    adaptive = {"repetitions": 5, "minimum_valid_repetitions": 3, "adaptive": {"minimum_repetitions": 3}}
    plan = planned(altered("steady", adaptive))

    beside_the_trials, claim = 8 + 7 * 4, 3 * (24 + 10)
    assert plan.repetitions == 5 * ((17 + 3 * 7) * 5 + beside_the_trials + claim)
    assert plan.fewest_repetitions == 5 * (17 * 3 + beside_the_trials)
    assert plan.noise_repetitions == 5 * 8
    assert describe_plan(plan).startswith(
        f"plan: {plan.fewest_repetitions} to {plan.repetitions} repetitions (40 for the noise report), about "
    )
    assert "up to" in describe_plan(plan)


def test_rounds_alone_are_planned_from_none_to_all_of_them():
    study = load_named_study(STUDIES, "cold_burst")
    plan = planned(study)

    beside_the_rounds, claim = 17 + 9 * 5, 3 * (30 + 10)
    assert plan.repetitions == 5 * (beside_the_rounds + 4 * 9 + claim)
    assert plan.fewest_repetitions == 5 * beside_the_rounds
    four_rounds_s = 4 * (5 * 6.0 + 30.0)  # five tasks and an analysis in each
    assert plan.duration_s - (plan.fewest_duration_s or 0.0) == pytest.approx(
        four_rounds_s + (4 * 9 + claim) * sum(burst_s(size) for size in study.record_sizes_bytes)
    )
    assert describe_plan(plan).startswith("plan: 310 to 1090 repetitions, about ")


def test_active_settings_are_planned_in_every_block_of_their_record_size():
    study = load_named_study(STUDIES, "cold_burst")
    plan = plan_campaign(study, ProducerRuntime(), ["1024", "8192"])

    assert plan.repetitions == planned(study).repetitions + 2 * (5 + 30 + 10)


def test_a_study_that_can_claim_nothing_plans_no_final_blocks():
    confirmation = Confirmation(points=3, choice_blocks=2, gain_blocks=2, minimum_blocks=10)

    assert confirmation.most_repetitions() == 4 * 2 + 2 * 2


def test_more_blocks_follow_fixed_ones_only():
    counts = {"points": 3, "choice_blocks": 2, "gain_blocks": 20, "final_blocks": 4, "more_blocks": 6}

    assert Confirmation(**counts).most_repetitions() == 4 * 2 + 2 * (20 + 4 + 6)
    assert Confirmation(**counts, stopping="sequential").most_repetitions() == 4 * 2 + 2 * (20 + 4)


def test_the_loads_that_find_the_rate_are_part_of_the_plan():
    paced = planned(load_named_study(STUDIES, "steady"))
    repetition_s = 2.2 + 1.0 + 2.0 + 0.5 + 2.0

    # For each record size, three times 4 s as fast as it goes and five steps of 2.5 s, each in a JVM of its own.
    ramps_s = 5 * (3 * (2.2 + 4.0) + 5 * (2.2 + 2.5))
    # Design, three rounds and confirmation start a task for each; four analyses, and the report.
    between_loads_s = 5 * 5 * 6.0 + 4 * 30.0 + 30.0
    assert paced.duration_s == pytest.approx(paced.repetitions * repetition_s + ramps_s + between_loads_s)


def test_a_cool_down_lengthens_every_repetition():
    without, with_it = planned(altered("quick", {})), planned(altered("quick", {"cool_down_s": 2.0}))

    assert with_it.duration_s - without.duration_s == pytest.approx(2.0 * without.repetitions)


def test_a_limited_rate_stretches_every_burst():
    limited = planned(altered("paper", {"throughput_limit_mib_s": 1.0}))
    without = planned(altered("paper", {}))

    sizes = (1024, 8192, 10240, 16383, 65636)
    bursts_s = sum((61 * 10 + 370) * (burst_s(size, mib_s=1.0) - burst_s(size)) for size in sizes)
    assert limited.duration_s - without.duration_s == pytest.approx(bursts_s)
    assert limited.repetitions == without.repetitions


def test_bursts_that_take_longer_than_the_timeout_are_refused_with_both_numbers():
    study = altered("paper", {"throughput_limit_mib_s": 0.5})

    with pytest.raises(PlanError, match=r"0\.5 MiB/s .* takes 125 s, but protocol\.timeout_s is 120 s"):
        require_possible_loads(study)


def test_a_stated_rate_above_the_limit_is_refused_with_both_numbers():
    generator = {"kind": "steady", "load_tool": "load_generator", "seconds": 2.0, "records": None}
    generator |= {"throughput_limit_mib_s": 20.0, "paced": {"rate_records_s": 4096, "seconds": 2.0}}
    allowed = altered("quick", generator, record_sizes_bytes=[5120])
    require_possible_loads(allowed)

    with pytest.raises(PlanError, match=r"4,096 records of 8,192 bytes are 32 MiB/s, but at most 20 MiB/s are allowed"):
        require_possible_loads(altered("quick", generator, record_sizes_bytes=[1024, 8192]))


def test_a_paced_repetition_is_planned_to_send_its_fraction_of_the_limit():
    steady = {"kind": "steady", "seconds": 10.0, "records": None, "throughput_limit_mib_s": 100.0}
    unthrottled = planned(altered("quick", steady))
    halved = planned(altered("quick", steady | {"paced": {"rate_fraction": 0.5}}))

    ramp_gib = 5 * 5 * 2.5 * 100 / 1024
    pilots_gib = 5 * 4 * 4.0 * 100 / 1024
    assert halved.sent_gib - ramp_gib - pilots_gib == pytest.approx((unthrottled.sent_gib - pilots_gib) / 2)


def test_a_stated_rate_counts_by_its_records_and_without_a_ramp():
    generator = {"kind": "steady", "load_tool": "load_generator", "seconds": 2.0, "records": None}
    generator |= {"throughput_limit_mib_s": 100.0, "timeout_s": 200.0}
    one = {"record_sizes_bytes": [1024]}
    few = planned(altered("quick", generator | {"paced": {"rate_records_s": 1, "seconds": 30.0}}, **one))
    many = planned(altered("quick", generator | {"paced": {"rate_records_s": 1024, "seconds": 30.0}}, **one))
    most = planned(altered("quick", generator | {"paced": {"rate_records_s": 1e9, "seconds": 30.0}}, **one))
    share = planned(altered("quick", generator | {"paced": {"rate_fraction": 1.0, "seconds": 30.0}}, **one))

    ramp_s = len(RAMP_FRACTIONS) * (RAMP_WARMUP_S + RAMP_STEP_S)
    assert many.sent_gib - few.sent_gib == pytest.approx(many.repetitions * 30 * (1 - 1 / 1024) / 1024, rel=1e-3)
    assert share.sent_gib - most.sent_gib == pytest.approx(ramp_s * 100 / 1024)
    assert many.duration_s < share.duration_s


def test_one_factor_at_a_time_is_planned_from_the_feasible_levels_of_each_record_size():
    study = altered("quick", {}, design={"method": "one_at_a_time"}, record_sizes_bytes=[1024, 65636])

    # All 8 other batch sizes are feasible at 1,024 B, two at 65,636 B; the other factors have 3 + 2 + 4 further levels,
    # which the baseline's batch.size of 16,384 makes infeasible at 65,636 B.
    confirmed = 4 * 2 + 2 * (12 + 4)
    assert planned(study).repetitions == 2 * (1 + 8 + 9) + 2 * (1 + 2) + 2 * confirmed


def test_a_check_of_quick_is_planned_in_under_three_minutes():
    study = load_named_study(STUDIES, "quick")
    plan = plan_check(study, ProducerRuntime(), study.cases)

    assert plan.repetitions == 5 * 2 * 5
    assert plan.duration_s < 2.5 * 60  # starting and ending its tasks comes on top


def test_a_warm_jvm_is_planned_to_take_less_around_each_load():
    fresh, warm = (planned(altered("steady", {"jvm": jvm})) for jvm in ("fresh", "warm"))

    assert warm.repetitions == fresh.repetitions
    assert warm.duration_s < fresh.duration_s - warm.repetitions
