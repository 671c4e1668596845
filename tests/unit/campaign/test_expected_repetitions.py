"""How many repetitions a campaign can still come to, and how many are likely."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from kafka_pareto.campaign.expected_repetitions import ExpectedRepetitions, Part
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.measurement.cost import plan_campaign
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import tune_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast


def expected_of(name: str, configurations: int = 7) -> ExpectedRepetitions:
    study = tune_study(load_study(STUDIES / f"{name}.yaml"))
    return ExpectedRepetitions(
        study, plan_campaign(study, ProducerRuntime()), Counter(dict.fromkeys(study.cases, configurations))
    )


def confirmed(case: str, repetitions: int, *, ended: bool = True) -> Part:
    return Part(case, None, (datetime(2026, 11, 27, tzinfo=UTC),) * repetitions, ended)


def test_fixed_blocks_are_likely_to_be_measured_all() -> None:
    expected = expected_of("paper", configurations=61)
    assert expected.likely([], {}) == expected.most([], {}) == 4900


def test_sequential_blocks_are_likely_to_end_early() -> None:
    expected = expected_of("quick")
    # The choice of four, then five blocks and four final ones of the pick, the baseline and the best advice.
    assert expected.likely([], {}) == 5 * (7 + 4 * 2 + 3 * (5 + 4))
    assert expected.likely([], {}) < expected.most([], {})


def test_confirmations_that_ended_tell_of_those_that_go_on() -> None:
    expected = expected_of("quick")
    ended = [confirmed("1024", 20), confirmed("8192", 40)]
    assert expected.likely(ended, {}) == 5 * 7 + 20 + 40 + 3 * 30
    beyond = [*ended, confirmed("10240", 50, ended=False)]
    assert expected.likely(beyond, {}) == 5 * 7 + 20 + 40 + 50 + 3 + 2 * 30


def test_nothing_is_left_once_all_have_ended() -> None:
    expected = expected_of("quick")
    ended = [confirmed(case, 10) for case in expected.study.cases]
    assert expected.likely(ended, {}) == expected.most(ended, {}) == 5 * 7 + 5 * 10
