"""The benchmark of warm starts: misleading values cover the full table, and the page's table matches the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import search
from benchmarks.strategies.table import BLOCKS, GRID, Answer, Table, answering_blocks, recorded_table, table_study
from benchmarks.warm_start import BUDGETS, KINDS, SEEDS, STARTS, report, reshuffled, yesterdays_trials
from tests.recorded import recorded_grid

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def changed() -> Table:
    return Table(reshuffled(recorded_grid(GRID), np.random.default_rng(0)))


def test_shuffling_moves_the_values_to_other_configurations_except_the_baselines(changed: Table) -> None:
    recorded = recorded_table()
    moved = (changed.losses != recorded.losses).any(axis=(1, 2))

    assert changed.baseline == recorded.baseline
    assert not moved[recorded.baseline]
    assert moved.sum() > 0.95 * len(moved)
    rows = (np.sort(table.losses.reshape(len(moved), -1), axis=0) for table in (changed, recorded))
    np.testing.assert_array_equal(*rows)


def test_a_changed_table_answers_for_every_configuration_under_its_own_name(changed: Table) -> None:
    every = [Answer(place, block) for place in range(len(changed.losses)) for block in range(BLOCKS)]
    for then, now in zip(recorded_table().repetitions(every), changed.repetitions(every), strict=True):
        assert (then.repetition_id, then.configuration) == (now.repetition_id, now.configuration)


def test_yesterdays_campaign_knows_nothing_but_its_own_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as its design goes, which takes no search."""
    monkeypatch.setattr("benchmarks.warm_start.YESTERDAYS_REPETITIONS", 13)
    block = answering_blocks(0)[1]
    trials = yesterdays_trials(recorded_table(), 0, block)

    known = {(each.configuration_id, each.block): each.number("latency_p95_ms") for each in recorded_grid(GRID)}
    assert len(trials) == 13
    assert [known[name, block] for name in trials.configuration_id] == list(trials.p95_latency_ms)
    assert set(table_study().factors) <= set(trials.columns)


def test_the_table_has_medians_and_paired_differences_of_both_kinds() -> None:
    volumes = np.full((len(STARTS), len(KINDS), SEEDS, len(BUDGETS)), 0.5)
    volumes[STARTS.index("warm")] += 0.25
    volumes[STARTS.index("misled"), KINDS.index("delivered")] -= 0.125
    lines = report(volumes)

    assert lines[2].startswith("| measured: cold, warm, misled (medians) | 0.500, 0.750, 0.500 |")
    assert lines[3].startswith("| measured: warm minus cold | +0.250 |")
    assert lines[4].startswith("| measured: misled minus cold | +0.000 |")
    assert lines[7].startswith("| delivered: misled minus cold | -0.125 |")


def test_a_section_is_written_between_its_own_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "tables.md"
    page.write_text("a\n<!-- one: begin -->\nold\n<!-- one: end -->\nb\n<!-- two: begin -->\n<!-- two: end -->\n")
    monkeypatch.setattr(search, "TABLES", page)
    search.write_section("one", "new")

    expected = "a\n<!-- one: begin -->\nnew\n<!-- one: end -->\nb\n<!-- two: begin -->\n<!-- two: end -->\n"
    assert page.read_text() == expected
