"""What a cold pick costs in steady state: picks from stored campaigns, arms, and the table."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.cold_picks_under_steady import labelled, recommended, report, run
from benchmarks.on_cluster import DATA, begun, repetition_table, stored_repetitions
from kafka_pareto.errors import BadInputError
from kafka_pareto.store import FolderStore
from kafka_pareto.study_file import load_study
from tests.fakes import FakeLoadTool, fake_testbed
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

COLD_BURST = DATA / "campaigns" / "cold_burst"
SIZE = 8192
BLOCKS = 3


def test_a_stored_campaign_recommends_what_its_gain_blocks_measured() -> None:
    picks = recommended(COLD_BURST)
    assert sorted(picks) == [1024, 8192, 10240, 16383, 65636]
    assert picks[SIZE] == {
        "batch.size": 514327,
        "linger.ms": 5,
        "compression.type": "none",
        "buffer.memory": 33554432,
    }


def test_a_card_that_keeps_the_settings_recommends_nothing(tmp_path: Path) -> None:
    shutil.copytree(COLD_BURST, tmp_path, dirs_exist_ok=True)
    cards = (tmp_path / "cards.txt").read_text()
    (tmp_path / "cards.txt").write_text(cards.replace("CHANGE RECOMMENDED", "KEEP YOUR SETTINGS: no gain shown", 1))

    assert 1024 not in recommended(tmp_path)
    assert SIZE in recommended(tmp_path)


def test_a_folder_without_a_campaign_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"study\.yaml: cannot be read"):
        recommended(tmp_path)


def test_equal_picks_are_measured_once_in_every_block_and_bear_both_names(tmp_path: Path) -> None:
    picks = recommended(COLD_BURST)
    campaign = begun(FolderStore(tmp_path), load_study(STUDIES / "cold_burst.yaml"), "c1")
    with fake_testbed(campaign, SIZE) as testbed:
        run(campaign, SIZE, testbed, picks, picks, BLOCKS, Progress(console=Console(file=io.StringIO())))
        assert isinstance(testbed.load_tool, FakeLoadTool)
        assert len(testbed.load_tool.requests) == 2 * BLOCKS

    rows = repetition_table(labelled(stored_repetitions(campaign), campaign.study, picks, picks), campaign.study)
    assert sorted(rows.asked_by) == ["baseline"] * BLOCKS + ["cold+steady"] * BLOCKS
    assert report(rows)[2].endswith("| the same settings |")


def test_the_table_compares_within_blocks_and_passes_over_what_is_not_valid() -> None:
    """The steady pick is twice as fast as the cold one in every block; the cold one failed in the last."""
    rows = [
        (label, SIZE, block, outcome, latency_ms * (1 + block), throughput)
        for block in range(4)
        for label, latency_ms, throughput, outcome in (
            ("baseline", 100.0, 10.0 + block, "valid"),
            ("cold", 50.0, 20.0 + block, "failed" if block == 3 else "valid"),
            ("steady", 25.0, 40.0 - block, "valid"),
        )
    ]
    columns = ["asked_by", "record_size_bytes", "block", "outcome", "latency_p95_ms", "throughput_mib_s"]
    latency, throughput = report(pd.DataFrame(rows, columns=columns))[2:4]

    assert latency == "| 8,192 B | p95 latency | 250 ms | 100 ms | 62.5 ms | -50% | -75% | +100% |"
    assert throughput.startswith("| 8,192 B | throughput | 11.5 MiB/s | 21 MiB/s | 38.5 MiB/s | +91% (")
    assert "12 repetitions" in report(pd.DataFrame(rows, columns=columns))[-1]
    assert "1 failed" in report(pd.DataFrame(rows, columns=columns))[-1]
