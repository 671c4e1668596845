"""The differences between two versions' repetitions, from blocks that both measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness_shift import DATA, report

pytestmark = pytest.mark.fast


def measured(present_over_other: float) -> pd.DataFrame:
    """Ten blocks of two configurations, one ten times as fast as the other, and a block of warm-up."""
    rng, rows = np.random.default_rng(7), []
    for block in range(11):
        for configuration, level in (("slow", 1.0), ("fast", 10.0)):
            for version, factor in (("other", 1.0), ("present", present_over_other)):
                value = level * factor * rng.normal(1.0, 0.01)
                rows.append({"series": 0, "block": block, "configuration_id": configuration, "version": version})
                rows[-1] |= {"commit": version[:3], "counts": block > 0}
                rows[-1] |= {"throughput_mib_s": value, "latency_p95_ms": 100.0 * (value if block else 50.0)}
    return pd.DataFrame(rows)


def test_a_shift_is_found_with_equal_weight_of_each_configuration_and_without_warm_up() -> None:
    lines = report(measured(1.1))

    assert lines[0] == "pre against oth: 10 blocks of 2 configurations, 40 repetitions; 4 do not count"
    throughput, latency = lines[-2:]
    assert "+10.0%" in throughput or "+9.9%" in throughput or "+10.1%" in throughput
    assert latency.split("|")[2] == throughput.split("|")[2]


def test_a_block_that_one_version_lacks_is_left_out() -> None:
    table = measured(1.0)
    halved = table[~((table.block == 3) & (table.version == "other") & (table.configuration_id == "slow"))]

    assert report(halved)[0].startswith("pre against oth: 10 blocks of 2 configurations, 38 repetitions")


def test_the_kept_recording_prints_what_the_page_shows() -> None:
    lines = report(pd.read_csv(DATA, keep_default_na=False))

    assert lines[0].startswith("939ba4ea against e595228a: 40 blocks of 6 configurations, 480 repetitions")
    assert [line.split("|")[2].strip() for line in lines[-2:]] == ["+1.4%", "-2.3%"]
