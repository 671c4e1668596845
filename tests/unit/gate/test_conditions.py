from __future__ import annotations

import pytest

from kafka_pareto.study.objectives import Condition

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("p95_latency_ms < 1.05 * reference", "p95_latency_ms < 1.05 * reference"),
        (" throughput_mib_s>40 ", "throughput_mib_s > 40"),
        ("throughput_mib_s > reference", "throughput_mib_s > 1 * reference"),
        ("latency_cv<2*reference", "latency_cv < 2 * reference"),
        ("p95_latency_ms < 5e1", "p95_latency_ms < 50"),
    ],
)
def test_a_condition_is_read_and_written_back_as_the_same(text: str, written: str) -> None:
    found = Condition.parse(text)
    assert str(found) == written
    assert Condition.parse(written) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p95_latency_ms", "'p95_latency_ms' is not a condition: write it like 'p95_latency_ms < 1.05 \\* reference'"),
        ("p95_latency_ms < 1.2.3", "is not a condition"),
        ("p95_latency_ms < 1.05 * baseline", "is not a condition"),
        ("p95_latency < 50", "p95_latency is not an objective; .*did you mean p95_latency_ms"),
        ("p95_latency_ms > 50", "a condition on p95_latency_ms reads 'p95_latency_ms < <a number above 0>'"),
        ("throughput_mib_s < reference", "reads 'throughput_mib_s > <a number above 0>'"),
        ("p95_latency_ms < 0", "a number above 0"),
        ("p95_latency_ms < 1e999", "a number above 0"),
        ("p95_latency_ms < -1 * reference", "a number above 0"),
    ],
)
def test_a_text_that_is_no_condition_is_refused_with_the_form(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Condition.parse(text)
