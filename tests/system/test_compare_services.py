"""A comparison of topologies, from its design to its report: each cluster is started, and services hand orders on."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.drivers.services.attempt import attempt_orders
from kafka_pareto.drivers.services.fault import Fault
from kafka_pareto.drivers.services.orders import run_orders
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import ORDER_PLACED
from kafka_pareto.drivers.services.studies import CompareServices
from kafka_pareto.drivers.services.testbed import OpenTopology, ServicesTestbed, TopologyCluster
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.faults import PARTITIONS_ADDED, FaultTimes
from kafka_pareto.study.study_file import parse_study
from tests.system.broker_fixtures import end_offsets
from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.long]

ORDERS = 200
FAULTS = [{"factor": "fault", "levels": ["none", PARTITIONS_ADDED], "fixed": {"load": "100/s", "paced_s": 60}}]
STUDY: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "services",
    "name": "tiny",
    "description": "One broker and two; the numbers mean nothing.",
    "heap_mib": 256,
    "topologies": {
        "one": {"brokers": 1, "replication_factor": 1, "partitions": 1},
        "two": {"brokers": 2, "replication_factor": 2, "partitions": 2, "partitioning": "key"},
    },
    # Nothing is missing while nothing is broken, and no more orders can wait than a burst has.
    "alert_rules": {"brokers_gone": 0, "replicas_out_of_sync": 0, "lag_orders": ORDERS},
    "reference": {"orders": ORDERS},
    "series": [
        {"name": "volumes", "factor": "topology", "levels": ["one", "two"], "along": "orders", "at": [100, ORDERS]}
    ],
    "protocol": {"repetitions": 3, "cool_down_s": 0, "warmup_orders": 50},
    # On a busy machine a repetition that cannot be believed is no reason to stop.
    "validation": {"tolerated_rejected_fraction": 0.4},
}


def test_each_topology_hands_every_order_on_once(tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    (steps.studies / "tiny.yaml").write_text(yaml.safe_dump(STUDY))

    steps.manifest("design", "tiny")
    assert steps.manifest("measure", "tiny", "--case", "volumes", timeout_s=500)["counts"]["repetitions"] == 12
    steps.manifest("validate", "tiny")
    steps.manifest("compare", "tiny")
    reported = steps.run("report", "tiny")
    assert reported.returncode == 0, reported.stdout + reported.stderr

    measured = steps.campaign("tiny").read_measurements(["volumes"], [0])
    assert {each.configuration["topology"] for each in measured if each.outcome == "valid"} == {"one", "two"}
    for each in measured:
        found = each.quantities
        if each.outcome == "valid":
            placed = each.configuration["orders"]
            assert (found["orders_placed"], found["orders_confirmed"], found["orders_complete"]) == (placed,) * 3
            assert (found["repeats_dropped"], found["events_repeated"], found["alerts_raised"]) == (0, 0, 0)
            assert each.configuration["topology"] == "one" or found["orders_out_of_order"] == 0
            assert float(found["orders_s"] or 0) > 0
            assert float(found["latency_p95_ms"] or 0) >= float(found["latency_p50_ms"] or 0) > 0

    for block in range(3):  # each block uses each topology once, and measures all of its levels then
        ordered = sorted((each for each in measured if each.block == block), key=lambda each: each.order_in_block)
        assert len(list(groupby(each.configuration["topology"] for each in ordered))) == 2


def study_with(**changes: Any) -> CompareServices:
    return CompareServices.of(parse_study(yaml.safe_dump(STUDY | changes), "tiny.yaml"))


def opened_testbed(study: CompareServices) -> closing[ServicesTestbed]:
    campaign, lease = cast("Campaign", SimpleNamespace()), cast("ClusterLease", SimpleNamespace())
    return closing(ServicesTestbed(campaign, study, load_settings(), lease))


def test_brokers_keep_running_when_services_end_and_topics_are_empty_then() -> None:
    one = {"topology": "one"}
    with opened_testbed(study_with()) as testbed:
        opened = testbed.topology_for(one)
        assert testbed.topology_for({**one, "orders": 100}) is opened
        brokers, services = opened.brokers.pids, opened.chain.pids
        run_orders(opened, Asked("first", 100))
        testbed.end_services()

        opened = testbed.topology_for(one)
        assert opened.brokers.pids == brokers
        assert not set(opened.chain.pids.values()) & set(services.values())
        assert opened.cluster.end_offset(ORDER_PLACED) == 50  # those that warm up

        testbed.end_topology()
        assert not set(testbed.topology_for(one).brokers.pids.values()) & set(brokers.values())


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_two_instances_share_a_service_s_partitions_and_no_order_is_handled_twice(delivery: str) -> None:
    study = study_with(
        topologies={"one": {"brokers": 1, "replication_factor": 1, "partitions": 4, "partitioning": "key"}},
        reference={"orders": ORDERS, "instances": 2, "delivery": delivery},
        series=[],
        tables=[{"factor": "instances", "levels": [2, 4]}],
    )
    with opened_testbed(study) as testbed:
        opened = testbed.topology_for({"instances": 2})
        assert {"manufacturer", "manufacturer-2", "transport", "transport-2"} < set(opened.chain.pids)
        shared = run_orders(opened, Asked("shared", ORDERS))
        admin = AdminClient({"bootstrap.servers": opened.brokers.bootstrap_servers})
        groups = [each.group_id for each in admin.list_consumer_groups().result().valid]
        scaled = [each for each in groups if each.endswith(("manufacturer", "transport"))]
        members = [group.result().members for group in admin.describe_consumer_groups(scaled).values()]

    assert (shared.placed["confirmed"], shared.placed["repeated"]) == (ORDERS, 0)
    assert (shared.seen["complete"], shared.seen["repeated"], shared.seen["out_of_order"]) == (ORDERS, 0, 0)
    assert [sorted(len(each.assignment.topic_partitions) for each in of_group) for of_group in members] == [[2, 2]] * 2


def test_a_broker_is_lost_and_no_order_with_it() -> None:
    study = study_with(
        topologies={"two": {"brokers": 2, "replication_factor": 2, "partitions": 2}},
        alert_rules={"brokers_gone": 0, "replicas_out_of_sync": 0},
        reference={"load": "100/s", "paced_s": 24},
        series=[],
        tables=[{"factor": "fault", "levels": ["none", "leader_killed"]}],
        protocol={"repetitions": 3, "warmup_orders": 50, "paced_warmup_s": 1, "fault": {"at_s": 2, "for_s": 14}},
    )
    lost = Candidate("lost", is_baseline=False, configuration=study.levels_of("fault")[1])
    with opened_testbed(study) as testbed:
        for _ in range(3):  # as a step would, if a slow machine's replicas are out of sync before the fault
            attempt = attempt_orders(PlannedRepetition("design", 0, "fault", lost, 0, 0), study, testbed)
            if not attempt.is_excused:
                break

    found, timeline = attempt.quantities, attempt.timeline
    assert (attempt.outcome, attempt.reason) == ("valid", "")
    assert float(found["silent_s"] or 0) > 1
    assert 0 < float(found["full_isr_s"] or 0) < 120  # 14 s are more than a broker's session: the other one noticed
    assert int(found["alerts_raised"] or 0) >= 1
    assert found["alerts_raised"] == found["alerts_cleared"]
    assert timeline is not None
    assert timeline.what == "kafka-2"  # the other one is the only controller
    assert 1.5 < timeline.began_s < timeline.ended_s - 14
    assert sum(timeline.done) == found["orders_confirmed"]
    assert 0 in timeline.done[int(timeline.began_s) :]


def test_partitions_that_are_added_take_orders_and_lose_none() -> None:
    topologies = {"one": {"brokers": 1, "replication_factor": 1, "partitions": 2, "partitioning": "key"}}
    study = study_with(topologies=topologies, series=[], tables=FAULTS)
    with (
        TopologyCluster("one", study.topologies["one"], study.heap_mib, load_settings()) as on,
        OpenTopology(study, {}, on) as opened,
    ):
        # Producers look at the partitions every ten seconds.
        asked = Asked("added", 1600, rate_s=100, hospitals=20, timeout_s=60)
        handed = run_orders(opened, asked, Fault(PARTITIONS_ADDED, FaultTimes(at_s=1, for_s=1)))
        partitions = opened.cluster.topic_health(ORDER_PLACED).partitions
        placed = end_offsets(opened.brokers, ORDER_PLACED, len(partitions))

    assert len(placed) == 4
    assert placed[3] > 0
    assert handed.lost == 0
    assert handed.fault is not None
    assert handed.fault.what == "partitions, from 2 to 4"
    assert handed.fault.whole_at is not None
