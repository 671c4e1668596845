from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import MissedLimit, choose
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import Lexicographic, Limit, ObjectiveName, Weighted
from kafka_pareto.study.study import Study
from tests.unit.deciding import FAST, OTHER, WEAK, around, baseline, candidates, repetitions, study_of

pytestmark = pytest.mark.fast


FAST_ID, OTHER_ID = configuration_id(FAST), configuration_id(OTHER)


def in_order(*objectives: ObjectiveName, within_fraction: float = 0.05) -> Study:
    return study_of(choose_by=Lexicographic(lexicographic=list(objectives), within_fraction=within_fraction))


def chosen_from(study: Study, *measured: list[Repetition]) -> str:
    choice = [*baseline(phase="choice"), *(repetition for one in measured for repetition in one)]
    return choose(study, candidates(FAST, OTHER), choice).configuration_id


def fast(p95_ms: float, throughput_mib_s: float, spread: float = 0.05) -> list[Repetition]:
    return repetitions(FAST, around(p95_ms), around(throughput_mib_s, spread), "choice")


def other(p95_ms: float, throughput_mib_s: float, spread: float = 0.05) -> list[Repetition]:
    return repetitions(OTHER, around(p95_ms), around(throughput_mib_s, spread), "choice")


def with_minimum(valid: int, **confirmation: object) -> Study:
    study = study_of(**confirmation)
    protocol = study.protocol.model_copy(update={"minimum_valid_repetitions": valid})
    return study.model_copy(update={"protocol": protocol})


def test_the_largest_product_of_both_gains_is_chosen_and_the_baseline_where_nothing_beats_it():
    study = study_of()
    assert chosen_from(study, fast(50, 30), other(90, 35)) == FAST_ID
    assert chosen_from(study, fast(200, 30)) == study.baseline_id()


def test_r1_chooses_the_steadiest_for_its_throughput():
    assert chosen_from(study_of(choose_by="r1"), fast(50, 30, spread=0.2), other(90, 25, spread=0.01)) == OTHER_ID


def test_a_configuration_that_is_valid_in_less_than_four_fifths_of_the_blocks_is_not_chosen():
    study = with_minimum(2)
    for valid, chosen in ((8, FAST_ID), (7, study.baseline_id())):
        failed = [r.model_copy(update={"outcome": "failed"}) for r in fast(50, 30)[valid:]]
        assert chosen_from(study, fast(50, 30)[:valid], failed) == chosen


def test_a_configuration_is_scored_on_the_blocks_it_shares_with_the_baseline():
    study = with_minimum(2)
    hard = np.array([200.0] * 2 + [50.0] * 8)  # two blocks in which everything was slow, and in which FAST failed
    beside = repetitions(study.baseline_configuration(), hard, 1000 / hard, "choice")
    fast = repetitions(FAST, hard * 1.1, 900 / hard, "choice")
    fast = [*(r.model_copy(update={"outcome": "failed"}) for r in fast[:2]), *fast[2:]]
    assert choose(study, candidates(FAST), [*beside, *fast]).configuration_id == study.baseline_id()


def test_a_configuration_that_lost_a_single_record_set_is_never_chosen():
    study = with_minimum(5, choice_blocks=9)
    lost = repetitions(FAST, [50], [30], "choice", "records_lost")
    assert chosen_from(study, fast(50, 30)[1:], lost) == study.baseline_id()


def test_a_weaker_durability_than_accepted_and_too_few_valid_repetitions_are_never_chosen():
    study = study_of()
    choice = [*baseline(phase="choice"), *repetitions(WEAK, around(50), around(30), "choice")]
    assert choose(study, candidates(WEAK, accepted=False), choice).configuration_id == study.baseline_id()
    assert chosen_from(study, fast(50, 30)[:4]) == study.baseline_id()


def test_ties_are_broken_by_id_whatever_the_order():
    choice = [*other(50, 30), *baseline(phase="choice"), *fast(50, 30)]
    for names, measured in (((FAST, OTHER), choice), ((OTHER, FAST), choice[::-1])):
        assert choose(study_of(), candidates(*names), measured).configuration_id == min(FAST_ID, OTHER_ID)


def test_latencies_in_microseconds_are_balanced_below_half_a_millisecond():
    study = study_of()
    generator = study.protocol.model_copy(update={"load_tool": "load_generator"})
    choice = [*baseline(p95_ms=0.4, phase="choice"), *fast(0.2, 21, 0.03), *other(0.4, 25, 0.03)]
    for each, chosen in ((study.model_copy(update={"protocol": generator}), FAST_ID), (study, OTHER_ID)):
        assert choose(each, candidates(FAST, OTHER), choice).configuration_id == chosen


@pytest.mark.parametrize(("p95_ms", "chosen"), [(52.4, OTHER_ID), (52.6, FAST_ID)])
def test_the_second_objective_decides_among_those_within_the_fraction_of_the_best(p95_ms: float, chosen: str):
    assert chosen_from(in_order("p95_latency_ms", "throughput_mib_s"), fast(50, 25), other(p95_ms, 30)) == chosen


