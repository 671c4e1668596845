"""The changes by a pause, from pairs of blocks that were measured with and without it."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.pauses import report

pytestmark = pytest.mark.fast


def bursts(change: float) -> pd.DataFrame:
    """Four pairs of two configurations, the first pair not counted; the pause changes both measures."""
    rows = []
    for block in range(4):
        for pause, factor in (("without", 1.0), ("with", change)):
            for configuration, level in (("slow", 1.0), ("fast", 10.0)):
                value = level * factor * (1 + 0.001 * block) * (1 if block else 50)
                rows.append({"series": 0, "block": block, "pause": pause, "configuration_id": configuration})
                rows[-1] |= {"counts": block > 0, "outcome": "valid", "throughput_mib_s": value}
                rows[-1] |= {"latency_p95_ms": value}
    return pd.DataFrame(rows)


def test_the_change_is_from_without_to_with_a_pause_and_leaves_the_warm_up_out() -> None:
    lines = report(bursts(1.2))

    assert lines[0] == "3 pairs of blocks of 2 configurations, 12 bursts"
    assert lines[-2].startswith("| throughput | +20.0% |")
    assert lines[-1].startswith("| p95 latency | +20.0% |")


def test_a_configuration_that_failed_one_way_is_left_out_of_its_pair() -> None:
    measured = bursts(1.0)
    measured.loc[
        (measured.block == 2) & (measured.configuration_id == "slow") & (measured.pause == "with"), "outcome"
    ] = "failed"

    assert report(measured)[0] == "3 pairs of blocks of 2 configurations, 10 bursts"
