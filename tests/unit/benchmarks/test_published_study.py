"""A campaign of `paper` is kept, and compared with the published study."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.keep_campaign import keep
from benchmarks.kept_campaign import KeptCampaign, read_kept
from benchmarks.on_cluster import DATA
from benchmarks.published_study import OBJECTIVES, comparison, figure_7, first_rounds, table_1, table_2
from kafka_pareto.analysis.gains import Gain
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError
from kafka_pareto.report.cards import Cards
from kafka_pareto.storage.folder_store import FolderStore
from tests.recorded import recorded_repetitions
from tests.tasks.report_campaign import CAMPAIGN, at_time, with_client_metrics

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PUBLISHED = json.loads((DATA / "published_study.json").read_text())


@pytest.fixture(scope="module")
def reported(reported_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A reported campaign of `paper` at two record sizes, of recorded repetitions; its full design is in the store."""
    folder = tmp_path_factory.mktemp("store")
    shutil.copytree(reported_store, folder, dirs_exist_ok=True)
    campaign = Campaign.open(FolderStore(folder), "paper", CAMPAIGN)
    for recorded in recorded_repetitions(tuple(campaign.study.cases)):
        repetition = at_time(with_client_metrics(recorded), day=1)
        key = f"{campaign.keys.measurements(repetition.case)}{repetition.repetition_id}.json"
        campaign.write_record(key, repetition)
    return campaign


