"""Which load machines send a study's load, and which loads they can share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.producer.load_machines import load_machines
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.settings import Settings
from kafka_pareto.study.study_file import parse_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    file = tmp_path / "load.pem"
    file.touch(0o600)
    return file


def test_a_study_without_load_machines_needs_none(tmp_path: Path):
    assert load_machines(0, Settings(load_credentials=tmp_path / "none")) is None


def test_the_first_of_the_named_machines_send_the_load(credentials: Path):
    machines = load_machines(2, Settings(load_machines="a:1, b.example:2,c:3", load_credentials=credentials))

    assert machines is not None
    assert machines.addresses == ("a:1", "b.example:2")
    assert machines.options(300, "cluster-1") == [
        *("--machine", "a:1", "--machine", "b.example:2"),
        *("--machine-credentials", str(credentials), "--machine-heap-mib", "300"),
        *("--machine-start-ms", "2.0", "--cluster-id=cluster-1"),
    ]


@pytest.mark.parametrize(
    ("addresses", "says"),
    [
        ("", "KAFKA_PARETO_LOAD_MACHINES: '' names 0 load machines; protocol.load_machines of the study is 2"),
        ("a:1", "names 1 load machine; protocol.load_machines of the study is 2"),
        ("a:1,b", "KAFKA_PARETO_LOAD_MACHINES: b: must be host:port"),
        ("a:1,--machine:2", "KAFKA_PARETO_LOAD_MACHINES: --machine:2: must be host:port"),
        ("a:1,b:65536", "KAFKA_PARETO_LOAD_MACHINES: b:65536: must be host:port"),
        ("a:1,a:1", "KAFKA_PARETO_LOAD_MACHINES: a:1: is named twice"),
    ],
)
def test_too_few_or_invalid_addresses_are_refused(credentials: Path, addresses: str, says: str):
    with pytest.raises(BadInputError) as refused:
        load_machines(2, Settings(load_machines=addresses, load_credentials=credentials))
    assert says in str(refused.value)


def test_credentials_that_are_missing_or_open_to_others_are_refused(tmp_path: Path):
    settings = Settings(load_machines="a:1", load_credentials=tmp_path / "load.pem")
    with pytest.raises(BadInputError, match=r"load.pem: cannot be read: No such file.*load-credentials"):
        load_machines(1, settings)
    (tmp_path / "load.pem").touch(0o640)
    (tmp_path / "load.pem").chmod(0o640)
    with pytest.raises(BadInputError, match=r"load.pem: other users may read or change it; run: chmod 600"):
        load_machines(1, settings)


@pytest.mark.parametrize(
    ("workload", "protocol", "says"),
    [
        ({"producers": 4}, {"load_machines": 3}, "producers 4: must be a multiple of protocol.load_machines, 3"),
        ({}, {"load_machines": 2}, "producers 1: must be a multiple of protocol.load_machines, 2"),
        ({"producers": 2}, {"load_machines": 2, "jvm": "fresh"}, "load_machines needs load_tool load_generator and"),
    ],
)
def test_loads_that_cannot_be_shared_are_refused(workload: dict[str, Any], protocol: dict[str, Any], says: str):
    study = yaml.safe_load((STUDIES / "steady.yaml").read_text(encoding="utf-8"))
    study["workload"] |= workload
    study["protocol"] |= {"jvm": "warm"} | protocol
    with pytest.raises(StudyError) as refused:
        parse_study(yaml.safe_dump(study), "mine.yaml")
    assert says in str(refused.value)


def test_other_clients_are_refused():
    study = yaml.safe_load((STUDIES / "librdkafka.yaml").read_text(encoding="utf-8"))
    study["protocol"] |= {"load_machines": 1}
    with pytest.raises(StudyError, match=r"load machines have only the bundled client for Java"):
        parse_study(yaml.safe_dump(study), "mine.yaml")


def test_a_comparison_whose_levels_cannot_all_be_shared_is_refused():
    study = yaml.safe_load((STUDIES / "client_upgrade.yaml").read_text(encoding="utf-8"))
    study["protocol"] = study.get("protocol", {}) | {"load_machines": 1, "jvm": "warm"}
    with pytest.raises(StudyError, match=r"which listen on loopback"):
        parse_study(yaml.safe_dump(study), "mine.yaml")
    del study["testbed"]
    with pytest.raises(StudyError, match=r"load machines have only the bundled client for Java"):
        parse_study(yaml.safe_dump(study), "mine.yaml")
