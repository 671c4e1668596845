from __future__ import annotations

import pytest

from kafka_pareto.comparison.chart_data import axis_kind, is_curve, points_of, tick_text
from tests.unit.comparison.made_parts import (
    BATCH_SIZE,
    THROUGHPUT,
    batch_size_part,
    both,
    codec_part,
    grid_part,
    linger_part,
    made_part,
    record_size_part,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        ((16384, 65536, 262144), "log2"),
        ((100, 128, 256, 512), "log2"),  # all but one
        ((1, 10, 100, 1000), "log10"),
        ((0, 5, 10, 50, 100), "names"),
        ((500, 5000, 10000), "names"),
        ((1, 2), "names"),
        (("lz4", "zstd", "none"), "names"),
        (("1", "all"), "names"),
    ],
)
def test_levels_that_are_powers_of_two_or_ten_lie_on_a_logarithmic_axis(
    levels: tuple[int | str, ...], kind: str
) -> None:
    part = made_part("any", {(level,): both(1000, 10) for level in levels}, ["any"], (levels[0],))
    assert axis_kind(part) == kind


def test_only_many_numbers_draw_a_curve() -> None:
    assert is_curve(record_size_part())
    assert not any(is_curve(part) for part in (batch_size_part(), linger_part(), codec_part(), grid_part()))


def test_a_point_has_its_place_its_ratio_and_the_published_ratio_to_the_published_reference() -> None:
    points = points_of(batch_size_part(), THROUGHPUT)
    estimates = [level.estimates[THROUGHPUT.name] for level in batch_size_part().levels]
    assert [point.place for point in points] == [16384, 65536, 262144, 1048576]
    assert [point.ratio for point in points[:3]] == [estimate.ratio for estimate in estimates[:3]]
    assert points[3].is_reference
    assert points[3].ratio
    assert (points[3].ratio.value, points[3].ratio.low) == (1.0, None)
    assert [point.published_ratio for point in points] == [
        values[THROUGHPUT.name] / 1_200_000 for values in BATCH_SIZE.values()
    ]


def test_without_a_published_reference_there_is_no_published_ratio() -> None:
    part = batch_size_part()
    alone = part.model_copy(update={"levels": [*part.levels[:3], part.levels[3].model_copy(update={"published": {}})]})
    assert {point.published_ratio for point in points_of(alone, THROUGHPUT)} == {None}


@pytest.mark.parametrize(
    ("factor", "value", "text"),
    [
        ("batch.size", 1048576, "1 MiB"),
        ("record_size_bytes", 100, "100 B"),
        ("linger.ms", 1024, "1024"),
        ("max.poll.records", 500, "500"),
        ("acks", "all", "all"),
    ],
)
def test_bytes_are_named_in_binary_units_and_nothing_else_is(factor: str, value: int | str, text: str) -> None:
    assert tick_text(factor, value) == text
