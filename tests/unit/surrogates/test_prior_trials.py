from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kafka_pareto.analysis.hypervolume import measured_hypervolume
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Prior
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.warm_start import Campaigns, WarmStart
from kafka_pareto.surrogates.prior_trials import best_known, earlier_trials
from tests.past import CASES, MEASURED_AT, fingerprint, past_campaign, study_in_rounds

pytestmark = [pytest.mark.fast, pytest.mark.slow]

THIRTY_DAYS_LATER = MEASURED_AT + timedelta(days=30)


def read(
    folder: Path, campaigns: Campaigns = "latest", study: Study | None = None, **testbed: Any
) -> tuple[Prior, pd.DataFrame]:
    study = study or study_in_rounds()
    today = Campaign(study, CampaignKeys(study.name, "c9"), FolderStore(folder))
    known = fingerprint(study)
    of_system = {name: testbed.pop(name) for name in list(testbed) if name in known.system}
    found = known.model_copy(update={"system": known.system | of_system, **testbed})
    return earlier_trials(today, WarmStart(campaigns=campaigns), found, THIRTY_DAYS_LATER)


def keep(past: Campaign, wanted: Callable[[pd.DataFrame], pd.Series]) -> None:
    trials = past.read_table(past.keys.trials(), TRIAL_COLUMNS)
    past.write_table(past.keys.trials(), trials[wanted(trials)], TRIAL_COLUMNS)


