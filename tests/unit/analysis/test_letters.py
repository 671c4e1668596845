from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kafka_pareto.analysis.letters import compact_letters, games_howell, letters_of, studentized_range_sf

pytestmark = pytest.mark.fast


def differences(size: int, *pairs: tuple[int, int]) -> np.ndarray:
    found = np.zeros((size, size), dtype=bool)
    for first, second in pairs:
        found[first, second] = found[second, first] = True
    return found


def test_games_and_howell_s_test_is_that_of_scipy():
    # Three brands of pain killer (scipy's example of Tukey's test), the last with a value less.
    samples = [
        np.array([24.5, 23.5, 26.4, 27.1, 29.9]),
        np.array([28.4, 34.2, 29.5, 32.2, 30.1]),
        np.array([26.1, 28.3, 24.3, 26.2]),
    ]
    expected = stats.tukey_hsd(*samples, equal_var=False).pvalue
    assert games_howell(samples) == pytest.approx(expected, abs=1e-9)


def test_two_samples_are_compared_by_welch_s_test():
    samples = [np.array([1.0, 2.0, 4.0]), np.array([5.0, 9.0, 6.0, 7.0])]
    assert games_howell(samples)[0, 1] == pytest.approx(stats.ttest_ind(*samples, equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("size", "pairs", "letters"),
    [
        (3, [(0, 2)], ["a", "ab", "b"]),
        (4, [], ["a"] * 4),
        (3, [(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
        (4, [(0, 1), (1, 3)], ["a", "b", "ab", "a"]),  # a noisy level among levels that differ around it
    ],
)
def test_levels_share_a_letter_where_they_do_not_differ(size: int, pairs: list[tuple[int, int]], letters: list[str]):
    assert compact_letters(differences(size, *pairs)) == letters


@pytest.mark.slow
@given(size=st.integers(2, 9), data=st.data())
@settings(max_examples=100, deadline=None)
def test_two_levels_share_a_letter_exactly_where_they_do_not_differ(size: int, data: st.DataObject):
    differ = differences(size, *data.draw(st.sets(st.sampled_from(list(combinations(range(size), 2))))))
    letters = compact_letters(differ)
    assert all(letters)
    for first, second in combinations(range(size), 2):
        assert bool(set(letters[first]) & set(letters[second])) != differ[first, second]


def test_letters_do_not_run_out():
    assert len(set(compact_letters(differences(60, *combinations(range(60), 2))))) == 60


def test_planted_groups_differ_significantly_starting_with_the_best():
    rng = np.random.default_rng(2)
    samples = [mean * rng.lognormal(0, 0.03, 5) for mean in (100, 200, 101, 300, 198)]
    assert letters_of(samples, maximised=True, significance=0.05) == ["c", "b", "c", "a", "b"]
    assert letters_of(samples, maximised=False, significance=0.05) == ["a", "b", "a", "c", "b"]


def test_samples_that_cannot_be_tested_have_no_letter_and_do_not_hinder_the_others():
    spread = np.array([1.0, 1.1, 0.9])
    samples = [10 * spread, np.array([50.0]), np.full(3, 20.0), np.array([0.0, 1.0, 2.0]), 30 * spread, np.array([])]
    assert letters_of(samples, maximised=False, significance=0.05) == ["a", "", "", "", "b", ""]
    assert letters_of([spread, np.array([1.0])], maximised=True, significance=0.05) == ["", ""]


@pytest.mark.parametrize(
    ("groups", "freedom", "critical"),
    # The upper 5 % points of the studentized range, as tables print them (Harter, 1960).
    [(2, 4, 3.93), (3, 10, 3.88), (5, 8, 4.89), (6, 20, 4.45), (10, 5, 6.99), (20, 60, 5.24)],
)
def test_the_critical_values_of_printed_tables_leave_five_percent(groups: int, freedom: float, critical: float):
    tail = studentized_range_sf(np.array([critical]), groups, np.array([float(freedom)]))
    assert tail == pytest.approx(0.05, abs=5e-4)


@pytest.mark.parametrize(("groups", "freedom"), [(2, 1.0), (6, 1.3), (6, 7.7), (20, 400.0)])
def test_the_tail_is_that_of_scipy(groups: int, freedom: float):
    statistics = np.array([0.0, 2.5, 7.0])
    expected = stats.studentized_range.sf(statistics, groups, freedom)
    tail = studentized_range_sf(statistics, groups, np.full(3, freedom))
    assert tail == pytest.approx(expected, abs=1e-9)
    beyond = studentized_range_sf(np.array([1e9, 1e12]), groups, np.array([8.0, 8.0]))
    assert beyond == pytest.approx(0.0, abs=1e-12)
