from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Proposal, RoundsSoFar, Stop
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, FRONT_COLUMNS, TRIAL_COLUMNS, table_schema
from kafka_pareto.search.stopping import rounds_so_far
from kafka_pareto.steps import propose
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, parse_study
from tests.recorded import STUDIES, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CASES = ["1024", "8192"]
ROUNDS = {"maximum": 2, "configurations": 3}


def study_of(**changes: Any) -> Study:
    """Return the paper's factors at the baseline's durability, in rounds."""
    content = yaml.safe_load((STUDIES / "paper.yaml").read_text())
    del content["durability"]
    content |= {
        "name": "in_rounds",
        "record_sizes_bytes": [int(case) for case in CASES],
        "strategy": "rounds",
        "rounds": ROUNDS,
    }
    content["protocol"] |= {"repetitions": 1, "minimum_valid_repetitions": 3}
    return parse_study(yaml.safe_dump(content | changes), "in_rounds")


def recorded_trials(study: Study, configurations: int, cases: Sequence[str] = CASES) -> pd.DataFrame:
    """Return one recorded repetition of each configuration and of the baseline."""
    return summarise_trials(recorded_repetitions(cases, configurations, blocks=1), study)


def campaign_of(folder: Path, study: Study, *trials_by_round: pd.DataFrame) -> Campaign:
    """Return a campaign whose rounds so far gave these trials; the searches found no front."""
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    nothing = pd.DataFrame(columns=table_schema(FRONT_COLUMNS, study).names)
    for number, trials in enumerate(trials_by_round):
        design = trials[table_schema(DESIGN_COLUMNS, study).names]
        campaign.write_table(campaign.keys.design(number), design, DESIGN_COLUMNS)
        campaign.write_table(campaign.keys.trials(number), trials, TRIAL_COLUMNS)
        for case in study.cases:
            campaign.write_table(campaign.keys.front(case, number), nothing, FRONT_COLUMNS)
    return campaign


def _of(trials: pd.DataFrame, case: str, rows: slice) -> pd.DataFrame:
    return trials[trials.case == case].iloc[rows]


def decided(campaign: Campaign, round_number: int) -> dict[int, RoundsSoFar]:
    proposal = campaign.read_record(campaign.keys.proposal(round_number), Proposal)
    return {each.case: each for each in proposal.cases}


@pytest.mark.parametrize(("strategy", "round_number"), [("one_shot", 1), ("rounds", 3)])
def test_a_round_that_the_study_does_not_have_measures_nothing_and_writes_nothing(
    tmp_path: Path, strategy: str, round_number: int
) -> None:
    one_shot = {"rounds": {}, "protocol": {"kind": "cold_burst", "records": 1000, "repetitions": 3}}
    study = study_of(strategy=strategy, **(one_shot if strategy == "one_shot" else {}))
    campaign = campaign_of(tmp_path, study, recorded_trials(study, 12))
    before = campaign.store.keys("")

    manifest = propose.run(campaign, round_number)

    assert (manifest.cases, manifest.artifacts) == ([], [])
    assert campaign.store.keys("") == before


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    study = study_of()
    campaign = campaign_of(tmp_path_factory.mktemp("proposed"), study, recorded_trials(study, 12))
    assert propose.run(campaign, 1).cases == list(CASES)
    return campaign


def test_after_the_design_every_record_size_continues_with_the_baseline_and_new_configurations(
    proposed: Campaign,
) -> None:
    study, trials = proposed.study, proposed.read_table(proposed.keys.trials(), TRIAL_COLUMNS)
    design = proposed.read_table(proposed.keys.design(1), DESIGN_COLUMNS)

    for case in CASES:
        of_case = design[design.case == case]
        measured = trials[(trials.case == case) & ~trials.is_baseline]
        assert list(of_case.is_baseline) == [True, *[False] * (len(of_case) - 1)]
        assert 1 < len(of_case) <= 1 + study.rounds.configurations
        assert set(of_case.configuration_id).isdisjoint(measured.configuration_id)
        assert of_case.feasible[~of_case.is_baseline].all()
        assert (of_case.durability == study.weakest_durability().name).all()
        assert len(decided(proposed, 1)[case].measured_hypervolume) == 1


def test_the_same_trials_give_the_same_proposal(proposed: Campaign, tmp_path: Path) -> None:
    again = campaign_of(tmp_path, proposed.study, recorded_trials(proposed.study, 12))

    propose.run(again, 1)

    for key in (again.keys.design(1), again.keys.proposal(1)):
        assert again.store.get(key) == proposed.store.get(key)


def test_a_decision_that_is_in_the_store_is_kept_though_the_trials_have_changed(
    proposed: Campaign, tmp_path: Path
) -> None:
    campaign = campaign_of(tmp_path, proposed.study, recorded_trials(proposed.study, 30))
    kept = {key: proposed.store.get(key) for key in (proposed.keys.design(1), proposed.keys.proposal(1))}
    for key, content in kept.items():
        campaign.store.put(key, content)

    assert propose.run(campaign, 1).cases == list(CASES)
    assert {key: campaign.store.get(key) for key in kept} == kept


