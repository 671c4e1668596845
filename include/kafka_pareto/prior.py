"""What earlier campaigns of the study know: which of their trials may speak for a new one, and the best of these.

The only module that reads campaigns of the past. Their trials place the rounds of the new one, and suggest a part of
its design; nothing of them is judged, chosen or reported as measured here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from kafka_pareto.artifacts import PRIOR_TRIAL_COLUMNS, TRIAL_COLUMNS, CampaignKeys, table_schema
from kafka_pareto.blocks import configurations_of
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.factors import Configuration, satisfies
from kafka_pareto.goals import MEANS
from kafka_pareto.hypervolume import relative_losses, volume
from kafka_pareto.producer_properties import resolved
from kafka_pareto.protocol import PayloadFile
from kafka_pareto.records import Fingerprint, Prior, PriorCampaign, Repetition
from kafka_pareto.search_space import ConfigurationSpace
from kafka_pareto.selection import non_dominated
from kafka_pareto.study import Study
from kafka_pareto.trials import keeps_limits, may_be_recommended
from kafka_pareto.warm_start import WarmStart

log = logging.getLogger(__name__)

_OF_THE_TESTBED = (
    *("kafka_version", "cluster_id", "brokers", "topic_partitions", "replication_factor", "min_insync_replicas"),
    *("client_cpu", "client_cores"),
)
_NOT_OF_A_REPETITION = {
    *("repetitions", "minimum_valid_repetitions", "adaptive", "noise_repetitions", "order"),
    *("max_attempts", "timeout_s", "outliers"),
}
"""Keys of the protocol that leave a single repetition as it is."""

_LEAST_WEIGHT = 1e-6
"""As good as nothing, and still something to divide by."""


def earlier_trials(
    today: Campaign, warm_start: WarmStart, found: Fingerprint, now: datetime
) -> tuple[Prior, pd.DataFrame]:
    """The trials of the campaigns that a warm start names, as far as they are comparable.

    A record size of an earlier campaign is used when cluster, client, workload, baseline, factors, and the protocol of
    a single repetition were the same. What is left out is named with its reason.

    Args:
        today: The campaign that is about to begin; the text of its payload is in the store.
        warm_start: As the study has it.
        found: Today's cluster and machine.
        now: From when ages count.

    Returns:
        What is used, and `PRIOR_TRIAL_COLUMNS` with factors: the newest campaign's trials first.

    Raises:
        BadInputError: If it names a campaign that is not there.
    """
    named = warm_start.campaigns
    ids = _last_measured(today) if isinstance(named, str) else _existing(today, named)
    read = sorted((_read(today, name, found, now) for name in ids), key=lambda each: _age_days(each[0]))
    prior = Prior(half_life_days=warm_start.half_life_days, campaigns=[campaign for campaign, _ in read])
    if not ids:
        log.info("warm start: there is no earlier campaign of %s with trials", today.study.name)
    for campaign in prior.campaigns:
        ages = ", ".join(f"{size} B ({days:.1f} days old)" for size, days in campaign.age_days.items())
        log.info("warm start from %s: %d trials%s", campaign.campaign, campaign.trials, f" at {ages}" if ages else "")
        for reason in campaign.left_out:
            log.info("warm start from %s: left out: %s", campaign.campaign, reason)
    columns = table_schema(PRIOR_TRIAL_COLUMNS, today.study).names
    tables = [table for _, table in read if len(table)]
    if not tables:
        return prior, pd.DataFrame(columns=columns)
    trials = pd.concat(tables, ignore_index=True)
    weight = np.maximum(0.5 ** (trials.age_days / warm_start.half_life_days), _LEAST_WEIGHT)
    return prior, trials.assign(weight=weight)[columns]


def best_known(study: Study, prior: pd.DataFrame, record_size_bytes: int, most: int) -> list[Configuration]:
    """Configurations that were non-dominated in p95 latency and throughput, each relative to its campaign's baseline.

    They lie in today's space and keep today's rules, limits and durability. Where there are more than `most`, those
    that add most to the hypervolume of the others, one after the other; of a configuration that several campaigns
    have measured, the newest's values count.
    """
    of_size = prior[prior.record_size_bytes == record_size_bytes]
    names = [f"loss_{objective}" for objective in MEANS]
    compared = []
    for _, trials in of_size.groupby("prior_campaign", sort=False):
        losses = relative_losses(trials, study, MEANS)
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


def _read(today: Campaign, name: str, found: Fingerprint, now: datetime) -> tuple[PriorCampaign, pd.DataFrame]:
    """What a campaign of the past gives, the record sizes that do not compare left out."""
    nothing = pd.DataFrame()
    try:
        then = Campaign.open(today.store, today.study.name, name)
        if reasons := _differences_of_studies(then.study, today.study) or _difference_of_texts(then, today):
            return PriorCampaign(campaign=name, left_out=reasons), nothing
        trials = then.read_table(then.keys.trials(then.last_round()), TRIAL_COLUMNS)
    except BadInputError as error:  # of another release, damaged, or stopped before it had trials
        return PriorCampaign(campaign=name, left_out=[str(error)]), nothing
    age_days: dict[int, float] = {}
    left_out: list[str] = []
    tables = []
    for size in today.study.record_sizes_bytes:
        rows = trials[(trials.record_size_bytes == size) & (trials.repetitions_valid > 0)]
        try:
            reasons = _differences_at(then, size, rows, found)
            age = timedelta(0) if reasons else now - _measured_at(then, size)
        except BadInputError as error:
            reasons = [str(error)]
        if reasons:
            left_out += [f"{size} B: {reason}" for reason in reasons]
            continue
        age_days[size] = max(age / timedelta(days=1), 0.0)
        tables.append(_as_of_today(rows, today.study, size).assign(prior_campaign=name, age_days=age_days[size]))
    table = pd.concat(tables, ignore_index=True) if tables else nothing
    return PriorCampaign(campaign=name, age_days=age_days, trials=len(table), left_out=left_out), table


def _as_of_today(rows: pd.DataFrame, study: Study, record_size_bytes: int) -> pd.DataFrame:
    """The trials under today's rules."""
    configurations, rules = configurations_of(rows, study), study.rules()
    return rows.assign(
        feasible=[satisfies(rules, each, record_size_bytes) for each in configurations],
        durability=[study.durability_of(each).name for each in configurations],
    )


