"""A cluster is ours only where the stack has started its brokers; every other has its guards, however it was named."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.cluster_access import machine_lease, require_started_here
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.overrides import cluster_with
from kafka_pareto.study.topic_study import servers_of_others
from tests.compared import comparison
from tests.unit.measuring import foreign, quick

pytestmark = pytest.mark.fast

STARTED_HERE = Settings(bootstrap_servers="a:9092,b:9092", own_cluster_id="ours")
SOMEBODYS = Settings(bootstrap_servers="a:9092,b:9092")


def test_the_installations_servers_are_others_if_a_study_loads_them_and_its_stack_has_not_started_them() -> None:
    assert servers_of_others(quick(), SOMEBODYS) == "a:9092,b:9092"
    assert servers_of_others(quick(), STARTED_HERE) == ""
    assert servers_of_others(foreign(), SOMEBODYS) == ""
    assert servers_of_others(comparison(testbed={"brokers": 3}), SOMEBODYS) == ""


def test_an_installations_servers_that_others_depend_on_are_loaded_with_ceilings_and_consent_alone() -> None:
    for incomplete in ({}, {"ceiling_mib_s": 5.0, "consent": True}):
        with pytest.raises(BadInputError, match="needs a ceiling above zero"):
            cluster_with(None, incomplete, "a:9092")
    found = cluster_with(None, {"ceiling_mib_s": 5.0, "ceiling_gib": 2.0}, "a:9092")
    assert found is not None
    assert (found.bootstrap_servers, found.ceiling_gib, found.consent) == ("a:9092", 2.0, False)
    # One that is named for the campaign takes their place.
    found = cluster_with(None, {"bootstrap_servers": "c:9092", "ceiling_mib_s": 5.0, "ceiling_gib": 2.0}, "a:9092")
    assert found is not None
    assert found.bootstrap_servers == "c:9092"


@pytest.mark.parametrize("settings", [SOMEBODYS, STARTED_HERE])
def test_a_campaign_without_ceilings_loads_no_cluster_that_the_stack_has_not_started(settings: Settings) -> None:
    with pytest.raises(BadInputError, match="cluster theirs was not started by this installation's stack"):
        require_started_here("theirs", quick(), settings)


def test_the_stacks_own_cluster_and_one_with_ceilings_are_loaded() -> None:
    require_started_here("ours", quick(), STARTED_HERE)
    require_started_here("theirs", foreign(), STARTED_HERE)
    require_started_here("new at each start", comparison(testbed={"brokers": 3}), SOMEBODYS)


def test_containers_of_a_machine_share_its_lease_and_one_without_a_boot_id_is_known_by_its_name(tmp_path: Path) -> None:
    assert machine_lease(tmp_path / "boot_id") == f"machine-{socket.gethostname()}"
    (tmp_path / "boot_id").write_text("0f3c\n", encoding="ascii")
    assert machine_lease(tmp_path / "boot_id") == "machine-0f3c"
