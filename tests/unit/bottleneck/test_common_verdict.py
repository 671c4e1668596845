"""The common verdict on several repetitions."""

from __future__ import annotations

import pytest

from kafka_pareto.bottleneck.common_verdict import common_code, common_verdict
from kafka_pareto.bottleneck.limiting_resource import NONE_FOUND, Verdict

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("codes", "common"),
    [
        ([], None),
        ([None, None], None),
        (["cpu", "cpu", "disk"], "cpu"),
        (["cpu", "disk"], "cpu"),
        (["cpu", "disk", "gc"], ""),
        (["", "", "cpu"], ""),
        (["", "cpu"], "cpu"),
        (["cpu", None, None], ""),
    ],
)
def test_a_code_is_common_where_at_least_half_of_the_repetitions_carry_it(codes: list[str | None], common: str | None):
    assert common_code(codes) == common


def test_a_number_that_few_of_the_repetitions_were_judged_by_has_no_part_in_the_common_verdict():
    by_cores = Verdict("cpu", {"host_cpu_busy_fraction": 0.9})
    by_codec = Verdict("cpu", {"host_cpu_busy_fraction": 0.6, "sending_wait_fraction": 0.1})
    found = common_verdict([by_codec, by_cores, by_cores])
    assert found.numbers == pytest.approx({"host_cpu_busy_fraction": 0.8})


def test_a_common_verdict_has_the_means_of_the_repetitions_that_share_it():
    found = common_verdict(
        [
            Verdict("cpu", {"host_cpu_busy_fraction": 0.9, "broker_cpu_cores": 1.0}),
            Verdict("cpu", {"host_cpu_busy_fraction": 0.8}),
            Verdict("disk", {"host_cpu_busy_fraction": 0.1}),
        ]
    )
    assert found.code == "cpu"
    assert found.numbers == pytest.approx({"host_cpu_busy_fraction": 0.85, "broker_cpu_cores": 1.0})


@pytest.mark.parametrize("verdicts", [[], [NONE_FOUND] * 3, [Verdict("cpu", {"x": 1.0}), NONE_FOUND, NONE_FOUND]])
def test_without_a_verdict_in_most_repetitions_there_is_no_common_verdict(verdicts: list[Verdict]):
    assert common_verdict(verdicts) == NONE_FOUND
