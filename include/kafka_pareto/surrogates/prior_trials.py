"""Find the trials of earlier campaigns that a new campaign may use, and the best configurations among them.

They guide the new campaign's rounds and suggest part of its design, but are not judged, chosen or reported.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from kafka_pareto.analysis.hypervolume import relative_losses, volume
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.analysis.trials import keeps_limits, may_be_recommended
from kafka_pareto.campaign.campaign import Campaign, campaign_ids
from kafka_pareto.campaign.candidates import configurations_of
from kafka_pareto.campaign.comparability import differences_of_campaigns, differences_of_testbeds
from kafka_pareto.campaign.records import Fingerprint, Prior, PriorCampaign
from kafka_pareto.campaign.tables import PRIOR_TRIAL_COLUMNS, TRIAL_COLUMNS, table_schema
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.configuration_space import ConfigurationSpace
from kafka_pareto.study.constraints import satisfies
from kafka_pareto.study.factors import CategoricalFactor, Configuration
from kafka_pareto.study.tune import Tune
from kafka_pareto.study.warm_start import WarmStart

log = logging.getLogger(__name__)

_LEAST_WEIGHT = 1e-6
"""Practically zero, but can be divided by."""

_NAMED_CAMPAIGNS = 5
_TIME_UNKNOWN = datetime.max.replace(tzinfo=UTC)


def earlier_trials(
    today: Campaign, warm_start: WarmStart, found: Fingerprint, now: datetime
) -> tuple[Prior, pd.DataFrame]:
    """Return the comparable trials of a warm start's campaigns (`PRIOR_TRIAL_COLUMNS`, factors), the newest first.

    A case of an earlier campaign is used if cluster, client, workload, baseline, factor names and the protocol of a
    single repetition (rate limit included) were the same. Trials with a category that is not a level today are dropped;
    numbers outside today's range still help to estimate values inside it. Everything dropped is logged with its reason.
    `latest` is the most recently measured campaign with usable trials; later ones are logged too.

    Raises:
        BadInputError: If it names a campaign that does not exist.
    """
    others = [name for name in campaign_ids(today.store, today.tune.name) if name != today.keys.campaign]
    if isinstance(warm_start.campaigns, str):
        read = []
        for name in _newest_first(today, others):
            read.append(_read(today, name, found, now))
            if read[-1][0].trials:
                break
    else:
        if missing := next((name for name in warm_start.campaigns if name not in others), None):
            raise BadInputError(
                f"warm_start.campaigns: {missing}: there is no such earlier campaign of {today.tune.name}; "
                f"there are {', '.join(others[-_NAMED_CAMPAIGNS:]) or 'none yet'}"
            )
        read = [_read(today, name, found, now) for name in warm_start.campaigns]
    read.sort(key=lambda each: min(each[0].age_days.values(), default=float("inf")))
    prior = Prior(half_life_days=warm_start.half_life_days, campaigns=[campaign for campaign, _ in read])
    _tell(prior, today.tune, warm_start)
    columns = table_schema(PRIOR_TRIAL_COLUMNS, today.tune).names
    tables = [table for _, table in read if len(table)]
    if not tables:
        return prior, pd.DataFrame(columns=columns)
    trials = pd.concat(tables, ignore_index=True)
    weight = np.maximum(0.5 ** (trials.age_days / warm_start.half_life_days), _LEAST_WEIGHT)
    # A campaign without an objective that was added since has no values of it.
    return prior, trials.assign(weight=weight).reindex(columns=columns)


def best_known(study: Tune, prior: pd.DataFrame, case: str, most: int) -> list[Configuration]:
    """Return up to `most` configurations that were non-dominated in the means, relative to their campaign's baseline.

    They lie in today's space and keep today's rules, limits and durability. Those that add most to the hypervolume of
    the others come first. The newest campaign's values of a configuration count.
    """
    of_case = prior[prior.case == case]
    names = [f"loss_{objective}" for objective in study.means]
    compared = []
    for _, trials in of_case.groupby("prior_campaign", sort=False):
        losses = relative_losses(trials, study, study.means)
        if losses is not None:
            compared.append(trials.assign(**dict(zip(names, losses.T, strict=True))))
    if not compared:
        return []
    rows = pd.concat(compared, ignore_index=True).drop_duplicates("configuration_id")
    space = ConfigurationSpace(study.factors)
    inside = np.array([space.encode(each) is not None for each in configurations_of(rows, study)])
    rows = rows[may_be_recommended(rows, study) & keeps_limits(rows, study) & (inside | rows.is_baseline.to_numpy())]
    front = rows[non_dominated(rows[names].to_numpy())]
    front = front[~front.is_baseline].sort_values("configuration_id")
    losses, left, picked = front[names].to_numpy(), list(range(len(front))), list[int]()
    while left and len(picked) < most:
        picked.append(max(left, key=lambda at: volume(losses[[*picked, at]])))
        left.remove(picked[-1])
    return configurations_of(front.iloc[picked], study)


def _newest_first(today: Campaign, others: Sequence[str]) -> list[str]:
    """Sort campaigns by last measurement; one without a time comes first, since it may be the newest."""

    def measured_at(name: str) -> datetime:
        try:
            then = Campaign.open(today.store, today.tune.name, name)
            return _measured_at(then, then.study.cases)
        except BadInputError:  # the reason is reported where the campaign is read
            return _TIME_UNKNOWN

    return sorted(others, key=measured_at, reverse=True)


def _read(today: Campaign, name: str, found: Fingerprint, now: datetime) -> tuple[PriorCampaign, pd.DataFrame]:
    """Read the usable trials of an earlier campaign, without the cases that are not comparable."""
    nothing = pd.DataFrame()
    try:
        then = Campaign.open(today.store, today.tune.name, name)
        if reasons := differences_of_campaigns(then, today):
            return PriorCampaign(campaign=name, left_out=reasons), nothing
        trials = then.read_table(then.keys.trials(then.last_round()), TRIAL_COLUMNS)
    except BadInputError as error:  # of another release, damaged, or stopped before it had trials
        return PriorCampaign(campaign=name, left_out=[str(error)]), nothing
    study, rules = today.tune, today.tune.rules()
    age_days: dict[str, float] = {}
    left_out: list[str] = []
    tables = []
    for case in study.cases:
        measured = trials[(trials.case == case) & (trials.repetitions_valid > 0)]
        rows, outside = _of_todays_levels(measured, study)
        try:
            _check_comparable(then, case, rows, found)
            age = now - _measured_at(then, [case])
        except BadInputError as error:
            left_out.append(f"{case_label(case)}: {error}")
            continue
        left_out += [f"{case_label(case)}: {reason}" for reason in outside]
        age_days[case] = max(age / timedelta(days=1), 0.0)
        configurations = configurations_of(rows, study)
        judged = rows.assign(
            feasible=[satisfies(rules, each, study.variables(case)) for each in configurations],
            durability=[study.durability_of(each).name for each in configurations],
        )
        tables.append(judged.assign(prior_campaign=name, age_days=age_days[case]))
    table = pd.concat(tables, ignore_index=True) if tables else nothing
    return PriorCampaign(campaign=name, age_days=age_days, trials=len(table), left_out=left_out), table


def _of_todays_levels(rows: pd.DataFrame, study: Tune) -> tuple[pd.DataFrame, list[str]]:
    """Return the trials whose categories are all levels today (the baseline is exempt), and why others are dropped."""
    left_out = []
    for name, factor in study.factors.items():
        if isinstance(factor, CategoricalFactor):
            gone = ~rows[name].isin(factor.levels) & ~rows.is_baseline
            if gone.any():
                levels = ", ".join(sorted(set(rows[name][gone])))
                left_out.append(f"trials with {name} {levels} ({gone.sum()}): not among today's levels")
                rows = rows[~gone]
    return rows, left_out


def _check_comparable(then: Campaign, case: str, rows: pd.DataFrame, found: Fingerprint) -> None:
    """Reject a case without usable trials, with the reason."""
    if case not in then.study.cases:
        raise BadInputError("was not measured then")
    if not rows.is_baseline.any():
        raise BadInputError("its baseline has no valid repetition")
    if rows.is_baseline.all():
        raise BadInputError("no other configuration has a valid repetition at today's levels")
    known = then.read_record(then.keys.fingerprint(case), Fingerprint)
    if differences := differences_of_testbeds(known, found, then.study.declaration):
        raise BadInputError("; ".join(differences))


def _measured_at(campaign: Campaign, cases: Sequence[str]) -> datetime:
    """Return the start of the last repetition of these cases, in the last round that measured any of them."""
    for number in reversed(range(campaign.last_round() + 1)):
        if repetitions := campaign.read_measurements(cases, [number]):
            started_at = [datetime.fromisoformat(each.started_at) for each in repetitions]
            return max(each if each.tzinfo else each.replace(tzinfo=UTC) for each in started_at)
    raise BadInputError("no stored repetition has a time of measurement")


def _tell(prior: Prior, study: Tune, warm_start: WarmStart) -> None:
    """Log used and unused trials; warn if a named campaign, or every one, has no usable trials."""
    for each in prior.campaigns:
        ages = ", ".join(f"{case_label(case)} ({days:.1f} days old)" for case, days in each.age_days.items())
        level = logging.INFO if each.trials or warm_start.campaigns == "latest" else logging.WARNING
        log.log(level, "warm start from %s: %d trials%s", each.campaign, each.trials, f" at {ages}" if ages else "")
        for reason in each.left_out:
            log.log(level, "warm start from %s: excluded: %s", each.campaign, reason)
    if not any(each.trials for each in prior.campaigns):
        log.warning("warm start: no earlier campaign of %s has usable trials; starting without", study.name)
