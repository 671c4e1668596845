from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kafka_pareto.analysis.letters import games_howell
from kafka_pareto.comparison.chart_data import heat_of
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.measured import PlannedLevel
from kafka_pareto.comparison.page import part_tables
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.sentences import closing_sentences
from kafka_pareto.comparison.series_rows import crossover_rows, range_rows, range_sentences, series_rows
from kafka_pareto.comparison.tables import WIDTH, part_csv, part_text
from kafka_pareto.study.factors import configuration_id
from tests.unit.made_parts import LATENCY, QUANTITIES, THROUGHPUT, compared, made_repetitions, noise

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("error")]

POINTS = [100, 300, 1_000, 3_000, 10_000, 30_000]
CLUSTERS = ["c1", "c2"]
CROSSING = 1_732.0
RANGES = {"light": (100, 300), "heavy": (10_000, 30_000)}
LEVELS = [
    PlannedLevel(configuration_id(values), values, values["topology"] == "c1")
    for at, cluster in product(POINTS, CLUSTERS)
    if (values := {"topology": cluster, "orders": at})
]


def series(slope: float = 0.2, published: bool = False, zero_at: int = 0) -> PartComparison:
    """Return two clusters: the second has a latency that crosses the first's, and 10 % more throughput.

    The first's published latency is 0 at one of the points.
    """
    rng = np.random.default_rng(4)
    orders = np.array([float(each.configuration["orders"]) for each in LEVELS])[:, np.newaxis]
    is_second = np.array([each.configuration["topology"] == "c2" for each in LEVELS])[:, np.newaxis]
    latency = 0.1 * orders * np.where(is_second, (orders / CROSSING) ** slope, 1.0)
    pace = np.where(is_second, 1.1, 1.0) * 100
    values = {LATENCY: latency * noise(rng, len(LEVELS), sd=0.01), THROUGHPUT: pace * noise(rng, len(LEVELS), sd=0.01)}
    numbers = {
        each.configuration_id: {
            LATENCY: 10.0 * (each.configuration["orders"] != zero_at)
            if each.configuration["topology"] == "c1"
            else 5.0 + each.configuration["orders"] / 600
        }
        for each in LEVELS
    }
    return compared(
        LEVELS,
        made_repetitions(LEVELS, values),
        kind="series",
        reference={"topology": "c1", "orders": 1_000},
        ranges=RANGES,
        published=numbers if published else None,
    )


def test_each_level_is_compared_with_the_reference_at_the_same_point() -> None:
    found = series()

    assert [level.is_reference for level in found.levels] == [True, False] * len(POINTS)
    for level in found.levels:
        assert found.reference_of(level).values == {"topology": "c1", "orders": level.values["orders"]}
        if not level.is_reference:
            expected = (level.values["orders"] / CROSSING) ** 0.2
            ratio = level.estimates[LATENCY].ratio
            assert ratio.low < expected < ratio.high
    assert found.reference_level.values == {"topology": "c1", "orders": 1_000}
    assert found.interactions == []


def test_the_best_is_that_of_one_point() -> None:
    for level in series().levels:
        assert level.estimates[THROUGHPUT].relative == pytest.approx(1.1 if level.is_reference else 1.0, abs=0.05)


def test_letters_share_five_percent_among_the_points_and_the_quantities() -> None:
    rng = np.random.default_rng(6)
    effects = np.array([[1.0], [1.06], [1.0], [1.09], [1.0], [1.12]] * 2)
    values = {name: 100 * effects * noise(rng, len(LEVELS), block_sd=0.0) for name in (THROUGHPUT, LATENCY)}
    reference = {"topology": "c1", "orders": 1_000}
    found = compared(LEVELS, made_repetitions(LEVELS, values), kind="series", reference=reference, ranges=RANGES)
    p_values = []
    for name, at in product(values, range(0, len(LEVELS), 2)):
        p_values.append(games_howell([np.log(values[name][at]), np.log(values[name][at + 1])])[0, 1])
        first, second = (level.estimates[name].letters for level in found.levels[at : at + 2])
        assert (first == second) == (p_values[-1] >= 0.05 / 12)
    assert any(0.05 / 12 <= p_value < 0.05 / 2 for p_value in p_values)


