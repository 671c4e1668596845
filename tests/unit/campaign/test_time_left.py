"""A campaign's estimated time while it runs: from its plan and the times its repetitions were stored."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from kafka_pareto.campaign.records import Plan
from kafka_pareto.campaign.time_left import (
    ANALYSIS_S,
    REPORT_S,
    TASK_START_S,
    ExpectedRepetitions,
    Part,
    TimeLeft,
    time_left,
)
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.measurement.cost import plan_campaign
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

BEGAN = datetime(2026, 11, 27, tzinfo=UTC)
STEADY = tune_study(load_study(STUDIES / "steady.yaml"))
STUDY: Tune = STEADY.model_copy(update={"strategy": "one_shot", "record_sizes_bytes": [1024, 8192], "advice": False})
IN_DESIGN, TO_CONFIRM = 17, STUDY.confirmation.likely_repetitions()
PLANNED_S, START_S = 8.0, 40.0
PLAN = Plan(
    repetitions=1_000,
    confirmation_repetitions=dict.fromkeys(STUDY.cases, STUDY.confirmation.most_repetitions()),
    duration_s=8_000.0,
    start_s=dict.fromkeys(STUDY.cases, START_S),
    repetition_s=dict.fromkeys(STUDY.cases, PLANNED_S),
    sent_gib=1.0,
    peak_disk_gib=1.0,
)
EXPECTED = ExpectedRepetitions(STUDY, PLAN, Counter(dict.fromkeys(STUDY.cases, IN_DESIGN)))


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def part(case: str, round_number: int | None, first_s: float, count: int, every_s: float, *, ended: bool) -> Part:
    return Part(case, round_number, tuple(after(first_s + number * every_s) for number in range(count)), ended)


def left(parts: list[Part], now_s: float) -> TimeLeft:
    return time_left(EXPECTED, parts, {}, BEGAN, after(now_s))


def confirmed(now_s: float = 0.0) -> list[Part]:
    """Lists all parts of a campaign that has measured everything by then."""
    designed = [part(case, 0, now_s - 400, IN_DESIGN, 8.0, ended=True) for case in STUDY.cases]
    return [*designed, *(part(case, None, now_s - 200, 20, 10.0, ended=True) for case in STUDY.cases)]


def test_before_the_first_repetition_only_the_plan_is_known() -> None:
    starts_s = 2 * (START_S + TASK_START_S) + 2 * TASK_START_S
    measuring_s = 2 * (IN_DESIGN + TO_CONFIRM) * PLANNED_S
    found = left([], 0.0)
    assert found.likely_s == pytest.approx(starts_s + measuring_s + ANALYSIS_S + REPORT_S)
    assert left([], 20.0).likely_s == pytest.approx(found.likely_s - 20.0)
    assert 0 < found.low_s < found.likely_s < found.high_s


def test_repetitions_that_take_half_of_the_plan_shorten_all_that_follow() -> None:
    begun = part("1024", 0, 100.0, 16, PLANNED_S / 2, ended=False)
    planned = part("1024", 0, 100.0, 16, PLANNED_S, ended=False)
    fast, slow = (left([each], (each.stored_at[-1] - BEGAN).total_seconds()).likely_s for each in (begun, planned))
    assert 0.5 < fast / slow < 0.7  # what lies between repetitions stays as planned


def test_one_case_that_is_slow_is_slow_again_and_lengthens_the_others_less() -> None:
    parts = [part("1024", 0, 50.0, IN_DESIGN, 8.0, ended=True), part("8192", 0, 250.0, IN_DESIGN, 16.0, ended=True)]
    now_s = 250.0 + IN_DESIGN * 16.0
    of_small = part("1024", None, now_s + 40, 1, 8.0, ended=False)
    both, small_done = left(parts, now_s).likely_s, left([*parts, of_small], now_s + 40).likely_s
    ended = left([*parts, part("1024", None, now_s + 40, TO_CONFIRM, 8.0, ended=True)], now_s + 40 + TO_CONFIRM * 8)
    assert small_done < both
    # What is left then is the slow case alone: more than half of it, though half of the repetitions.
    assert ended.likely_s > 0.55 * small_done


def test_a_night_between_two_repetitions_does_not_slow_the_estimate() -> None:
    stored_at = part("1024", 0, 60.0, 10, PLANNED_S, ended=False).stored_at
    resumed = [*stored_at[:5], *(when + timedelta(hours=9) for when in stored_at[5:])]
    interrupted = Part("1024", 0, tuple(resumed), ended=False)
    began = resumed[5] - timedelta(seconds=30)
    found = time_left(EXPECTED, [interrupted], {}, began, resumed[-1])
    undisturbed = left([Part("1024", 0, stored_at, ended=False)], (stored_at[-1] - BEGAN).total_seconds())
    assert found.likely_s == pytest.approx(undisturbed.likely_s, rel=0.8)
    assert found.likely_s < 2 * undisturbed.likely_s


def test_while_the_report_is_written_time_is_left_and_never_nothing() -> None:
    ends_s = 1_000.0
    parts = confirmed(ends_s)
    said = [left(parts, ends_s + seconds).likely_s for seconds in range(0, 300, 5)]
    assert said[0] == pytest.approx(REPORT_S - 10.0)  # ten seconds after the last repetition
    assert said[1] < said[0]
    assert min(said) >= 1.0
    assert said[-1] > 60.0  # what takes ten times as long as expected does not end in a moment


def test_a_confirmation_longer_than_expected_has_at_least_one_block_left() -> None:
    parts = [*confirmed(500.0)[:2], part("1024", None, 500.0, 10, 8.0, ended=True)]
    beyond = part("8192", None, 700.0, 30, 8.0, ended=False)  # the other one took ten
    assert EXPECTED.likely([*parts, beyond], {}) == 2 * IN_DESIGN + 10 + 30 + 2
    assert left([*parts, beyond], 700.0 + 29 * 8.0).likely_s > REPORT_S + PLANNED_S


def test_rounds_that_are_not_decided_count_by_how_often_they_follow() -> None:
    study = STUDY.model_copy(update={"strategy": "rounds"})
    expected = ExpectedRepetitions(study, PLAN, EXPECTED.configurations)
    in_a_round = study.rounds.configurations + 1
    beside = 2 * (IN_DESIGN + TO_CONFIRM)
    assert study.rounds.maximum == 3
    assert expected.likely([], {}) == beside + round(2 * in_a_round * (1 + 0.84 + 0.84**2))
    one_stopped = {1: STUDY.cases, 2: ["8192"]}
    assert expected.likely([], one_stopped) == beside + round(in_a_round * (2 + 1 + 0.84))
    assert expected.likely([], {1: STUDY.cases, 2: [], 3: []}) == beside + 2 * in_a_round


def expected_of(name: str, configurations: int = 7) -> ExpectedRepetitions:
    study = tune_study(load_study(STUDIES / f"{name}.yaml"))
    return ExpectedRepetitions(
        study, plan_campaign(study, ProducerRuntime()), Counter(dict.fromkeys(study.cases, configurations))
    )


def confirmation_of(case: str, repetitions: int, *, ended: bool = True) -> Part:
    return Part(case, None, (datetime(2026, 11, 27, tzinfo=UTC),) * repetitions, ended)


def test_fixed_blocks_are_likely_to_be_measured_all_and_sequential_ones_to_end_early() -> None:
    fixed, sequential = expected_of("paper", configurations=61), expected_of("quick")
    assert fixed.likely([], {}) == fixed.most([], {}) == 4900
    # The choice of four, then five blocks and four final ones of the pick, the baseline and the best advice.
    assert sequential.likely([], {}) == 5 * (7 + 4 * 2 + 3 * (5 + 4)) < sequential.most([], {})


def test_finished_confirmations_predict_the_running_ones_until_all_have_ended() -> None:
    expected = expected_of("quick")
    ended = [confirmation_of("1024", 20), confirmation_of("8192", 40)]
    assert expected.likely(ended, {}) == 5 * 7 + 20 + 40 + 3 * 30
    beyond = [*ended, confirmation_of("10240", 50, ended=False)]
    assert expected.likely(beyond, {}) == 5 * 7 + 20 + 40 + 50 + 3 + 2 * 30
    all_of_them = [confirmation_of(case, 10) for case in expected.study.cases]
    assert expected.likely(all_of_them, {}) == expected.most(all_of_them, {}) == 5 * 7 + 5 * 10
