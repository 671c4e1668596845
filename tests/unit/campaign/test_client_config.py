"""The user's client configuration for one campaign: readable only by its owner, and deleted at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.client_config import client_config_name, forget_client_config, keep_client_config
from kafka_pareto.kafka.client_properties import parse_properties, read_client_config

pytestmark = pytest.mark.fast

GIVEN = "security.protocol=SASL_SSL\nsasl.jaas.config=… password=hidden;\n"


def test_kafka_reads_the_given_configuration(tmp_path: Path) -> None:
    keep_client_config(tmp_path / "new", "c", "r", GIVEN)
    kept = tmp_path / "new" / client_config_name("c")
    assert parse_properties(read_client_config(kept)) == parse_properties(GIVEN)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("addresses", ["", "bootstrap.servers=\n", "bootstrap.servers= ,\n", "client.id=me\\"])
def test_a_copy_without_addresses_is_bound_to_the_brokers_it_was_given_for(tmp_path: Path, addresses: str) -> None:
    keep_client_config(tmp_path, "c", "r", f"{GIVEN}{addresses}", "good:9092")
    kept = parse_properties(read_client_config(tmp_path / client_config_name("c")))
    assert kept["bootstrap.servers"] == "good:9092"


def test_it_is_removed_once_and_those_of_other_campaigns_stay(tmp_path: Path) -> None:
    for campaign in ("c", "cc"):
        keep_client_config(tmp_path, campaign, "r", GIVEN)
    assert forget_client_config(tmp_path, "c", "r")
    assert [path.name for path in tmp_path.iterdir()] == ["cc.properties"]
    assert not forget_client_config(tmp_path, "c", "r")


def test_a_file_of_the_installations_own_and_one_that_an_id_leads_to_stay(tmp_path: Path) -> None:
    (tmp_path / "prod.properties").write_text(GIVEN)
    keep_client_config(tmp_path, "c", "r", GIVEN)
    (tmp_path / "folder").mkdir()
    assert not forget_client_config(tmp_path, "prod", "r")
    assert not forget_client_config(tmp_path / "folder", "../c", "r")
    assert (tmp_path / "prod.properties").read_text() == GIVEN
    assert (tmp_path / "c.properties").exists()
