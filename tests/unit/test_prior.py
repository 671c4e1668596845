"""Which campaigns of the past may speak for a new one, with which weight, and why others may not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.artifacts import TRIAL_COLUMNS, CampaignKeys
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.factors import Configuration, configuration_id
from kafka_pareto.hypervolume import measured_hypervolume
from kafka_pareto.prior import best_known, earlier_trials
from kafka_pareto.records import Prior
from kafka_pareto.store import FolderStore
from kafka_pareto.study import Study
from kafka_pareto.warm_start import Campaigns, WarmStart
from tests.past import MEASURED_AT, SIZES, fingerprint, past_campaign, study_in_rounds

pytestmark = pytest.mark.fast

THIRTY_DAYS_LATER = MEASURED_AT + timedelta(days=30)


def read(
    folder: Path, campaigns: Campaigns = "latest", study: Study | None = None, **testbed: Any
) -> tuple[Prior, pd.DataFrame]:
    """What a campaign `c9` that begins thirty days after `MEASURED_AT` finds."""
    study = study or study_in_rounds()
    today = Campaign(study, CampaignKeys(study.name, "c9"), FolderStore(folder))
    found = fingerprint(study).model_copy(update=testbed)
    return earlier_trials(today, WarmStart(campaigns=campaigns), found, THIRTY_DAYS_LATER)


def test_the_trials_of_a_comparable_campaign_are_used_and_count_for_half_after_a_half_life(tmp_path: Path) -> None:
    past = past_campaign(tmp_path)
    prior, trials = read(tmp_path)

    (used,) = prior.campaigns
    assert (used.campaign, used.trials, used.left_out) == ("c0", len(trials), [])
    assert used.age_days == dict.fromkeys(SIZES, pytest.approx(30.0))
    written = past.read_table(past.keys.trials(), TRIAL_COLUMNS)
    assert sorted(trials.throughput_mib_s) == sorted(written.throughput_mib_s)
    assert trials.weight.tolist() == [pytest.approx(0.5)] * len(written)


def test_a_campaign_of_half_a_lifetime_ago_weighs_next_to_nothing_and_never_exactly_nothing(tmp_path: Path) -> None:
    past_campaign(tmp_path, days_later=-40 * 365)

    assert set(read(tmp_path)[1].weight) == {1e-6}


def test_more_repetitions_another_order_seed_or_design_leave_a_campaign_comparable(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    protocol = {"repetitions": 5, "order": "blocks", "noise_repetitions": 6, "timeout_s": 99.0}
    today = study_in_rounds(protocol=protocol, seed=7, design={"configurations": 20}, rounds={"maximum": 1})

    assert read(tmp_path, study=today)[0].campaigns[0].left_out == []


@pytest.mark.parametrize(
    ("then", "testbed", "reason"),
    [
        ({"workload": {"topic_partitions": 6}}, {}, "workload.topic_partitions: 6 then, 3 now"),
        ({"protocol": {"records": 500}}, {}, "protocol.records: 500 then, 1000 now"),
        ({"protocol": {"cool_down_s": 1.0}}, {}, "protocol.cool_down_s: 1.0 then, 5.0 now"),
        ({"baseline": {"linger.ms": 20}}, {}, "baseline.linger.ms: 20 then, 5 now"),
        ({}, {"kafka_version": "4.4"}, "8192 B: fingerprint.kafka_version: 4.3 then, 4.4 now"),
        ({}, {"cluster_id": "another"}, "8192 B: fingerprint.cluster_id: fake then, another now"),
        ({}, {"brokers": ["fake:9092"]}, "8192 B: fingerprint.brokers: 3 then, 1 now"),
        ({}, {"replication_factor": 1}, "8192 B: fingerprint.replication_factor: 3 then, 1 now"),
        ({}, {"client_cores": 999}, "then, 999 now"),
        ({"record_sizes_bytes": [1024]}, {}, "8192 B: was not measured then"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_does_not_compare_is_left_out_with_key_and_both_values(
    tmp_path: Path, then: dict[str, Any], testbed: dict[str, Any], reason: str
) -> None:
    past_campaign(tmp_path, study=study_in_rounds(**then))
    prior, trials = read(tmp_path, **testbed)

    assert any(reason in each for each in prior.campaigns[0].left_out)
    assert not (trials.record_size_bytes == 8192).any()


def test_a_campaign_of_other_factors_is_left_out(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    factors = {"linger.ms": {"type": "integer", "levels": [0, 5]}}
    prior, trials = read(tmp_path, study=study_in_rounds(factors=factors, constraints=[], design={"configurations": 1}))

    (reason,) = prior.campaigns[0].left_out
    assert reason == "factors.names: acks, batch.size, compression.type, linger.ms then, linger.ms now"
    assert trials.empty


def test_a_text_of_other_words_is_another_workload(tmp_path: Path) -> None:
    study = study_in_rounds(workload={"payload": {"file": "words.txt"}})
    store = FolderStore(tmp_path)
    past_campaign(tmp_path, study=study)
    store.put(CampaignKeys(study.name, "c0").payload(), b"then")
    store.put(CampaignKeys(study.name, "c9").payload(), b"now")

    assert read(tmp_path, study=study)[0].campaigns[0].left_out == ["workload.payload.file: holds another text now"]


def test_a_record_size_without_a_baseline_is_left_out_and_the_other_one_is_used(tmp_path: Path) -> None:
    past = past_campaign(tmp_path)
    trials = past.read_table(past.keys.trials(), TRIAL_COLUMNS)
    kept = trials[~(trials.is_baseline & (trials.record_size_bytes == 1024))]
    past.write_table(past.keys.trials(), kept, TRIAL_COLUMNS)

    prior, found = read(tmp_path)
    assert prior.campaigns[0].left_out == ["1024 B: its baseline has no valid repetition"]
    assert set(found.record_size_bytes) == {8192}


def test_a_named_campaign_that_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    key = CampaignKeys("in_rounds", "c0").trials()
    FolderStore(tmp_path).put(key, b"no Parquet")

    assert key in read(tmp_path, ["c0"])[0].campaigns[0].left_out[0]


def test_the_latest_is_what_was_measured_last_whatever_its_id_and_never_itself_or_one_without_trials(
    tmp_path: Path,
) -> None:
    past_campaign(tmp_path, "c5", days_later=1)
    past_campaign(tmp_path, "a_later_one", days_later=2)
    stopped = past_campaign(tmp_path, "c7", days_later=3)
    stopped.store.delete(stopped.keys.trials())
    past_campaign(tmp_path, "c9", days_later=4)

    assert [each.campaign for each in read(tmp_path)[0].campaigns] == ["a_later_one"]


def test_without_an_earlier_campaign_there_is_nothing_to_learn_from(tmp_path: Path) -> None:
    prior, trials = read(tmp_path)

    assert (prior.campaigns, len(trials)) == ([], 0)
    assert best_known(study_in_rounds(), trials, 8192, 4) == []


def test_a_named_campaign_that_is_not_there_is_refused_naming_those_that_are(tmp_path: Path) -> None:
    past_campaign(tmp_path)

    with pytest.raises(BadInputError, match=r"warm_start\.campaigns: c1: there is no such .*; there are c0"):
        read(tmp_path, ["c0", "c1"])
    with pytest.raises(BadInputError, match="c9: there is no such earlier campaign"):
        read(tmp_path, ["c9"])


def losses_of(trials: pd.DataFrame) -> dict[str, tuple[float, float]]:
    return {row.configuration_id: (row.p95_latency_ms, -row.throughput_mib_s) for row in trials.itertuples()}


def ids_of(configurations: list[Configuration]) -> list[str]:
    return [configuration_id(each) for each in configurations]


def test_the_best_known_are_non_dominated_may_be_recommended_and_are_not_the_baseline(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    study, (_, trials) = study_in_rounds(), read(tmp_path)
    of_size = trials[trials.record_size_bytes == 8192]
    best = best_known(study, trials, 8192, 8)

    assert best
    assert all(study.may_be_recommended(each, 8192) for each in best)
    assert study.baseline_id() not in ids_of(best)
    losses = losses_of(of_size[of_size.feasible & (of_size.durability == study.weakest_durability().name)])
    for name in ids_of(best):
        assert not any(np.all(np.less(other, losses[name])) for other in losses.values())


def test_of_too_many_those_are_kept_that_add_most_to_the_hypervolume(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    study, (_, trials) = study_in_rounds(durability="acks_0"), read(tmp_path)
    of_size = trials[trials.record_size_bytes == 8192]

    def volume(names: list[str]) -> float:
        return measured_hypervolume(of_size[of_size.configuration_id.isin([*names, study.baseline_id()])], study)

    every = ids_of(best_known(study, trials, 8192, 8))
    assert len(every) > 1
    (first,) = best_known(study, trials, 8192, 1)
    assert volume([configuration_id(first)]) == max(volume([name]) for name in every)


def test_what_lies_outside_of_todays_space_or_misses_a_limit_is_not_among_the_best_known(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    (_, trials) = read(tmp_path)
    every = best_known(study_in_rounds(), trials, 8192, 8)
    codec = str(every[0]["compression.type"])
    levels = [each for each in ("none", "zstd", "gzip", "snappy", "lz4") if each != codec]
    factors = study_in_rounds().model_dump(exclude_none=True)["factors"]
    narrower = study_in_rounds(factors={**factors, "compression.type": {"type": "categorical", "levels": levels}})

    assert codec not in {each["compression.type"] for each in best_known(narrower, trials, 8192, 8)}
    assert best_known(study_in_rounds(limits=["p95_latency_ms <= 0.001"]), trials, 8192, 8) == []


def test_of_a_configuration_that_two_campaigns_measured_the_newests_values_count(tmp_path: Path) -> None:
    past_campaign(tmp_path, "c1", days_later=1)
    older = past_campaign(tmp_path, "c0")
    _, newest = read(tmp_path, ["c1"])
    trials = older.read_table(older.keys.trials(), TRIAL_COLUMNS)
    lucky = trials.assign(throughput_mib_s=trials.throughput_mib_s.where(trials.is_baseline, 1e6))
    older.write_table(older.keys.trials(), lucky, TRIAL_COLUMNS)

    prior, both = read(tmp_path, ["c0", "c1"])
    assert [each.campaign for each in prior.campaigns] == ["c1", "c0"]
    assert best_known(study_in_rounds(), both, 8192, 8) == best_known(study_in_rounds(), newest, 8192, 8)
