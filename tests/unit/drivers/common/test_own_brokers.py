"""Room for a study's own brokers: this machine's real memory and disk against the request."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.systems import OwnBrokersSystem
from kafka_pareto.errors import PlanError
from kafka_pareto.steps import design_comparison
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.sections import OwnBrokers
from tests.compared import CAMPAIGN, comparison, designed

pytestmark = pytest.mark.fast

SMALLEST = OwnBrokers(brokers=1, heap_mib=128)


def plan(peak_disk_gib: float) -> Plan:
    return Plan(repetitions=1, duration_s=1.0, sent_gib=peak_disk_gib, peak_disk_gib=peak_disk_gib)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return designed(tmp_path_factory.mktemp("own_brokers"))


def test_small_brokers_and_little_data_fit(campaign: Campaign, tmp_path: Path) -> None:
    OwnBrokersSystem(SMALLEST, 724, tmp_path).require_fit(plan(0.001), campaign, "grid")


def test_more_memory_than_is_free_is_refused_with_both_numbers_and_the_fix(campaign: Campaign, tmp_path: Path) -> None:
    asked = OwnBrokers(brokers=16, heap_mib=1 << 20)
    with pytest.raises(PlanError) as refused:
        OwnBrokersSystem(asked, 724, tmp_path).require_fit(plan(0.001), campaign, "grid")
    assert re.fullmatch(
        r"16 brokers with 1048576 MiB of heap each and the load generator need about 16,783,840 MiB of memory, but "
        r"[\d,]+ MiB are free; use fewer brokers or less heap \(testbed\), or free memory",
        str(refused.value),
    )


def test_more_disk_than_is_free_is_refused_with_both_numbers_the_folder_and_the_fix(
    campaign: Campaign, tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as refused:
        OwnBrokersSystem(SMALLEST, 724, tmp_path).require_fit(plan(1e7), campaign, "grid")
    assert re.fullmatch(
        rf"the brokers may need up to 12000000\.0 GiB in {re.escape(str(tmp_path))}, but [\d.]+ GiB are free "
        r"there; free space, or choose another folder with TMPDIR",
        str(refused.value),
    )


def test_a_comparison_that_does_not_fit_is_refused_before_anything_is_frozen(tmp_path: Path) -> None:
    store, study = FolderStore(tmp_path), comparison(testbed={"brokers": 3, "heap_mib": 1 << 24})
    assert study.own_brokers is not None
    with pytest.raises(PlanError, match="of memory"):
        design_comparison.run(store, study, CAMPAIGN, OwnBrokersSystem(study.own_brokers, 724))
    assert store.keys("") == []


def test_before_they_run_their_machine_is_described(campaign: Campaign) -> None:
    found = OwnBrokersSystem(SMALLEST, 724).fingerprint(campaign, "grid")
    assert found.system == {"cluster_id": "own brokers"}
    assert found.load_and_brokers_share_a_machine
