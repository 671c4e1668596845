"""A study in which each campaign can choose one `batch.size`; rewritten before each campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.small_quick import small_quick

STUDY, CASE = "contested", "1024"
# Requests go one by one, so that the more records fit into one, the faster: on any machine.
BASELINE = {"batch.size": 1024, "max.in.flight.requests.per.connection": 1}


def write_contested_study(folder: Path, batch_bytes: int) -> None:
    """Writes the study with this `batch.size` for all candidates; the baseline's holds a single record."""
    content: dict[str, Any] = small_quick()
    content |= {"name": STUDY, "record_sizes_bytes": [int(CASE)], "baseline": BASELINE}
    content["factors"] = {
        "batch.size": {"type": "integer", "levels": [batch_bytes]},
        "buffer.memory": {"type": "integer", "levels": [33554432, 50331648, 67108864, 100663296, 134217728]},
    }
    content["constraints"] = []
    content["workload"]["topic_partitions"] = 1
    content["design"] = {"configurations": 5, "feasible": True}
    content["confirmation"] = {
        "points": 2,
        "choice_blocks": 2,
        "gain_blocks": 10,
        "minimum_blocks": 6,
        "final_blocks": 2,
        "more_blocks": 0,
    }
    content["surrogate"] = {"n_estimators": 20}
    content["search"] = {"generations": 10}
    (folder / f"{STUDY}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