def _differences_of_studies(then: Study, now: Study) -> list[str]:
    """What makes the two studies' repetitions incomparable at any record size."""
    protocols = [study.protocol.model_dump(exclude=_NOT_OF_A_REPETITION) for study in (then, now)]
    return [
        *_differing("factors", {"names": sorted(then.factors)}, {"names": sorted(now.factors)}),
        *_differing("baseline", resolved(then.baseline), resolved(now.baseline)),
        *_differing("workload", then.workload.model_dump(), now.workload.model_dump()),
        *_differing("protocol", *protocols),
    ]


def _difference_of_texts(then: Campaign, now: Campaign) -> list[str]:
    if not isinstance(now.study.workload.payload, PayloadFile):
        return []
    same = then.store.get(then.keys.payload()) == now.store.get(now.keys.payload())
    return [] if same else ["workload.payload.file: holds another text now"]


def _differences_at(then: Campaign, record_size_bytes: int, rows: pd.DataFrame, found: Fingerprint) -> list[str]:
    if record_size_bytes not in then.study.record_sizes_bytes:
        return ["was not measured then"]
    if not rows.is_baseline.any():
        return ["its baseline has no valid repetition"]
    known = then.read_record(then.keys.fingerprint(record_size_bytes), Fingerprint)
    return _differing("fingerprint", _testbed_of(known), _testbed_of(found))


def _testbed_of(fingerprint: Fingerprint) -> dict[str, Any]:
    return {name: getattr(fingerprint, name) for name in _OF_THE_TESTBED} | {"brokers": len(fingerprint.brokers)}


def _differing(place: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return [f"{place}.{key}: {_said(then.get(key))} then, {_said(now.get(key))} now" for key in keys]


def _said(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _age_days(campaign: PriorCampaign) -> float:
    return min(campaign.age_days.values(), default=float("inf"))


def _measured_at(campaign: Campaign, record_size_bytes: int) -> datetime:
    """When a repetition of the last round at this record size began."""
    rounds = [campaign.keys.measurements(record_size_bytes, number) for number in range(campaign.last_round() + 1)]
    keys = [key for prefix in rounds for key in campaign.store.keys(prefix)]
    if not keys:
        raise BadInputError("no repetition is in the store that tells when it was measured")
    return _started_at(campaign, keys[-1])


def _started_at(campaign: Campaign, key: str) -> datetime:
    started_at = datetime.fromisoformat(campaign.read_record(key, Repetition).started_at)
    return started_at if started_at.tzinfo else started_at.replace(tzinfo=UTC)


def _existing(today: Campaign, named: Sequence[str]) -> list[str]:
    """The named campaigns, which must be there and others than today's."""
    study = today.study.name
    for name in named:
        if name == today.keys.campaign or today.store.tag(CampaignKeys(study, name).frozen_study()) is None:
            others = sorted({key.split("/")[1] for key in today.store.keys(f"{study}/")} - {today.keys.campaign})
            raise BadInputError(
                f"warm_start.campaigns: {name}: there is no such earlier campaign of {study}; "
                f"there are {', '.join(others[-5:]) or 'none yet'}"
            )
    return list(named)


def _last_measured(today: Campaign) -> list[str]:
    """The campaign of the study that was measured last, of those with trials; none where there is no other."""
    last_keys: dict[str, str] = {}
    with_trials: set[str] = set()
    for key in today.store.keys(f"{today.study.name}/"):
        _, campaign, *below = key.split("/")
        if len(below) == 4 and below[1] == "02_measurements":
            last_keys[campaign] = key
        if len(below) == 2 and below[1] == "03_trials.parquet":
            with_trials.add(campaign)
    measured = []
    for campaign in (with_trials & last_keys.keys()) - {today.keys.campaign}:
        try:
            measured.append((_started_at(today, last_keys[campaign]), campaign))
        except BadInputError as error:
            log.info("warm start: %s is passed over: %s", campaign, error)
    return [max(measured)[1]] if measured else []
