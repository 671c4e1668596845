from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from kafka_pareto.comparison.figures import draw_curve, draw_grid, draw_levels, draw_scaling, part_figures
from kafka_pareto.comparison.records import Estimate, Interval, PartComparison
from tests.unit.comparison.made_parts import (
    COMPARED,
    THROUGHPUT,
    batch_size_part,
    both,
    codec_part,
    grid_part,
    linger_part,
    made_part,
    producers_part,
    record_size_part,
    same_part,
)

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PNG = b"\x89PNG\r\n"


def labels_of(figure: Figure) -> set[str]:
    (legend,) = figure.legends
    return {text.get_text() for text in legend.get_texts()}


def ticks_of(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_xticklabels()]


def offsets_of(figure: Figure, label: str) -> list[tuple[float, float]]:
    (drawn,) = [each for each in figure.axes[0].collections if each.get_label() == label]
    return [(float(x), float(y)) for x, y in drawn.get_offsets()]


def test_levels_are_drawn_at_their_ratios_on_a_logarithmic_axis_next_to_the_published_ones() -> None:
    figure = draw_levels(batch_size_part(), COMPARED)
    axes = figure.axes[0]
    ratios = [level.estimates[THROUGHPUT.name].ratio for level in batch_size_part().levels]
    drawn = offsets_of(figure, "differs significantly from the reference")
    assert [place for place, _ in drawn] == [16384, 65536, 262144]
    assert [height for _, height in drawn] == pytest.approx([ratio.value for ratio in ratios if ratio])
    assert offsets_of(figure, "published, on another machine")[0] == pytest.approx((16384, 0.15))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert ticks_of(figure) == ["16 KiB", "64 KiB", "256 KiB", "1 MiB"]
    assert axes.get_title() == "throughput (more is better)"
    assert "records/s" in axes.get_ylabel()


def test_inconclusive_levels_are_drawn_differently_and_names_are_evenly_spaced() -> None:
    figure = draw_levels(same_part(), COMPARED)
    assert labels_of(figure) == {"reference", "no significant difference"}
    assert figure.axes[0].get_xscale() == "linear"
    assert ticks_of(figure) == ["1", "all"]


def test_names_that_would_lie_over_each_other_are_tilted_and_not_cut() -> None:
    names = ["baseline", "zero_wait", "micro_batching", "io_control", "hybrid", "otel"]
    few, many = (
        draw_levels(
            made_part("p", {(name,): both(1, 40) for name in kept}, ["variant"], ("baseline",), bottleneck=""), COMPARED
        )
        for kept in (names[:4], names)
    )
    assert {label.get_rotation() for label in few.axes[0].get_xticklabels()} == {0}
    assert {label.get_rotation() for label in many.axes[0].get_xticklabels()} == {40}
    assert ticks_of(many) == names


def test_a_curve_shades_its_band_in_the_latency_alone_and_names_no_two_levels_over_each_other() -> None:
    figure = draw_curve(record_size_part(), COMPARED)
    bands = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert bands == [[], ["x1.86"]]
    assert "band with a jump" in labels_of(figure)
    assert ticks_of(figure)[:3] == ["100 B", "", "256 B"]


def test_a_grid_writes_every_ratio_marks_interactions_and_colours_less_latency_as_better() -> None:
    figure = draw_grid(grid_part(), COMPARED)
    throughput, latency = figure.axes
    texts = [text.get_text() for text in throughput.texts]
    assert len(texts) == 20
    assert texts.count("1\nreference") == 1
    assert [text for text in texts if "†" in text] == [texts[0]]
    corner = [axes.images[0].get_array()[0][0] for axes in (throughput, latency)]  # type: ignore[index]
    assert corner[0] < 0 < corner[1]


def test_scaling_draws_the_measured_speed_ups_the_law_and_its_limit() -> None:
    figure = draw_scaling(producers_part())
    assert labels_of(figure) == {"in proportion", "Amdahl's law, fitted", "its limit", "measured"}
    speedup = producers_part().scaling[0].speedup
    assert offsets_of(figure, "measured") == [(float(number), each.value) for number, each in speedup.items()]


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (linger_part(), ["linger_levels.png"]),
        (grid_part(), ["grid_grid.png"]),
        (producers_part(), ["producers_levels.png", "producers_scaling.png"]),
        (record_size_part(), ["record_size_curve.png"]),
    ],
)
def test_each_kind_of_part_has_its_figures_as_png_with_captions(part: PartComparison, names: list[str]) -> None:
    figures = part_figures(part)
    assert list(figures) == names
    assert all(caption.endswith(".") and content.startswith(PNG) for caption, content in figures.values())


def test_levels_without_ratios_say_so_and_a_part_without_values_has_no_figure() -> None:
    part = codec_part()

    def without(*names: str) -> PartComparison:
        levels = [
            level.model_copy(
                update={
                    "estimates": {
                        name: estimate.model_copy(update=dict.fromkeys(names))
                        for name, estimate in level.estimates.items()
                    }
                }
            )
            for level in part.levels
        ]
        return part.model_copy(update={"levels": levels})

    (text,) = draw_levels(without("ratio", "p_value_holm"), COMPARED).axes[0].texts
    assert text.get_text() == "no ratio:\ntoo few blocks with values"
    assert part_figures(without("ratio", "mean")) == {}


def test_an_interval_that_reaches_below_zero_is_drawn_as_far_as_a_logarithm_goes() -> None:
    part = same_part()
    wide = part.levels[1].estimates[THROUGHPUT.name].model_copy(
        update={"ratio": Interval(value=0.5, low=-0.4, high=1.4)}
    )  # fmt: skip
    level = part.levels[1].model_copy(update={"estimates": part.levels[1].estimates | {THROUGHPUT.name: wide}})
    axes = draw_levels(part.model_copy(update={"levels": [part.levels[0], level]}), COMPARED).axes[0]
    low, high = axes.get_ylim()
    assert 0 < low < 0.5
    assert high > 1.4


def test_a_curve_of_zeros_says_so() -> None:
    part = record_size_part()
    zero = Estimate(repetitions=5, mean=Interval(value=0.0), sd=0.0)
    levels = [
        level.model_copy(update={"estimates": level.estimates | {THROUGHPUT.name: zero}}) for level in part.levels
    ]
    throughput, latency = draw_curve(part.model_copy(update={"levels": levels}), COMPARED).axes
    assert [text.get_text() for text in throughput.texts] == ["no value above zero"]
    assert latency.get_yscale() == "log"