@pytest.fixture(scope="module")
def folder(reported: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    kept = keep(reported, folder)
    assert kept == len(pd.read_csv(folder / "repetitions.csv"))
    return folder


@pytest.fixture(scope="module")
def kept(folder: Path) -> KeptCampaign:
    return read_kept(folder)


def rows_of(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_published_numbers_are_those_of_the_study() -> None:
    best_and_worst = PUBLISHED["table_1"]["best_and_worst"]
    assert best_and_worst["8192"] == {
        "throughput_mib_s": [5.636, 1.959],
        "p95_latency_ms": [73.0, 1997.7],
        "throughput_cv": [0.0643, 0.5027],
        "latency_cv": [0.1538, 1.4558],
    }
    assert list(best_and_worst) == ["1024", "8192", "10240", "16383", "65636"]
    assert PUBLISHED["figure_7"]["change_fractions"]["latency_cv"] == -0.59


def test_the_trials_of_a_kept_campaign_are_those_that_the_campaign_had(reported: Campaign, kept: KeptCampaign) -> None:
    stored = reported.read_table(reported.keys.trials(), TRIAL_COLUMNS)
    columns = ["case", "configuration_id"]
    both = kept.design().merge(stored, on=columns, suffixes=("", "_stored"))
    assert len(both) == len(stored) == len(kept.design())
    for name in ("is_baseline", "feasible", "durability", "acks", "batch.size"):
        assert (both[name] == both[f"{name}_stored"]).all()
    for objective in OBJECTIVES:
        # A kept value has six digits.
        assert both[objective].to_numpy() == pytest.approx(both[f"{objective}_stored"].to_numpy(), rel=1e-4)


def test_table_1_compares_best_and_worst_with_the_published_ones(kept: KeptCampaign) -> None:
    rows = rows_of(table_1(kept, PUBLISHED["table_1"]["best_and_worst"]))
    assert len(rows) == 2 * 4
    first = rows[0]
    design = kept.design()
    throughput = design[(design.case == "1024") & ~design.is_baseline].throughput_mib_s
    assert first[:2] == ["1,024 B", "throughput [MiB/s]"]
    assert first[2] == f"{throughput.max():.3f}, {throughput.min():.3f}"
    assert first[3] == f"{throughput.max() / throughput.min():.1f}"
    assert first[4:] == ["0.878, 0.390", "2.3"]


def test_table_2_names_the_winners_and_how_often_they_win_again(kept: KeptCampaign) -> None:
    rows = rows_of(table_2(kept, {**PUBLISHED["table_2"], "case": "1024"}))
    assert len(rows) == 2 * 4
    assert rows[0][5] == "262144, 1, 0, none"
    assert rows[4][5] == ""  # published at one record size alone
    assert all(0 < int(row[4].removesuffix("%")) <= 100 for row in rows)


def test_a_changed_repetition_changes_the_tables(kept: KeptCampaign) -> None:
    own = kept.repetitions
    at = own.index[(own.phase == "design") & (own.case == "1024") & ~own.is_baseline][0]
    faster = own.assign(throughput_mib_s=own.throughput_mib_s.where(own.index != at, 1e4))
    changed = KeptCampaign(kept.study, faster, kept.r2, kept.estimates)
    winner = rows_of(table_2(changed, PUBLISHED["table_2"]))[0]
    assert winner != rows_of(table_2(kept, PUBLISHED["table_2"]))[0]
    assert table_1(changed, {}) != table_1(kept, {})


def test_figure_7_states_the_changes_of_the_cards_with_their_intervals(reported: Campaign, kept: KeptCampaign) -> None:
    head, *rows = rows_of(figure_7(kept, PUBLISHED["figure_7"]["change_fractions"]))
    assert head == ["published, ten rounds", "+12%", "-43%", "-8%", "-59%"]
    cards = reported.read_record(reported.keys.report("cards.json"), Cards).cards
    for card, row in zip(cards, rows, strict=True):
        gains: dict[str, Gain] = {gain.objective: gain for gain in card.gains}
        for objective, cell in zip(OBJECTIVES, row[1:], strict=True):
            gain = gains[objective]
            assert cell.startswith(f"{gain.change_fraction:+.0%} (")
            if objective in ("throughput_mib_s", "p95_latency_ms"):
                interval = f"{gain.change_low_fraction:+.0%} to {gain.change_high_fraction:+.0%}"
                assert cell == f"{gain.change_fraction:+.0%} ({interval})"


def test_the_comparison_is_markdown_with_every_table_and_figure(kept: KeptCampaign) -> None:
    lines = comparison(kept, PUBLISHED)
    assert lines[0].startswith(f"{len(kept.repetitions):,} valid repetitions")
    assert "record_sizes_bytes 1024, 65636 (file: 1024, 8192, 10240, 16383, 65636)" in lines[0]
    heads = [line for line in lines if line.startswith("## ")]
    assert [head.split(":")[0] for head in heads] == [
        *("## Table 1", "## Table 2"),
        *(f"## Figure {number}" for number in range(3, 8)),
        "## First rounds and latency CVs",
    ]
    widths = [line.count("|") for line in lines if line.startswith("|")]
    assert all(width > 4 for width in widths)
    assert not any("nan" in line for line in lines)


def test_the_recorded_comparison_follows_from_the_recorded_campaign_and_its_page_has_figure_7() -> None:
    """The pause is all that the kept campaign changed: a key that its frozen study lacks is no difference."""
    lines = comparison(read_kept(DATA / "campaigns" / "paper"), PUBLISHED)
    assert (DATA / "output" / "published_study.txt").read_text(encoding="utf-8") == "\n".join(lines) + "\n"
    assert lines[0].startswith("4,800 valid repetitions, ")
    assert lines[0].endswith("Unlike `paper.yaml`: protocol.cool_down_s 0 (file: 5).")
    page = (Path(__file__).parents[3] / "docs" / "results" / "paper.md").read_text(encoding="utf-8")
    figure_7 = "\n".join(lines).partition("## Figure 7")[2].partition("## ")[0].splitlines()
    assert [line for line in figure_7 if line.startswith("|") and line not in page] == []
    assert sum(line.startswith("| ") for line in figure_7) == 8


def test_a_slow_first_round_of_the_defaults_is_theirs_alone(kept: KeptCampaign) -> None:
    own = kept.repetitions
    at = own.index[(own.phase == "design") & (own.case == "1024") & own.is_baseline & (own.block == 0)]
    slower = own.assign(throughput_mib_s=own.throughput_mib_s.where(~own.index.isin(at), own.throughput_mib_s / 10))
    before, after = (rows_of(first_rounds(each)) for each in (kept, replace(kept, repetitions=slower)))
    assert float(after[0][1]) == pytest.approx(float(before[0][1]) / 10, abs=0.01)
    assert [row[2:3] + row[4:] for row in after] == [row[2:3] + row[4:] for row in before]
    assert after[1] == before[1]


def test_an_incomplete_campaign_is_one_clear_error(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tables" / "r2_per_objective.csv").unlink()
    with pytest.raises(BadInputError, match=r"lacks tables/r2_per_objective\.csv; keep a campaign there"):
        read_kept(tmp_path)
    # One that was kept before the report's tables were.
    with pytest.raises(BadInputError, match=r"cold_burst: lacks tables/"):
        read_kept(DATA / "campaigns" / "cold_burst")


def test_a_campaign_without_a_pick_says_so(kept: KeptCampaign) -> None:
    without = KeptCampaign(kept.study, kept.repetitions[kept.repetitions.phase != "gain"], kept.r2, kept.estimates)
    rows = rows_of(figure_7(without, PUBLISHED["figure_7"]["change_fractions"]))
    assert {cell for row in rows[1:] for cell in row[1:]} == {"nothing was picked"}
