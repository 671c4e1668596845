from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.on_cluster import DATA
from benchmarks.services_time import minutes_by_part

pytestmark = pytest.mark.fast


def test_the_minutes_of_services_are_split_by_what_happened() -> None:
    table = pd.DataFrame(
        {
            # Two topologies in a first block, the second again in another; hours later a capacity of a second part.
            "start_s": [0, 11, 141, 158, 10_000, 10_160],
            "wall_s": [10.0, 10.0, 10.0, 10.0, 40.0, 40.0],
            "case": ["volumes"] * 4 + ["capacity"] * 2,
            "block": [0, 0, 0, 1, 0, 0],
            "topology": ["c1", "c1", "c2", "c2", "c1", "c2"],
            "load": ["burst"] * 4 + ["capacity"] * 2,
            "sending_s": [3.0] * 6,
            "orders_confirmed": [800] * 6,
            "orders_s": [100.0] * 6,
        }
    )
    table["started_at"] = (pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(table.start_s, unit="s")).astype(str)

    found = minutes_by_part(table.sample(frac=1, random_state=1)) * 60

    assert found.loc["volumes"].to_dict() == pytest.approx(
        {"starts": 120, "sending": 12, "confirming": 20, "searches": 0, "around": 8, "switches": 7, "pauses": 1}
    )
    assert found.loc["capacity"].to_dict() == pytest.approx(
        {"starts": 120, "sending": 0, "confirming": 0, "searches": 80, "around": 0, "switches": 0, "pauses": 0}
    )


def test_the_minutes_of_a_kept_campaign_add_up_to_its_time_without_the_interruption() -> None:
    repetitions = pd.read_csv(DATA / "campaigns" / "topologies" / "repetitions.csv")
    found = minutes_by_part(repetitions)
    assert found.sum().sum() == pytest.approx(193.5, abs=0.1)
    assert (found >= 0).all().all()
