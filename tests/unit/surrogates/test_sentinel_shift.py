from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.surrogates.gaussian_process import Posterior, fit_posterior
from kafka_pareto.surrogates.sentinel_shift import error_variances, rebased
from tests.recorded import paper_study, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CASE = "8192"


@cache
def recorded(block: int, configurations: int = 60) -> pd.DataFrame:
    repetitions = recorded_repetitions((CASE,), configurations)
    return summarise_trials([each for each in repetitions if each.block == block], paper_study())


@cache
def truth() -> np.ndarray:
    repetitions = [each for each in recorded_repetitions((CASE,)) if each.block > 3]
    means = summarise_trials(repetitions, paper_study()).set_index("configuration_id").throughput_mib_s
    return np.log(means.loc[recorded(1).configuration_id].to_numpy())


def earlier(trials: pd.DataFrame, weight: float = 1.0, times: float = 1.0) -> pd.DataFrame:
    faster = trials.assign(throughput_mib_s=trials.throughput_mib_s * times)
    return faster.assign(prior_campaign="c0", age_days=0.0, weight=weight)


def reshuffled(trials: pd.DataFrame) -> pd.DataFrame:
    others = ~trials.is_baseline
    values = trials.throughput_mib_s.copy()
    values[others] = np.random.default_rng(1).permutation(values[others])
    return trials.assign(throughput_mib_s=values)


def moved(then: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    return rebased(paper_study(), then, now, "throughput_mib_s")


def test_the_shift_of_the_baseline_shifts_every_other_value_equally() -> None:
    found = moved(earlier(recorded(0), times=3.0), recorded(0, 10))
    others = recorded(0)[~recorded(0).is_baseline]
    assert found.log_shift.to_numpy() == pytest.approx(-np.log(3))
    assert found.configuration_id.tolist() == others.configuration_id.tolist()
    assert found.log_value.to_numpy() == pytest.approx(np.log(others.throughput_mib_s.to_numpy()))


def test_where_nothing_can_be_moved_there_are_the_same_columns_and_no_rows() -> None:
    then, now = earlier(recorded(0)), recorded(0, 10)
    nothing = moved(then, now[~now.is_baseline])
    assert nothing.empty
    assert nothing.columns.tolist() == moved(then, now).columns.tolist()


def test_values_that_agree_are_not_wrong_and_noise_explains_a_little_disagreement() -> None:
    assert error_variances(moved(earlier(recorded(0)), recorded(0, 10)), 0.0) == pytest.approx(0.0)
    others = moved(earlier(recorded(0)), recorded(1, 10))
    unexplained = error_variances(others, 0.0)[0]
    assert unexplained == pytest.approx(np.mean(others.log_error.dropna() ** 2))
    assert error_variances(others, unexplained / 4)[0] == pytest.approx(unexplained / 2)
    assert (error_variances(others, 1.0) == 0).all()


def test_where_too_few_were_measured_in_both_the_baselines_shift_its_noise_and_the_spread_may_be_wrong() -> None:
    then, now = earlier(recorded(0), times=3.0), recorded(0, 2)
    spread = float(np.var(np.log(then[~then.is_baseline].throughput_mib_s)))
    assert (~now.is_baseline).sum() == 2
    assert error_variances(moved(then, now), 0.0) == pytest.approx(np.log(3) ** 2 + 2 * spread)
    thrice = now.assign(repetitions_valid=3)
    assert error_variances(moved(then, thrice), 0.6) == pytest.approx(np.log(3) ** 2 + 2 * spread + 0.6 * (1 + 1 / 3))


def test_each_campaign_and_record_size_is_judged_by_itself() -> None:
    good, bad = earlier(recorded(0)), earlier(reshuffled(recorded(0))).assign(prior_campaign="bad")
    other_size = good.assign(case="1024")
    found = moved(pd.concat([good, bad, other_size], ignore_index=True), recorded(0, 20))
    assert set(found.case) == {CASE}  # nothing was measured at the other one today
    variances = error_variances(found, 0.0)
    assert variances[found.prior_campaign == "c0"] == pytest.approx(0.0)
    assert variances[found.prior_campaign == "bad"].min() > 0.05


def hardly_compared(then: pd.DataFrame) -> pd.DataFrame:
    design = recorded(1, 12)
    shared = design[~design.is_baseline].configuration_id.tolist()
    return then[~then.configuration_id.isin(shared[2:])]


def error_after_a_design_of_12(
    prior_of: Callable[[pd.DataFrame], pd.DataFrame | None], *, baseline_stays: bool = False
) -> float:
    errors = []
    for yesterday in range(3):
        then, now = recorded(yesterday), recorded(yesterday + 1, 12)
        if baseline_stays:
            todays = now.throughput_mib_s[now.is_baseline].iloc[0]
            then = then.assign(throughput_mib_s=then.throughput_mib_s.where(~then.is_baseline, todays))
        posterior = fit_posterior(paper_study(), now, "throughput_mib_s", prior_of(then))
        errors.append(np.mean((_mean(posterior) - truth()) ** 2))
    return float(np.mean(errors))


@cache
def cold_error() -> float:
    return error_after_a_design_of_12(lambda _: None)


def _mean(posterior: Posterior | None) -> np.ndarray:
    assert posterior is not None
    return posterior.samples(recorded(1), 200, np.random.default_rng(1)).mean(axis=0)


@pytest.mark.parametrize("times", [1.0, 3.0])
def test_an_earlier_campaign_that_agrees_informs_points_not_measured_today(times: float) -> None:
    assert error_after_a_design_of_12(lambda then: earlier(then, times=times)) < 0.5 * cold_error()


def test_an_earlier_campaign_that_contradicts_todays_values_does_little_harm() -> None:
    assert error_after_a_design_of_12(lambda then: earlier(reshuffled(then))) < 1.2 * cold_error()


def test_one_that_was_hardly_compared_does_little_harm_though_the_baseline_has_not_moved() -> None:
    def misled(then: pd.DataFrame) -> pd.DataFrame:
        return earlier(hardly_compared(reshuffled(then)))

    assert error_after_a_design_of_12(misled, baseline_stays=True) < 1.3 * cold_error()


@pytest.mark.parametrize("baseline_stays", [True, False])
def test_an_earlier_campaign_with_few_common_points_that_agrees_still_informs(baseline_stays: bool) -> None:
    def honest(then: pd.DataFrame) -> pd.DataFrame:
        return earlier(hardly_compared(then))

    assert error_after_a_design_of_12(honest, baseline_stays=baseline_stays) < 0.5 * cold_error()


def test_one_of_long_ago_changes_next_to_nothing() -> None:
    cold, old = (
        fit_posterior(paper_study(), recorded(1, 20), "throughput_mib_s", prior)
        for prior in (None, earlier(recorded(0), weight=1e-6))
    )
    assert _mean(old) == pytest.approx(_mean(cold), abs=1e-3)


def test_without_an_earlier_trial_that_counts_the_posterior_is_the_same_bit_for_bit() -> None:
    cold = fit_posterior(paper_study(), recorded(1, 20), "throughput_mib_s")
    nothing = earlier(recorded(0)).iloc[:0]
    never_measured = earlier(recorded(0)).assign(throughput_mib_s=np.nan)
    for prior in (nothing, never_measured):
        assert (_mean(fit_posterior(paper_study(), recorded(1, 20), "throughput_mib_s", prior)) == _mean(cold)).all()
