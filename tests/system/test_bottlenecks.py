"""Planted causes on real brokers: the verdict on a load names what was planted.

Client and broker share this machine, so a plant must exhaust its resource while cores stay free.

- One network and one I/O thread exhaust nothing on two cores while the broker only appends what it is sent: the cores
  are full first. So this broker also compresses what it takes with gzip, which its one handler has to do.
- A disk with a cache of its own answers a flush in 0.1 ms and looks idle; the time spent in flushes shows it.
- A slow generator is one that is told its rate: then nothing but the tool can be the limit, whatever the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pytest

from kafka_pareto.bottleneck.broker_metrics import BROKER_METRICS
from kafka_pareto.bottleneck.ceilings import measure_ceilings
from kafka_pareto.bottleneck.client_counters import with_client
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_window import expected_window, measured_window
from kafka_pareto.bottleneck.verdict import LoadSetting, Verdict, verdict_on
from kafka_pareto.brokers.broker_properties import BrokerValue
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import HEAP_MIB
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.load.client_bottleneck import generator_bound
from kafka_pareto.load.load_generator import LoadGenerator
from kafka_pareto.load.tool import LoadRequest, TimedLoad
from kafka_pareto.measurement.fingerprint import usable_cores
from kafka_pareto.settings import load_settings
from kafka_pareto.study.quantity import Value

pytestmark = [pytest.mark.brokers, pytest.mark.studies, pytest.mark.alone, pytest.mark.usefixtures("real_java")]

MIB = 1 << 20
# A small buffer, so that the warm-up is not followed by a long wait until it is empty.
PRODUCER: dict[str, PropertyValue] = {"batch.size": 65536, "linger.ms": 5, "buffer.memory": 8 * MIB}
TIMED = TimedLoad(warmup_s=3.0, seconds=4.0, paced_warmup_s=0.0, paced_seconds=0.0, paced_rate_records_s=0.0)


def counted(
    producer: Mapping[str, PropertyValue],
    broker: Mapping[str, BrokerValue] | None = None,
    heap_mib: int = HEAP_MIB,
    rate_limit_records_s: float | None = None,
) -> tuple[dict[str, Value], Verdict]:
    """Loads one broker; returns what was counted, and the verdict."""
    settings = load_settings()
    request = LoadRequest(
        "loaded", 1024, {**PRODUCER, **producer}, 60.0, timed=TIMED, throughput_records_s=rate_limit_records_s
    )
    with (
        Brokers(1, settings, properties=broker, heap_mib=heap_mib, jmx_configuration=BROKER_METRICS) as brokers,
        Cluster(brokers.bootstrap_servers, None, settings) as cluster,
    ):
        cluster.create_topic(request.topic, 6, 1)
        with HostCounters(expected_window(request), brokers, ["127.0.0.1"]) as watched:
            result = LoadGenerator(brokers.bootstrap_servers, None, settings).run(request)
        counters = with_client(watched.counters(measured_window(result)), request, result, brokers=1)
    assert result.figures is not None, result.errors
    values: dict[str, Value] = {
        **asdict(result.figures),
        **asdict(result.client),
        **asdict(counters),
        "throughput_mib_s": result.figures.throughput_records_s * request.record_size_bytes / MIB,
        "generator_bound": generator_bound(request, result, usable_cores()),
    }
    # A machine that others keep busy is rightly found to be short of CPU, whatever was planted. So theirs is left out.
    assert counters.host_cpu_busy_fraction is not None
    assert counters.broker_cpu_cores is not None
    own_cores = counters.broker_cpu_cores + result.client_cpu_s / result.wall_s
    values["host_cpu_busy_fraction"] = min(counters.host_cpu_busy_fraction, own_cores / usable_cores())
    setting = LoadSetting(request.record_size_bytes, request.properties, rate_limit_records_s)
    return values, verdict_on(values, setting)


def test_gzip_is_the_cpu_of_the_thread_that_compresses() -> None:
    values, verdict = counted({"compression.type": "gzip"})
    assert verdict.code == "cpu", values
    assert verdict.numbers["sending_wait_fraction"] < 0.2


def test_one_network_and_one_io_thread_with_much_to_do_are_the_request_handlers() -> None:
    values, verdict = counted({}, {"num.network.threads": 1, "num.io.threads": 1, "compression.type": "gzip"})
    assert verdict.code == "request_handlers", values


def test_a_flush_for_every_message_is_the_disk() -> None:
    values, verdict = counted({"batch.size": 16384}, {"log.flush.interval.messages": 1})
    assert verdict.code == "disk", values


def test_a_small_heap_is_the_garbage_collection() -> None:
    values, verdict = counted({"batch.size": 1_000_000, "buffer.memory": 32 * MIB, "acks": 1}, heap_mib=72)
    assert verdict.code == "gc", values


def test_a_slow_generator_is_the_load_tool() -> None:
    values, verdict = counted({}, rate_limit_records_s=500.0)
    assert verdict.code == "load_tool", values
    assert verdict.numbers["rate_limit_records_s"] == 500.0


def test_ceilings_of_this_machine_are_measured_and_gzip_is_its_slowest_codec() -> None:
    with Brokers(1, load_settings()) as brokers:
        folder = brokers.nodes["kafka-1"].data_folder
        before = set(folder.iterdir())
        found = measure_ceilings(folder, brokers.settings, record_size_bytes=1024, batch_size_bytes=65536)
        assert not {path.name for path in set(folder.iterdir()) - before if path.name.startswith("kafka-pareto")}

    assert set(found.codec_mib_s) == {"gzip", "snappy", "lz4", "zstd"}
    assert min(found.codec_mib_s, key=lambda name: found.codec_mib_s[name]) == "gzip"
    assert found.generator_records_s > 100_000
    assert found.loopback_mib_s > 100
    assert found.disk_write_mib_s is not None
    assert type(found).model_validate_json(found.model_dump_json()) == found