def test_a_record_size_stops_after_two_rounds_that_brought_too_little_and_stays_stopped(tmp_path: Path) -> None:
    study = study_of(rounds={"maximum": 4, "configurations": 1})
    designed, added = recorded_trials(study, 12), recorded_trials(study, 20)
    new = added[~added.configuration_id.isin(designed.configuration_id)]
    useless, useful = new.assign(p95_latency_ms=1e4), new.assign(p95_latency_ms=new.p95_latency_ms / 4)
    first = pd.concat([designed, *(_of(useless, case, slice(4, 8)) for case in CASES)])
    second = pd.concat([first, _of(useless, "1024", slice(0, 4)), _of(useful, "8192", slice(0, 4))])
    campaign = campaign_of(tmp_path, study, designed, first, second, second)

    assert propose.run(campaign, 1).cases == list(CASES)
    assert propose.run(campaign, 2).cases == list(CASES), "one poor round may have been unlucky"
    assert propose.run(campaign, 3).cases == ["8192"]
    third = decided(campaign, 3)
    assert third["8192"].stopped_because is None
    assert third["8192"].measured_hypervolume[2] > third["8192"].measured_hypervolume[1]
    assert third["1024"].stopped_because == Stop(
        code="rise_too_small", rise_fraction=0.0, least_rise_fraction=study.rounds.least_rise_fraction
    )
    assert third["1024"].rounds_measured == 2
    design = campaign.read_table(campaign.keys.design(3), DESIGN_COLUMNS)
    assert set(design.case) == {"8192"}

    assert propose.run(campaign, 4).cases == ["8192"]
    assert decided(campaign, 4)["1024"] == third["1024"]


def test_a_record_size_with_nothing_left_to_propose_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    factors = {"compression.type": {"type": "categorical", "levels": ["none", "lz4"]}}
    study = study_of(factors=factors, constraints=[], record_sizes_bytes=[8192], design={"configurations": 1})
    whole_space = [study.baseline_configuration(), {"compression.type": "lz4"}]
    rows = [
        row.with_values(
            {
                "configuration": configuration,
                "configuration_id": configuration_id(configuration),
                "is_baseline": configuration == study.baseline_configuration(),
            }
        )
        for row, configuration in zip(recorded_repetitions(("8192",), 1, blocks=1), whole_space, strict=True)
    ]
    campaign = campaign_of(tmp_path, study, summarise_trials(rows, study))

    assert propose.run(campaign, 1).cases == []
    assert decided(campaign, 1)["8192"].stopped_because == Stop(code="nothing_left")
    assert "stops: no unmeasured configuration is expected to improve the front" in caplog.text
    assert campaign.store.tag(campaign.keys.design(1)) is None


def test_configurations_that_only_failed_or_were_rejected_are_not_proposed_again(tmp_path: Path) -> None:
    study = study_of()
    campaign = campaign_of(tmp_path, study, recorded_trials(study, 12))
    propose.run(campaign, 1)
    proposed = campaign.read_table(campaign.keys.design(1), DESIGN_COLUMNS)
    rejected = proposed[~proposed.is_baseline].configuration_id
    # As if round 0 had measured these as well, in vain: they are in its design, and no trial shows them.
    design = pd.concat([campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS), proposed], ignore_index=True)
    campaign.write_table(campaign.keys.design(), design, DESIGN_COLUMNS)
    campaign.store.delete(campaign.keys.proposal(1))

    propose.run(campaign, 1)

    assert not set(rejected) & set(campaign.read_table(campaign.keys.design(1), DESIGN_COLUMNS).configuration_id)


def test_the_volume_never_falls_when_a_later_round_measures_a_faster_baseline() -> None:
    study = study_of()
    designed, added = recorded_trials(study, 12, ("8192",)), recorded_trials(study, 40, ("8192",))
    faster = added.assign(p95_latency_ms=added.p95_latency_ms.where(~added.is_baseline, added.p95_latency_ms / 1.3))

    volumes = rounds_so_far(study, "8192", [designed, faster]).measured_hypervolume

    assert volumes[0] <= volumes[1]


def test_the_last_round_of_the_study_is_named_as_the_reason() -> None:
    study = study_of(rounds={"maximum": 1, "configurations": 3, "least_rise_fraction": 0.0})

    so_far = rounds_so_far(study, "8192", [recorded_trials(study, 12), recorded_trials(study, 40)])

    assert (so_far.stopped_because, so_far.rounds_measured) == (Stop(code="last_round"), 1)


def test_the_last_round_is_the_one_that_was_searched_at_every_record_size(tmp_path: Path) -> None:
    study = study_of()
    trials = recorded_trials(study, 12)
    campaign = campaign_of(tmp_path, study, trials, trials)
    assert campaign.last_round() == 1

    campaign.store.delete(campaign.keys.front("8192", 1))
    assert campaign.last_round() == 0


def test_a_round_chooses_from_an_evenly_spread_part_of_a_long_front_and_from_all_of_a_short_one() -> None:
    long, short, empty = (pd.DataFrame({"place": range(count)}) for count in (3_000, 200, 0))

    places = propose._spread(long).place.to_numpy()
    assert (len(places), places[0], places[-1]) == (256, 0, 2_999)
    assert set(np.diff(places)) <= {11, 12}
    assert list(propose._spread(short).place) == list(range(200))
    assert propose._spread(empty).empty
