"""Loads of a comparison of services, and the levels that share a topology."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.services.studies import CompareServices, Load, load_of
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.study_file import parse_study

pytestmark = pytest.mark.fast


def services(**changes: Any) -> CompareServices:
    content: dict[str, Any] = {
        "schema_version": 1,
        "kind": "compare",
        "driver": "services",
        "name": "example",
        "description": "Of a test.",
        "topologies": {
            "one": {"brokers": 1, "replication_factor": 1, "partitions": 1},
            "two": {"brokers": 2, "replication_factor": 2, "partitions": 3},
        },
        "tables": [{"factor": "topology", "levels": ["one", "two"]}],
    }
    study = parse_study(yaml.safe_dump(content | changes, sort_keys=False), "example.yaml")
    assert isinstance(study, CompareServices)
    return study


def test_a_load_is_a_burst_a_rate_a_share_of_a_capacity_or_the_search_of_one() -> None:
    assert load_of("burst") == Load("burst")
    assert load_of("capacity") == Load("capacity")
    assert load_of("500/s") == Load("paced", rate_s=500.0)
    assert load_of("60%") == Load("paced", capacity_fraction=0.6)
    assert load_of("60% own") == Load("paced", capacity_fraction=0.6, of_own=True)
    for text in ("", "0/s", "0%", "101%", "60 %", "fast", "60%own"):
        with pytest.raises(ValueError, match=r"load: .*must be burst, capacity, a rate such as 500/s"):
            load_of(text)


def test_a_share_is_of_the_reference_s_capacity_or_of_the_level_s_own() -> None:
    of_reference = services(reference={"load": "60%"})
    of_own = services(reference={"load": "60% own"})

    second = of_reference.levels_of("topology")[1]
    assert of_reference.capacity_topology(second) == "one"
    assert of_own.capacity_topology(of_own.levels_of("topology")[1]) == "two"


def test_one_of_a_kind_is_described_in_the_singular_and_no_warm_up_not_at_all() -> None:
    described = services().described_protocol()

    assert described["topologies"].startswith("one: 1 broker, 1 replica, 1 partition, min.insync.replicas 1, ")
    assert "two: 2 brokers, 2 replicas, 3 partitions, " in described["topologies"]
    assert described["warm-up"].startswith("500 orders on new services; at a rate, ")


def test_levels_that_need_the_same_cluster_are_of_one_group() -> None:
    study = services(
        tables=[{"factor": "topology", "levels": ["one", "two"]}, {"factor": "linger.ms", "levels": [0, 5]}],
        series=[
            {"name": "volumes", "factor": "topology", "levels": ["one", "two"], "along": "orders", "at": [500, 1000]}
        ],
    )

    groups = [study.group_in_block(level) for level in study.levels_of("volumes")]
    assert groups[0] == groups[2] != groups[1] == groups[3]
    assert len({study.group_in_block(level) for level in study.levels_of("linger_ms")}) == 2


def test_instances_need_a_partition_each() -> None:
    tables = [{"factor": "instances", "levels": [1, 3]}]

    assert services(tables=tables, reference={"topology": "two"}).cases == ["instances"]
    with pytest.raises(BadInputError, match=r"instances 3: must be at most 1, the partitions of topology one"):
        services(tables=tables)


def test_a_limited_process_has_no_fault_because_its_successor_would_not_be_limited() -> None:
    at_a_rate = {"topology": "two", "load": "50/s", "paced_s": 60}
    tables = [{"factor": "fault", "levels": ["none", "manufacturer_killed"]}]

    assert services(tables=tables, reference=at_a_rate).cases == ["fault"]
    with pytest.raises(BadInputError, match=r"fault manufacturer_killed: not together with cpus"):
        services(tables=tables, reference=at_a_rate, cpus={"service": 0.5})


def test_a_study_s_conditions_name_its_limits_only_if_it_has_any() -> None:
    assert services(cpus={"broker": 0.5}).conditions()["cpus.broker"] == 0.5
    assert not [name for name in services().conditions() if name.startswith("cpus.")]
