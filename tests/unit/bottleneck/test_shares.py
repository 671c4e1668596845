"""Shares of a load in its machine's ceilings without Kafka."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, verdict_on
from kafka_pareto.bottleneck.shares import limit_of, shares_of

pytestmark = pytest.mark.fast

CEILINGS = Ceilings(
    record_size_bytes=1024,
    batch_size_bytes=65536,
    loopback_mib_s=2000.0,
    disk_write_mib_s=200.0,
    codec_mib_s={"gzip": 50.0, "lz4": 500.0},
    generator_records_s=1_000_000.0,
)
SETTING = LoadSetting(1024, {"compression.type": "lz4"}, producers=2)
MEASURED = {
    "throughput_records_s": 200_000.0, "throughput_mib_s": 200.0, "compression_rate_avg": 0.5, "disk_write_mib_s": 50.0,
}  # fmt: skip


def test_each_ceiling_scales_with_sending_threads_and_cores_and_the_wire_carries_compressed_bytes():
    expected = {"generator": 0.1, "codec": 0.2, "disk": 0.25, "loopback": 0.05}
    assert shares_of(MEASURED, SETTING, CEILINGS) == pytest.approx(expected)


def test_producers_that_share_cores_have_no_more_than_the_machine_has():
    shares = shares_of(MEASURED, replace(SETTING, producers=10), CEILINGS.model_copy(update={"client_cores": 4}))
    assert shares["generator"] == pytest.approx(0.05)
    assert shares["codec"] == pytest.approx(0.1)


def test_an_unmeasured_ceiling_has_no_share():
    without_disk = CEILINGS.model_copy(update={"disk_write_mib_s": None})
    assert "disk" not in shares_of(MEASURED, SETTING, without_disk)
    assert "codec" not in shares_of(MEASURED, replace(SETTING, properties={"compression.type": "none"}), CEILINGS)
    assert shares_of({}, SETTING, CEILINGS) == {}


@pytest.mark.parametrize("other", [replace(SETTING, record_size_bytes=100), replace(SETTING, payload="zeros")])
def test_ceilings_of_other_records_count_for_disk_and_loopback_alone(other: LoadSetting):
    assert set(shares_of(MEASURED, other, CEILINGS)) == {"disk", "loopback"}


def test_the_codecs_ceiling_explains_a_load_generator_bottleneck_unless_measured_with_other_records():
    values = {**MEASURED, "generator_bound": "its thread is busy", "sending_cpu_cores": 0.5}
    assert limit_of(values, SETTING, CEILINGS).verdict.code == "cpu"
    assert limit_of(values, SETTING, None).verdict == verdict_on(values, SETTING)
    assert limit_of(values, replace(SETTING, payload="zeros"), CEILINGS).verdict.code == "load_tool"
