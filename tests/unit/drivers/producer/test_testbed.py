"""Which brokers a client configuration's credentials are sent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.common.cluster_access import target_of
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.study import Study
from tests.unit.measuring import foreign

pytestmark = pytest.mark.fast

CREDENTIALS = 'sasl.mechanism=PLAIN\nsasl.jaas.config=… password="hidden";\n'


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An installation in which the study `prod` sends the credentials of `prod.properties` to its brokers."""
    configs, studies = tmp_path / "configs", tmp_path / "studies"
    configs.mkdir()
    studies.mkdir()
    (configs / "prod.properties").write_text(CREDENTIALS)
    (configs / "bound.properties").write_text(CREDENTIALS + "bootstrap.servers=c:9092, d:9092\n")
    (configs / "free.properties").write_text(CREDENTIALS)
    (studies / "prod.yaml").write_text(
        "cluster: {bootstrap_servers: 'A:9092,b:9092', client_config: prod.properties, ceiling_gib: 1}"
    )
    return Settings(client_configs=configs, studies=studies)


def measuring(servers: str, client_config: str) -> Study:
    study = foreign()
    assert study.cluster is not None
    cluster = study.cluster.model_copy(update={"bootstrap_servers": servers, "client_config": client_config})
    return study.model_copy(update={"cluster": cluster})


@pytest.mark.parametrize(
    ("servers", "client_config", "message"),
    [
        ("evil:9092", "prod.properties", "prod.properties: its credentials are for a:9092, b:9092, not for evil:9092"),
        ("a:9092,evil:9092", "prod.properties", "not for evil:9092"),
        ("a:9093", "prod.properties", "not for a:9093"),
        ("a:9092", "bound.properties", "bound.properties: its credentials are for c:9092, d:9092, not for a:9092"),
    ],
)
def test_credentials_go_to_no_brokers_but_those_that_a_study_or_the_file_names(
    settings: Settings, servers: str, client_config: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        target_of(measuring(servers, client_config), settings)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("servers", "client_config"),
    [
        ("a:9092,b:9092", "prod.properties"),
        ("b:9092", "prod.properties"),
        ("d:9092", "bound.properties"),
        ("anywhere:9092", "free.properties"),
    ],
)
def test_credentials_go_to_their_own_brokers_and_unbound_ones_wherever_they_are_sent(
    settings: Settings, servers: str, client_config: str
) -> None:
    expected = servers, settings.client_configs / client_config
    assert target_of(measuring(servers, client_config), settings) == expected


@pytest.mark.parametrize("line", ["linger.ms=5", "max.poll.records=5", "isolation.level=x", "auto.offset.reset=latest"])
def test_a_client_configuration_tunes_neither_producer_nor_consumer(settings: Settings, line: str) -> None:
    (settings.client_configs / "free.properties").write_text(f"{line}\n")
    with pytest.raises(BadInputError, match=rf"{line.split('=', maxsplit=1)[0]}: only addresses and credentials"):
        target_of(measuring("anywhere:9092", "free.properties"), settings)


def test_credentials_that_an_unreadable_study_may_bind_go_nowhere(settings: Settings) -> None:
    (settings.studies / "torn.yaml").write_text("cluster: {")
    with pytest.raises(BadInputError, match=r"client_config: free.properties: torn.yaml: cannot be read"):
        target_of(measuring("anywhere:9092", "free.properties"), settings)
    for servers, client_config in (("a:9092", "prod.properties"), ("d:9092", "bound.properties")):
        assert target_of(measuring(servers, client_config), settings)[0] == servers
