"""Outcomes of a group of consumers, and remarks on valid ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_pareto.drivers.consumer.attempt import judge
from kafka_pareto.drivers.consumer.load import ConsumerResult
from kafka_pareto.drivers.consumer.quantities import ConsumerQuantities, LiveFigures, ReadingFigures

pytestmark = pytest.mark.fast

FIGURES = ReadingFigures(measured_s=2.0, read_records_s=50.0, poll_idle_fraction=0.5, consumer_threads_cpu_s=1.0)
READ = ConsumerQuantities(
    mode="drain", group_size=2, records_expected=100, records_read=100, records_lost=0, records_twice=0, figures=FIGURES
)
LIVE = LiveFigures(live_rate_asked_records_s=100.0, live_rate_records_s=99.0, live_records_unread=0)
FOLLOWED = replace(READ, mode="live", live=LIVE)


def result(quantities: ConsumerQuantities, unread: int = 0, moved: int = 0) -> ConsumerResult:
    return ConsumerResult(quantities, 0, unread, moved, (), wall_s=3.0, client_cpu_s=1.0, errors="")


def test_a_group_that_read_each_record_once_counts_without_reservation() -> None:
    assert judge([result(READ), result(FOLLOWED)]) == ("valid", "")


@pytest.mark.parametrize(
    ("found", "outcome", "reason"),
    [
        (result(replace(READ, records_lost=3)), "records_lost", "3 of 100 records were skipped"),
        (result(replace(READ, records_twice=2)), "records_duplicated", "2 records were read more than once"),
        (result(replace(READ, records_read=90), unread=10), "failed", "90 of 100 records were read"),
        (result(replace(READ, figures=None)), "failed", "no measurement"),
    ],
)
def test_records_not_read_exactly_once_do_not_count(found: ConsumerResult, outcome: str, reason: str) -> None:
    judged = judge([found])
    assert judged[0] == outcome
    assert reason in judged[1]


def test_a_group_that_lags_counts_with_lower_bounds() -> None:
    lagging = replace(FOLLOWED, live=replace(LIVE, live_records_unread=40, live_rate_records_s=50.0))
    outcome, reason = judge([result(READ), result(lagging, unread=40, moved=1)])

    assert outcome == "valid"
    assert "lower bounds: 40 records not read in time" in reason
    assert "50 of 100 records/s were sent" in reason
    assert "partitions moved 1 time" in reason
