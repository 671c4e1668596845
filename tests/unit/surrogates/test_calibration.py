from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.calibration import Calibration, Calibrations, calibrate, with_intervals
from kafka_pareto.surrogates.scores import cross_validated
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate
from tests.recorded import changed, paper_study, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CASES = ("1024", "8192", "65636")
P95 = "p95_latency_ms"


def study(estimates: str = "gaussian_process") -> Tune:
    surrogate = Surrogate(n_estimators=60).model_copy(update={"estimates": estimates})
    return changed(paper_study(), surrogate=surrogate)


@cache
def trials(blocks: tuple[int, ...] = (0,)) -> pd.DataFrame:
    wanted = [each for each in recorded_repetitions(CASES) if each.block in blocks]
    return summarise_trials(wanted, paper_study())


def seen() -> pd.DataFrame:
    names = sorted(trials().configuration_id.unique())[::2]
    return trials()[trials().configuration_id.isin(names)].reset_index(drop=True)


def unseen() -> pd.DataFrame:
    later = trials((5, 6, 7, 8, 9))
    return later[~later.configuration_id.isin(seen().configuration_id)].reset_index(drop=True)


@cache
def judged(estimates: str = "gaussian_process") -> tuple[Calibration, pd.Series]:
    rows, asked = seen(), study(estimates)
    found = calibrate(asked, rows, P95, cross_validated(asked, feature_encoding(asked, rows), rows, P95))
    assert found is not None
    return found


def of_trees(rows: pd.DataFrame) -> np.ndarray:
    asked = study()
    return fit_surrogate(asked, feature_encoding(asked, seen()), seen(), P95).predict(rows)


@pytest.mark.parametrize("estimates", ["gaussian_process", "trees"])
def test_most_unseen_values_lie_in_their_interval(estimates: str) -> None:
    rows = unseen()
    estimate, low, high = judged(estimates)[0].interval(study(estimates), rows, of_trees(rows), 5)
    assert (low <= estimate).all()
    assert (estimate <= high).all()
    assert rows[P95].between(pd.Series(low), pd.Series(high)).mean() >= 0.8


def test_the_best_estimates_are_less_flattered_than_those_of_the_trees_that_selected_them() -> None:
    rows, trees = unseen(), of_trees(unseen())
    best = pd.Series(trees).groupby(rows.case).rank() <= 6
    estimate, _, _ = judged()[0].interval(study(), rows, trees, 5)
    ours, theirs = (float(np.median(np.log(rows[P95] / each)[best])) for each in (estimate, trees))
    assert abs(ours) < abs(theirs)


def test_a_mean_of_more_repetitions_has_a_narrower_interval_around_the_same_estimate() -> None:
    rows = unseen()
    one, ten = (judged()[0].interval(study(), rows, of_trees(rows), count) for count in (1, 10))
    assert ten[0].tolist() == one[0].tolist()
    assert (ten[2] / ten[1] < one[2] / one[1]).all()


def test_the_trees_own_estimates_stay_as_they_are() -> None:
    rows, trees = unseen(), of_trees(unseen())
    estimate, low, _ = judged("trees")[0].interval(study("trees"), rows, trees, 5)
    assert estimate.tolist() == trees.tolist()
    assert np.isnan(judged("trees")[0].interval(study("trees"), rows.head(1), np.array([-1.0]), 5)[1])
    assert judged("trees")[0].process is None
    assert np.ptp(low / trees) == pytest.approx(0.0, abs=1e-12)


def test_coverage_is_of_trials_that_the_interval_had_not_seen_and_few_know_no_interval() -> None:
    covered = judged()[1]
    assert set(covered.dropna().unique()) <= {0.0, 1.0}
    assert 0.8 <= covered.mean() <= 0.97
    few = seen().head(9)
    assert calibrate(study(), few, P95, pd.Series(np.nan, index=few.index)) is None


def test_it_is_stored_as_numbers_and_reads_back_to_the_same_intervals() -> None:
    stored = Calibrations(objectives={P95: judged()[0]})
    again = decode_record(stored.model_dump_json().encode(), "calibration.json", Calibrations)
    rows = unseen()
    expected, found = (one.objectives[P95].interval(study(), rows, of_trees(rows), 5) for one in (stored, again))
    np.testing.assert_array_equal(found, expected)


def test_a_front_gets_intervals_of_calibrated_means_alone_and_limits_of_the_estimates_that_are_shown() -> None:
    rows = unseen()
    shown = judged()[0].interval(study(), rows, of_trees(rows), study().confirmation.choice_blocks)
    bound = float(np.median(shown[0]))
    limited = changed(study(), limits=[f"{P95} <= {bound}"])
    front = rows.assign(estimated_p95_latency_ms=1.0, estimated_throughput_mib_s=2.0, limits_met_estimated=True)
    table = with_intervals(limited, front, {P95: judged()[0]})
    for ending, values in zip(("", "_low", "_high"), shown, strict=True):
        assert table[f"estimated_{P95}{ending}"].tolist() == values.tolist()
    assert (table.estimated_throughput_mib_s == 2.0).all()
    assert table.estimated_throughput_mib_s_low.isna().all()
    assert table.limits_met_estimated.tolist() == (shown[0] <= bound).tolist()