@pytest.mark.parametrize(("throughput", "chosen"), [(28.6, OTHER_ID), (28.4, FAST_ID)])
def test_an_objective_that_is_maximised_is_within_the_fraction_from_below(throughput: float, chosen: str):
    assert chosen_from(in_order("throughput_mib_s", "p95_latency_ms"), fast(60, 30), other(50, throughput)) == chosen


def test_the_last_objective_of_an_order_decides_outright():
    assert chosen_from(in_order("p95_latency_ms"), fast(50, 30), other(49.9, 20)) == OTHER_ID


def test_the_baseline_stays_unless_beaten_beyond_the_fraction_or_equalled_and_beaten_in_the_next():
    study = in_order("p95_latency_ms", "throughput_mib_s")
    assert chosen_from(study, fast(97, 19)) == study.baseline_id()
    assert chosen_from(study, fast(103, 21)) == FAST_ID
    assert chosen_from(study, fast(94, 19)) == FAST_ID


@pytest.mark.parametrize(("weight", "chosen"), [(1, OTHER_ID), (3, FAST_ID)])
def test_weights_say_how_much_a_gain_in_one_objective_counts_against_another(weight: float, chosen: str):
    study = study_of(choose_by=Weighted(weights={"p95_latency_ms": weight, "throughput_mib_s": 1}))
    assert chosen_from(study, fast(50, 20), other(80, 40)) == chosen


def test_weights_of_one_for_both_means_choose_as_the_balanced_gain():
    weighted = study_of(choose_by=Weighted(weights={"p95_latency_ms": 1, "throughput_mib_s": 1}))
    for measured in ([fast(50, 30), other(90, 35)], [fast(50, 20), other(80, 40)], [fast(120, 20), other(110, 19)]):
        assert chosen_from(weighted, *measured) == chosen_from(study_of(), *measured)


def test_weights_on_a_cv_prefer_the_steadier_of_two_that_are_equal_otherwise():
    study = study_of(choose_by=Weighted(weights={"throughput_mib_s": 1, "throughput_cv": 0.2}))
    assert chosen_from(study, fast(50, 30, spread=0.2), other(50, 30, spread=0.01)) == OTHER_ID


def test_a_cv_of_zero_counts_as_no_gain():
    study = in_order("throughput_cv")
    assert chosen_from(study, fast(50, 30, spread=0), other(50, 30, spread=0.02)) == OTHER_ID
    assert chosen_from(study, fast(50, 30, spread=0), other(50, 30, spread=0.2)) == study.baseline_id()


@pytest.mark.parametrize(
    "asked",
    [
        "r1",
        Lexicographic(lexicographic=["throughput_cv", "p95_latency_ms"]),
        Weighted(weights={"throughput_cv": 1, "p95_latency_ms": 1}),
    ],
)
def test_without_the_cvs_that_are_asked_for_the_choice_falls_back_to_the_balanced_gain(asked: object):
    one = [*baseline(phase="choice", blocks=1), *fast(50, 30)[:1], *other(90, 31)[:1]]
    chosen = choose(study_of(choose_by=asked, choice_blocks=1), candidates(FAST, OTHER), one)
    assert (chosen.configuration_id, chosen.chosen_by) == (FAST_ID, "balanced_gain")


def with_limits(*limits: str) -> Study:
    return study_of().model_copy(update={"limits": [Limit.parse(text) for text in limits]})


def test_a_candidate_that_misses_a_limit_is_not_chosen_however_large_its_gain():
    assert chosen_from(with_limits("p95_latency_ms <= 60"), fast(50, 25), other(70, 80)) == FAST_ID
    assert chosen_from(with_limits("throughput_mib_s >= 30"), fast(50, 25), other(70, 80)) == OTHER_ID


def test_without_a_candidate_within_limits_the_nearest_is_named_with_its_misses():
    study = with_limits("p95_latency_ms <= 40", "throughput_mib_s >= 30")
    choice = [*baseline(phase="choice"), *fast(50, 25), *other(44, 29)]
    chosen = choose(study, candidates(FAST, OTHER), choice)
    assert (chosen.configuration_id, chosen.nearest_configuration_id) == (study.baseline_id(), OTHER_ID)
    assert [missed.limit for missed in chosen.limits_missed] == study.limits
    assert [missed.value for missed in chosen.limits_missed] == pytest.approx([44, 29])


def test_a_limit_on_a_cv_that_is_not_known_is_not_kept():
    study = with_limits("throughput_cv <= 0.5")
    short = study.model_copy(update={"confirmation": study.confirmation.model_copy(update={"choice_blocks": 1})})
    choice = [*baseline(phase="choice", blocks=1), *repetitions(FAST, [50], [30], "choice")]
    chosen = choose(short, candidates(FAST), choice)
    assert chosen.limits_missed == [MissedLimit(limit=study.limits[0], value=None)]


def test_a_baseline_that_misses_a_limit_does_not_keep_a_candidate_from_being_compared():
    study = in_order("throughput_mib_s").model_copy(update={"limits": [Limit.parse("p95_latency_ms <= 60")]})
    assert chosen_from(study, fast(50, 18)) == FAST_ID
    assert chosen_from(in_order("throughput_mib_s"), fast(50, 18)) == study.baseline_id()
