"""Cost of a cold pick in steady state: picks from stored campaigns, arms, and the table."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.cold_picks_under_steady import (
    WARM_UP_REPETITIONS,
    Picks,
    begun_with,
    labelled,
    recommended,
    report,
    run,
)
from benchmarks.on_cluster import DATA, WARM_UP, begun, repetition_table, stored_repetitions
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.cases import in_order
from kafka_pareto.study.study_file import load_study
from tests.fakes import FakeLoadTool, fake_testbed
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

COLD_BURST = DATA / "campaigns" / "cold_burst"
CASE = "8192"
BLOCKS = 3
MEASURED = ["latency_p95_ms", "throughput_mib_s"]


def test_a_stored_campaign_recommends_the_settings_of_its_gain_blocks() -> None:
    picks = recommended(COLD_BURST, "cold_burst")
    assert in_order(picks) == ["1024", "8192", "10240", "16383", "65636"]
    assert picks[CASE] == {
        "batch.size": 514327,
        "linger.ms": 5,
        "compression.type": "none",
        "buffer.memory": 33554432,
    }


def test_a_card_that_keeps_the_settings_recommends_nothing(tmp_path: Path) -> None:
    shutil.copytree(COLD_BURST, tmp_path, dirs_exist_ok=True)
    cards = (tmp_path / "cards.txt").read_text()
    (tmp_path / "cards.txt").write_text(cards.replace("CHANGE RECOMMENDED", "KEEP YOUR SETTINGS: no gain shown", 1))

    assert "1024" not in recommended(tmp_path, "cold_burst")
    assert CASE in recommended(tmp_path, "cold_burst")


def test_a_folder_without_a_campaign_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"study\.yaml: cannot be read"):
        recommended(tmp_path, "cold_burst")


def test_a_campaign_of_the_other_protocol_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"protocol\.kind: cold_burst: must be steady"):
        recommended(COLD_BURST, "steady")


def test_a_campaign_resumes_only_with_its_original_picks(tmp_path: Path) -> None:
    store, study = FolderStore(tmp_path), load_study(STUDIES / "steady.yaml")
    few = Picks(cold={CASE: recommended(COLD_BURST, "cold_burst")[CASE]}, steady={})
    more = Picks(cold=recommended(COLD_BURST, "cold_burst"), steady={})
    begun_with(store, study, "c1", few)

    begun_with(store, study, "c1", few)
    with pytest.raises(BadInputError, match="--campaign"):
        begun_with(store, study, "c1", more)


def test_a_campaign_that_was_begun_without_a_record_of_its_picks_is_refused(tmp_path: Path) -> None:
    store, study = FolderStore(tmp_path), load_study(STUDIES / "steady.yaml")
    begun(store, study, "c1")
    before = store.keys("")

    with pytest.raises(BadInputError, match="--campaign"):
        begun_with(store, study, "c1", Picks(cold={}, steady={}))
    assert store.keys("") == before


def test_equal_picks_are_measured_once_per_block_under_both_names(tmp_path: Path) -> None:
    found = recommended(COLD_BURST, "cold_burst")
    picks = Picks(cold=found, steady=found)
    campaign = begun_with(FolderStore(tmp_path), load_study(STUDIES / "cold_burst.yaml"), "c1", picks)
    with fake_testbed(campaign, CASE) as testbed:
        run(
            campaign,
            CASE,
            ProducerRunner(campaign, CASE, testbed),
            picks,
            BLOCKS,
            Progress(console=Console(file=io.StringIO())),
        )
        assert isinstance(testbed.load_tool, FakeLoadTool)
        assert len(testbed.load_tool.requests) == WARM_UP_REPETITIONS + 2 * BLOCKS

    rows = repetition_table(labelled(stored_repetitions(campaign), campaign.study, picks), campaign.study)
    assert sorted(rows.asked_by) == ["baseline"] * BLOCKS + ["cold+steady"] * BLOCKS + [WARM_UP] * WARM_UP_REPETITIONS
    assert report(rows)[2].endswith("| the same settings |")


def test_the_table_is_of_the_blocks_that_are_valid_in_every_arm() -> None:
    """The cold pick halves the latency; in the last block, where it failed, the others are far off."""
    latency, throughput = report(four_blocks(failed="cold"))[2:4]

    assert latency == "| 8,192 B | 3 of 4 | p95 latency | 200 ms | 100 ms | 50 ms | -50% | -75% | +100% |"
    assert throughput.startswith("| 8,192 B | 3 of 4 | throughput | 11 MiB/s | 21 MiB/s | 39 MiB/s | +91% (")
    assert "12 repetitions" in report(four_blocks(failed="cold"))[-1]
    assert "1 failed" in report(four_blocks(failed="cold"))[-1]


def test_equal_values_are_not_taken_for_the_same_settings() -> None:
    rows = four_blocks(failed="baseline")
    rows.loc[rows.asked_by == "steady", MEASURED] = rows.loc[rows.asked_by == "cold", MEASURED].to_numpy()
    assert report(rows)[2].endswith("| +0% |")


def test_an_arm_that_never_was_valid_leaves_nothing_to_compare() -> None:
    rows = four_blocks(failed="cold")
    rows.loc[rows.asked_by == "cold", "outcome"] = "failed"
    assert report(rows)[2] == "| 8,192 B | 0 of 4 | p95 latency | - | - | - |" + " not measured |" * 3


def four_blocks(failed: str) -> pd.DataFrame:
    """Three arms; in the last block one failed, and the others took ten times as long."""
    rows = [
        (label, CASE, block, "failed" if block == 3 and label == failed else "valid", latency_ms * pace, throughput)
        for block, pace in enumerate((1, 2, 3, 10))
        for label, latency_ms, throughput in (
            ("baseline", 100.0, 10.0 + block),
            ("cold", 50.0, 20.0 + block),
            ("steady", 25.0, 40.0 - block),
        )
    ]
    return pd.DataFrame(rows, columns=["asked_by", "case", "block", "outcome", *MEASURED])
