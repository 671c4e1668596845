from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.wall_time import BETWEEN, wall_time_shares

pytestmark = pytest.mark.fast


def test_the_time_between_loads_is_split_by_its_cause() -> None:
    seconds = [0, 12, 30, 60, 72, 85]
    table = pd.DataFrame(
        {
            "started_at": [f"2026-01-01T00:{s // 60:02d}:{s % 60:02d}+00:00" for s in seconds],
            "wall_s": [10.0] * 6,
            "phase": ["design", "design", "design", "choice", "gain", "choice"],
            "round": [0] * 6,
            "case": ["1024", "1024", "8192", "1024", "1024", "8192"],
        }
    )
    found = wall_time_shares(table.sample(frac=1, random_state=1))
    assert found["seconds"] == 95
    assert found["load generator"] == pytest.approx(60 / 95)
    between = {"repetitions of a task": 2 + 2, "tasks of a phase": 8 + 3, "phases and rounds": 20}
    assert {name: found[name] * 95 for name in BETWEEN} == pytest.approx(between)


def test_a_kept_campaigns_shares_add_up_to_its_time() -> None:
    from benchmarks.on_cluster import DATA

    found = wall_time_shares(pd.read_csv(DATA / "campaigns" / "cold_burst" / "repetitions.csv"))
    assert found["load generator"] + sum(found[name] for name in BETWEEN) == pytest.approx(1.0)
    assert 0.4 < found["load generator"] < 0.9
