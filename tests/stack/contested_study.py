"""A study of which each campaign can choose one `linger.ms`, written anew before the campaign begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.recorded import STUDIES

STUDY, CASE = "contested", "1024"
# A burst waits this long for its last batch, so that which is faster does not depend on the machine.
BASELINE_MS = 600


def write_contested_study(folder: Path, linger_ms: int) -> None:
    """Writes the study with this `linger.ms` for all candidates; the baseline's is the slowest."""
    content: dict[str, Any] = yaml.safe_load((STUDIES / "quick.yaml").read_text())
    content |= {"name": STUDY, "record_sizes_bytes": [int(CASE)], "baseline": {"linger.ms": BASELINE_MS}}
    content["factors"] = {
        "linger.ms": {"type": "integer", "levels": [linger_ms]},
        "buffer.memory": {"type": "integer", "levels": [33554432, 50331648, 67108864, 100663296, 134217728]},
    }
    content["constraints"] = []
    content["design"] = {"configurations": 5, "feasible": True}
    content["confirmation"] = {
        "points": 2,
        "choice_blocks": 2,
        "gain_blocks": 6,
        "minimum_blocks": 6,
        "final_blocks": 2,
        "more_blocks": 0,
    }
    content["surrogate"] = {"n_estimators": 20}
    content["search"] = {"generations": 10}
    (folder / f"{STUDY}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
