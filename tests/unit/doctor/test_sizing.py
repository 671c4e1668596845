"""Sizing as the guide does it, and where the guide contradicts itself."""

from __future__ import annotations

from math import ceil

import pytest
from pydantic import ValidationError

from kafka_pareto.doctor.sizing import gbit_s, in_flight_limit_gb_s, size_cluster, sizing_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.requests import SizingRequest
from kafka_pareto_cli.options import options_of

pytestmark = pytest.mark.fast

# The guide's 1 KB is 1,000 B: its 1M msg/s are 1 GB/s.
GUIDES = SizingRequest(records_s=1_000_000, record_size=1000, network_threads=16, io_threads=32)


def test_the_guides_traffic_is_reproduced_one_in_two_replicated_one_out() -> None:
    cluster = size_cluster(GUIDES).cluster
    assert (cluster.produced_gb_s, cluster.replicated_gb_s, cluster.consumed_gb_s) == (1, 2, 1)
    assert cluster.total_gb_s == 4
    assert gbit_s(cluster.total_gb_s) == 32


def test_the_guides_four_gb_s_per_broker_are_its_clusters_and_a_broker_has_a_third() -> None:
    sizing = size_cluster(GUIDES)
    assert sizing.cluster.total_gb_s / GUIDES.brokers == pytest.approx(4 / 3)
    assert (sizing.broker_received_gb_s, sizing.broker_sent_gb_s) == (1, 1)
    said = sizing_text(sizing)
    assert "4.00 GB/s (32.0 Gbit/s)" in said
    assert "1.33 GB/s (10.7 Gbit/s)" in said
    assert "it is for the whole cluster: here\n  4.00 GB/s, or 1.33 GB/s per broker" in said


def test_the_guides_disk_is_reproduced_and_leaves_the_replicas_out() -> None:
    sizing = size_cluster(GUIDES)
    assert sizing.disk_tb_one_copy == pytest.approx(604.8)
    assert sizing.disk_tb_cluster == pytest.approx(1814.4)
    assert sizing.disk_tb_per_broker == pytest.approx(604.8)
    assert "one copy    604.8 TB (as the guide counts)" in sizing_text(sizing)


def test_the_guides_page_cache_is_reproduced() -> None:
    sizing = size_cluster(GUIDES)
    assert sizing.page_cache_gib == 200
    assert sizing.page_cache_gib_per_broker == 200  # three replicas on three brokers


def test_the_guides_threads_need_more_cores_by_its_own_rule_than_the_32_it_gives_them() -> None:
    sizing = size_cluster(GUIDES)
    assert (sizing.cores_per_broker_fewest, sizing.cores_per_broker_most) == (50, 52)
    assert sizing.codec_cores == 2


def test_a_connection_carries_no_more_than_its_requests_in_flight_in_a_round_trip() -> None:
    assert in_flight_limit_gb_s(1_000_000, 10) == pytest.approx(0.5)
    assert in_flight_limit_gb_s(16_384, 10) == pytest.approx(5 * 16_384 / 0.01 / 1e9)


def test_small_batches_need_more_producers() -> None:
    sizing = size_cluster(GUIDES.model_copy(update={"batch_size": 16_384}))
    assert sizing.fewest_producers == ceil(1 / 3 / (5 * 16_384 / 0.01 / 1e9)) == 41
    assert "At least 41 producers" in sizing_text(sizing)


def test_twice_the_brokers_halve_each_ones_traffic_and_storage() -> None:
    three, six = size_cluster(GUIDES), size_cluster(GUIDES.model_copy(update={"brokers": 6}))
    assert six.cluster == three.cluster
    assert six.broker_received_gb_s == three.broker_received_gb_s / 2
    assert six.disk_tb_per_broker == three.disk_tb_per_broker / 2
    assert six.page_cache_gib_per_broker == three.page_cache_gib_per_broker / 2


def test_nothing_is_consumed_without_consumers_nor_replicated_to_one_replica() -> None:
    alone = size_cluster(SizingRequest(records_s=1000, record_size=100, replication=1, brokers=1, consumers=0))
    assert (alone.cluster.replicated_gb_s, alone.cluster.consumed_gb_s, alone.broker_sent_gb_s) == (0, 0, 0)


def test_more_replicas_than_brokers_are_refused_with_both_numbers() -> None:
    with pytest.raises(BadInputError, match=r"REPLICATION=3 exceeds BROKERS=2.*add brokers"):
        size_cluster(SizingRequest(records_s=1, record_size=1, brokers=2))


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("RECORDS_S", "0", "must be above 0"),
        ("RECORDS_S", "inf", "must be a number"),
        ("RECORD_SIZE", "1.5", "must be a whole number"),
        ("CONSUMERS", "-1", "must be at least 0"),
        ("SEGMENT_GIB", "big", "must be a number"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_with_value_and_rule(option: str, value: str, rule: str) -> None:
    given = {"RECORDS_S": "1", "RECORD_SIZE": "1", option: value}
    environment = {f"KAFKA_PARETO_OPTION_{name}": each for name, each in given.items()}
    with pytest.raises(BadInputError, match=f"(?m)^{option}={value}: {rule}$"):
        options_of(SizingRequest, "sizing", {}, environment)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="records"):
        SizingRequest.model_validate({"records_s": 1, "record_size": 1, "records": 1})
