"""Planted causes on real brokers are found: a part of those recorded for docs/doctor.md.

These need no root, and leave cores free, so that a machine that others keep busy finds them, too.
"""

from __future__ import annotations

import pytest

from benchmarks.planted import CAUSES
from benchmarks.planted_causes import planted_loads
from benchmarks.planted_table import causes_in
from kafka_pareto.bottleneck.ceilings import measure_ceilings
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.settings import load_settings

pytestmark = [pytest.mark.brokers, pytest.mark.long, pytest.mark.usefixtures("real_java")]


@pytest.mark.parametrize("name", ["quota", "rate_limit", "late_followers", "waiting_fetches"])
def test_a_cause_that_is_made_is_found(name: str) -> None:
    (cause,) = [each for each in CAUSES if each.name == name]
    (load,) = planted_loads([cause])
    assert load.is_of_consumers or load.verdict().code == cause.limit, load.values
    assert set(cause.symptoms) <= set(causes_in(load)), load.values


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