def test_the_trials_of_a_comparable_campaign_are_used_and_count_for_half_after_a_half_life(tmp_path: Path) -> None:
    past = past_campaign(tmp_path)
    prior, trials = read(tmp_path)
    (used,) = prior.campaigns
    assert (used.campaign, used.trials, used.left_out) == ("c0", len(trials), [])
    assert used.age_days == dict.fromkeys(CASES, pytest.approx(30.0))
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
        ({}, {"kafka_version": "4.4"}, "8,192 B: fingerprint.kafka_version: 4.3 then, 4.4 now"),
        ({}, {"cluster_id": "another"}, "8,192 B: fingerprint.cluster_id: fake then, another now"),
        ({}, {"brokers": ["fake:9092"]}, "8,192 B: fingerprint.brokers: 3 then, 1 now"),
        ({}, {"load_and_brokers_share_a_machine": True}, ".load_and_brokers_share_a_machine: False then, True now"),
        ({"protocol": {"throughput_limit_mib_s": 20.0}}, {}, "protocol.throughput_limit_mib_s: 20.0 then, none now"),
        ({}, {"client_cores": 999}, "then, 999 now"),
        ({"record_sizes_bytes": [1024]}, {}, "8,192 B: was not measured then"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_incomparable_campaigns_are_excluded_with_key_and_both_values(
    tmp_path: Path, then: dict[str, Any], testbed: dict[str, Any], reason: str
) -> None:
    past_campaign(tmp_path, study=study_in_rounds(**then))
    prior, trials = read(tmp_path, **testbed)
    assert any(reason in each for each in prior.campaigns[0].left_out)
    assert not (trials.case == "8192").any()


def test_a_campaign_of_other_factors_is_excluded(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    factors = {"linger.ms": {"type": "integer", "levels": [0, 5]}}
    prior, trials = read(tmp_path, study=study_in_rounds(factors=factors, constraints=[], design={"configurations": 1}))
    (reason,) = prior.campaigns[0].left_out
    assert reason == "factors: acks, batch.size, compression.type, linger.ms then, linger.ms now"
    assert trials.empty


def test_under_a_ceiling_that_binds_a_campaign_compares_with_one_of_the_same_limit_alone(tmp_path: Path) -> None:
    def under(ceiling_mib_s: float, **protocol: float) -> Study:
        cluster = {"bootstrap_servers": "fake:9092", "ceiling_mib_s": ceiling_mib_s, "ceiling_gib": 9.0}
        return study_in_rounds(cluster=cluster, protocol=protocol)

    past_campaign(tmp_path, study=under(50.0))
    (other,) = read(tmp_path, study=under(60.0))[0].campaigns
    (same,) = read(tmp_path, study=under(60.0, throughput_limit_mib_s=50.0))[0].campaigns
    assert other.left_out == ["protocol.throughput_limit_mib_s: 50.0 then, 60.0 now"]
    assert same.left_out == []


def narrower(name: str, levels: list[Any]) -> Study:
    factors = study_in_rounds().model_dump(exclude_none=True)["factors"]
    return study_in_rounds(factors={**factors, name: {**factors[name], "levels": levels}})


def test_trials_of_a_category_that_is_no_longer_a_level_are_excluded_and_counted_except_the_baseline(
    tmp_path: Path,
) -> None:
    past_campaign(tmp_path)
    _, before = read(tmp_path)
    prior, after = read(tmp_path, study=narrower("compression.type", ["zstd", "lz4"]))
    (used,) = prior.campaigns
    gone = before[~before["compression.type"].isin(["zstd", "lz4"]) & ~before.is_baseline]
    assert used.left_out == [
        f"{case_label(size)}: trials with compression.type gzip, none, snappy ({(gone.case == size).sum()}): "
        "not among today's levels"
        for size in CASES
    ]
    assert used.trials == len(after) == len(before) - len(gone)
    assert set(after["compression.type"][~after.is_baseline]) == {"zstd", "lz4"}
    assert set(after["compression.type"][after.is_baseline]) == {"none"}


def test_numbers_outside_of_todays_levels_stay_to_learn_from_and_are_not_among_the_best_known(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    best, *_ = best_known(study_in_rounds(), read(tmp_path)[1], "8192", 8)
    today = narrower("linger.ms", sorted({0, 5, 10, 100} - {best["linger.ms"]}))
    prior, trials = read(tmp_path, study=today)
    assert prior.campaigns[0].left_out == []
    assert best["linger.ms"] in set(trials["linger.ms"])
    inside = best_known(today, trials, "8192", 8)
    assert inside
    assert best["linger.ms"] not in {each["linger.ms"] for each in inside}


def test_a_record_size_of_which_no_category_is_left_gives_nothing(tmp_path: Path) -> None:
    keep(past_campaign(tmp_path), lambda trials: trials["compression.type"] == "none")
    (campaign,) = read(tmp_path, study=narrower("compression.type", ["zstd"]))[0].campaigns
    reason = "no other configuration has a valid repetition at today's levels"
    assert campaign.left_out == [f"{case_label(case)}: {reason}" for case in CASES]


def test_a_text_of_other_words_is_another_workload(tmp_path: Path) -> None:
    study = study_in_rounds(workload={"payload": {"file": "words.txt"}})
    store = FolderStore(tmp_path)
    past_campaign(tmp_path, study=study)
    store.put(CampaignKeys(study.name, "c0").payload(), b"then")
    store.put(CampaignKeys(study.name, "c9").payload(), b"now")
    assert read(tmp_path, study=study)[0].campaigns[0].left_out == ["workload.payload.file: the text has changed"]


def test_a_record_size_without_a_baseline_is_excluded_and_the_other_one_is_used(tmp_path: Path) -> None:
    keep(past_campaign(tmp_path), lambda trials: ~(trials.is_baseline & (trials.case == "1024")))
    prior, found = read(tmp_path)
    assert prior.campaigns[0].left_out == ["1,024 B: its baseline has no valid repetition"]
    assert set(found.case) == {"8192"}


def test_a_named_campaign_that_cannot_be_read_is_excluded_with_the_reason_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    past_campaign(tmp_path)
    past_campaign(tmp_path, "c1")
    key = CampaignKeys("in_rounds", "c0").trials()
    FolderStore(tmp_path).put(key, b"no Parquet")
    with caplog.at_level(logging.INFO):
        prior, _ = read(tmp_path, ["c0", "c1"])
    assert key in prior.campaigns[1].left_out[0]
    warned = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert warned[0] == "warm start from c0: 0 trials"
    assert key in warned[1]
    assert not any("c1" in message for message in warned)


def test_the_age_is_that_of_the_last_repetition_whatever_its_key(tmp_path: Path) -> None:
    past = past_campaign(tmp_path)
    first, *_ = past.read_repetitions(past.keys.measurements("8192"))
    again = first.model_copy(update={"started_at": (MEASURED_AT + timedelta(days=6)).isoformat()})
    past.write_record(f"{past.keys.measurements('8192')}{first.repetition_id}.json", again)

    ages = read(tmp_path)[0].campaigns[0].age_days
    assert ages == {"1024": pytest.approx(30.0), "8192": pytest.approx(24.0)}


def test_the_latest_is_the_last_measured_whatever_its_id_and_never_itself(tmp_path: Path) -> None:
    past_campaign(tmp_path, "c5", days_later=1)
    past_campaign(tmp_path, "a_later_one", days_later=2)
    past_campaign(tmp_path, "c9", days_later=4)
    assert [each.campaign for each in read(tmp_path)[0].campaigns] == ["a_later_one"]


def test_later_campaigns_that_give_nothing_are_passed_over_with_their_reasons(tmp_path: Path) -> None:
    past_campaign(tmp_path, "older", days_later=1)
    past_campaign(tmp_path, "used", days_later=2)
    stopped = past_campaign(tmp_path, "stopped", days_later=3)
    stopped.store.delete(stopped.keys.trials())
    past_campaign(tmp_path, "other", days_later=4, study=study_in_rounds(baseline={"linger.ms": 20}))
    damaged = past_campaign(tmp_path, "damaged")
    damaged.store.put(damaged.keys.frozen_study(), b"name: in_rounds")
    prior, trials = read(tmp_path)
    assert prior.campaigns[0].campaign == "used"
    assert {each.campaign for each in prior.campaigns if each.left_out} == {"stopped", "other", "damaged"}
    assert set(trials.prior_campaign) == {"used"}


def test_that_nothing_of_the_past_is_used_is_warned_of_and_without_a_past_there_is_nothing_to_learn_from(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nothing, trials = read(tmp_path)
    assert (nothing.campaigns, len(trials)) == ([], 0)
    assert best_known(study_in_rounds(), trials, "8192", 4) == []
    past_campaign(tmp_path)
    prior, trials = read(tmp_path, cluster_id="another")
    assert (len(prior.campaigns), len(trials)) == (1, 0)
    assert "no earlier campaign of in_rounds has usable trials" in caplog.text


def test_a_named_campaign_that_is_not_there_is_refused_naming_those_that_are(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    with pytest.raises(BadInputError, match=r"warm_start\.campaigns: c1: there is no such .*; there are c0"):
        read(tmp_path, ["c0", "c1"])
    with pytest.raises(BadInputError, match="c9: there is no such earlier campaign"):
        read(tmp_path, ["c9"])


def ids_of(configurations: list[Configuration]) -> list[str]:
    return [configuration_id(each) for each in configurations]


def test_the_best_known_are_non_dominated_may_be_recommended_and_are_not_the_baseline(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    study, (_, trials) = study_in_rounds(), read(tmp_path)
    of_case = trials[trials.case == "8192"]
    best = best_known(study, trials, "8192", 8)
    assert best
    assert all(study.may_be_recommended(each, "8192") for each in best)
    assert study.baseline_id() not in ids_of(best)
    allowed = of_case[of_case.feasible & (of_case.durability == study.weakest_durability().name)]
    for one in allowed[allowed.configuration_id.isin(ids_of(best))].itertuples():
        faster = (allowed.p95_latency_ms < one.p95_latency_ms) & (allowed.throughput_mib_s > one.throughput_mib_s)
        assert not faster.any()


def test_of_too_many_those_are_kept_that_add_most_to_the_hypervolume(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    study, (_, trials) = study_in_rounds(durability="acks_0"), read(tmp_path)
    of_case = trials[trials.case == "8192"]

    def volume(names: list[str]) -> float:
        return measured_hypervolume(of_case[of_case.configuration_id.isin([*names, study.baseline_id()])], study)

    every = ids_of(best_known(study, trials, "8192", 8))
    assert len(every) > 1
    (first,) = best_known(study, trials, "8192", 1)
    assert volume([configuration_id(first)]) == max(volume([name]) for name in every)


def test_trials_outside_todays_space_or_beyond_a_limit_are_not_among_the_best_known(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    (_, trials) = read(tmp_path)
    every = best_known(study_in_rounds(), trials, "8192", 8)
    codec = str(every[0]["compression.type"])
    levels = [each for each in ("none", "zstd", "gzip", "snappy", "lz4") if each != codec]
    inside = best_known(narrower("compression.type", levels), trials, "8192", 8)
    assert {each["compression.type"] for each in inside} <= set(levels)
    assert inside
    assert best_known(study_in_rounds(limits=["p95_latency_ms <= 0.001"]), trials, "8192", 8) == []


def test_of_a_configuration_that_two_campaigns_measured_the_newests_values_count(tmp_path: Path) -> None:
    past_campaign(tmp_path, "c1", days_later=1)
    older = past_campaign(tmp_path, "c0")
    _, newest = read(tmp_path, ["c1"])
    trials = older.read_table(older.keys.trials(), TRIAL_COLUMNS)
    lucky = trials.assign(throughput_mib_s=trials.throughput_mib_s.where(trials.is_baseline, 1e6))
    older.write_table(older.keys.trials(), lucky, TRIAL_COLUMNS)
    prior, both = read(tmp_path, ["c0", "c1"])
    assert [each.campaign for each in prior.campaigns] == ["c1", "c0"]
    assert best_known(study_in_rounds(), both, "8192", 8) == best_known(study_in_rounds(), newest, "8192", 8)
