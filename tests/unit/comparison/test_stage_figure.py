"""Looks at the bars of stages."""

from __future__ import annotations

import pytest

from kafka_pareto.comparison.stage_figure import draw_stages
from tests.unit.comparison.made_parts import COMPARED, codec_part

pytestmark = pytest.mark.fast


def test_a_level_has_one_bar_whose_pieces_follow_each_other() -> None:
    part = codec_part()
    figure = draw_stages(part, COMPARED)

    assert figure is not None
    (axes,) = figure.axes
    first, second = axes.containers[:2]
    assert len(first) == len(part.levels)
    for level, begun, ended in zip(part.levels, first, second, strict=True):
        mean = level.estimates[COMPARED[0].name].mean
        assert mean is not None
        assert begun.get_width() == pytest.approx(mean.value)
        assert ended.get_x() == pytest.approx(mean.value)


def test_a_driver_without_stages_has_no_such_figure() -> None:
    assert draw_stages(codec_part(), ()) is None
