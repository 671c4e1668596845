"""Fixtures of the system tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.recorded import STUDIES
from tests.system.embedded_stack import EmbeddedStack, embedded_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The whole embedded stack, up and ready; its studies are the shipped ones and `paper_small`."""
    folder = tmp_path_factory.mktemp("stack")
    shutil.copytree(STUDIES, folder / "studies")
    _write_paper_small(folder / "studies")
    with embedded_stack(folder / "state") as started:
        started.environment["KAFKA_PARETO_STUDIES"] = str(folder / "studies")
        code, started.output = started.command("up")
        assert code == 0, started.output
        yield started


def _write_paper_small(folder: Path) -> None:
    """`paper` with only its counts reduced."""
    content = yaml.safe_load((STUDIES / "paper.yaml").read_text())
    content |= {"name": "paper_small", "record_sizes_bytes": [1024, 8192]}
    content["design"]["configurations"] = 8
    content["protocol"] |= {"repetitions": 2, "minimum_valid_repetitions": 2, "cool_down_s": 0.1}
    content["confirmation"] |= {"points": 4, "choice_blocks": 2, "gain_blocks": 3, "minimum_blocks": 2}
    (folder / "paper_small.yaml").write_text(yaml.safe_dump(content))