def test_ranges_and_the_crossover_are_reported() -> None:
    found = series()

    ratios = {(each.range, each.quantity): each.ratio.value for each in found.range_ratios}
    assert ratios["light", LATENCY] < 1 < ratios["heavy", LATENCY]
    assert ratios["light", THROUGHPUT] == pytest.approx(1.1, abs=0.02)
    by_quantity = {each.quantity: each for each in found.crossovers}
    latency = by_quantity[LATENCY]
    assert latency.at is not None
    assert latency.at.low < CROSSING < latency.at.high
    assert latency.is_better_before
    assert by_quantity[THROUGHPUT].at is None


def test_no_crossover_is_shown_where_the_first_and_the_last_range_do_not_differ() -> None:
    assert all(each.at is None for each in series(slope=0.0).crossovers)


@pytest.mark.parametrize("zero_at", [0, 100])
def test_published_numbers_cross_by_themselves(zero_at: int) -> None:
    found = {each.quantity: each.published_at for each in series(published=True, zero_at=zero_at).crossovers}

    assert found[LATENCY] == pytest.approx(3_000, rel=0.02)
    assert found[THROUGHPUT] is None


def test_tables_show_the_findings() -> None:
    found = series(published=True)
    latency, throughput = (next(each for each in QUANTITIES if each.name == name) for name in (LATENCY, THROUGHPUT))

    header, first, *_ = series_rows(found, latency)
    assert header == ("orders", "c1 (reference)", "c2", "published elsewhere")
    assert first[0] == "100"
    assert first[2].endswith("*)")
    assert first[3] == "10.0; 5.17"
    assert series_rows(found, throughput)[0] == ("orders", "c1 (reference)", "c2")
    assert range_rows(found)[0] == ("over a range", "throughput", "p99 latency")
    assert [row[0] for row in range_rows(found)[1:]] == ["c2 over c1, light", "c2 over c1, heavy"]
    (_, row) = crossover_rows(found)
    assert row[0] == "c2 against c1"
    assert row[1] == "none significant"
    assert row[2].startswith("better up to 1,")
    assert "published 3,0" in row[2]
    assert range_sentences(found) == [
        "Light (orders 100 to 300): c2; no level is significantly better in throughput or p99 latency.",
        "Heavy (orders 10,000 to 30,000): no level is best in every quantity. throughput: c2; p99 latency: c1.",
    ]


def test_an_incomparable_level_is_not_called_unbeaten() -> None:
    found = series()
    without_latency = [
        each.model_copy(update={"p_value_holm": None}) if each.quantity == LATENCY else each
        for each in found.range_ratios
    ]
    light, heavy = range_sentences(found.model_copy(update={"range_ratios": without_latency}))
    assert light == "Light (orders 100 to 300): c2; no level is significantly better in throughput."
    assert heavy == "Heavy (orders 10,000 to 30,000): c2; no level is significantly better in throughput."

    only_light = [each for each in found.range_ratios if each.range == "light"]
    _, heavy = range_sentences(found.model_copy(update={"range_ratios": only_light}))
    assert heavy == "Heavy (orders 10,000 to 30,000): no two levels could be compared."

    # A third level, the first in the study's order, of which nothing was measured.
    unmeasured = found.levels[0].model_copy(update={"values": {"topology": "c0", "orders": 100}, "estimates": {}})
    light, _ = range_sentences(found.model_copy(update={"levels": [unmeasured, *found.levels]}))
    assert ": c2; no level" in light


@pytest.mark.slow
def test_text_csv_page_figure_and_heat_map_contain_the_series() -> None:
    found = series(published=True)

    text = part_text(found)
    assert (
        text.splitlines()[0] == "part: topology along orders, compared with topology c1 at the same orders, in 5 blocks"
    )
    assert max(map(len, text.splitlines())) <= WIDTH
    assert part_csv(found).count("\n") > len(LEVELS)
    titles = [title for title, _ in part_tables(found)]
    assert titles[:4] == ["Over ranges", "Crossovers", "throughput [MiB/s]", "p99 latency [ms]"]
    assert list(part_figures(found)) == ["part_series.png"]
    heat = heat_of(found, next(each for each in QUANTITIES if each.name == LATENCY))
    assert (heat.down, heat.across, heat.tops) == ("orders", "topology", CLUSTERS)
    assert heat.references == [(row, 0) for row in range(len(POINTS))]
    (helped, *_) = closing_sentences([found])
    assert "topology c2 instead of c1 at orders" in helped
