"""Recorded the store below `recorded_store/`: `python -m tests.golden.record_store <empty folder>`.

It ran once, at the release that the folder's README names, and is kept to tell where those bytes come from. The steps
are the project's own; the cluster and its load tool are the tests' fakes, which lose records, fail and print nonsense
where the reports are to tell of it. Never record that store anew with a later release: it is what a store of that
release looks like.
"""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CheckKeys
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.load.tool import LoadRequest, LoadResult
from kafka_pareto.steps import (
    accept,
    check,
    check_compare,
    check_measure,
    confirm,
    design,
    measure,
    optimize,
    propose,
    report,
    roll_back,
    train,
    validate,
)
from kafka_pareto.steps.accept import Wanted
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.warm_start import WarmStart
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed

STUDY = load_study(Path(__file__).parent / "study.yaml")
CAMPAIGN, LATER_CAMPAIGN, CHECK = "c1", "c2", "check1"
SMALL, LARGE = STUDY.cases
BASELINE_BATCH_SIZE = STUDY.baseline_configuration()["batch.size"]

Spoil = Callable[[FakeLoadTool], None]


def main(folder: Path) -> None:
    """A campaign in two rounds, what came into force by it, a check of that, and the design of a campaign after it."""
    socket.gethostname = lambda: "recorded"
    platform.release = lambda: "recorded"
    store = FolderStore(folder)
    with FakeCluster() as cluster:
        design.run(store, STUDY, CAMPAIGN, cluster)
    campaign = Campaign.open(store, STUDY.name, CAMPAIGN)
    _measure(campaign, SMALL, 0, _printing_nonsense)
    _measure(campaign, LARGE, 0, _losing_records_once)
    _learn(campaign, 0)
    for number in (1, 2):
        for case in propose.run(campaign, number).cases:
            _measure(campaign, case, number)
        _learn(campaign, number)
    for case in STUDY.cases:
        with fake_testbed(campaign, case) as testbed:
            confirm.run(campaign, case, testbed)
    report.run(campaign)

    asked = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
    accept.run(campaign, Wanted(answer="approve", by="ada", reason="before the sale", answered_at=asked))
    _check(store)
    accept.run(campaign, Wanted(SMALL, _other_pick(campaign), by="bob", reason="less CPU", request="pick-1"))
    roll_back.run(store, STUDY.name, LARGE, by="ada", reason="alarms at night", request="back-1")
    with FakeCluster() as cluster:
        warm = STUDY.model_copy(update={"warm_start": WarmStart(campaigns="latest")})
        design.run(store, warm, LATER_CAMPAIGN, cluster)
    _leave_out_pictures(store)


def _measure(campaign: Campaign, case: str, round_number: int, spoil: Spoil = lambda _: None) -> None:
    with fake_testbed(campaign, case) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        spoil(testbed.load_tool)
        measure.run(campaign, case, testbed, round_number)


def _learn(campaign: Campaign, round_number: int) -> None:
    validate.run(campaign, round_number)
    train.run(campaign, round_number)
    for case in campaign.study.cases:
        optimize.run(campaign, case, round_number)


def _leave_out_pictures(store: FolderStore) -> None:
    """Pictures, and the sites of the later rounds' validations: three megabytes that no step reads again."""
    for key in store.keys(""):
        if key.endswith(".png") or ("/data_docs/" in key and "round=00" not in key):
            store.delete(key)


def _check(store: FolderStore) -> None:
    """One that finds the large records' settings slower than they were."""
    with FakeCluster() as cluster:
        cases = check.run(store, STUDY, CHECK, cluster).cases
    begun = Campaign.at(store, CheckKeys(STUDY.name, CHECK))
    for case in cases:
        with fake_testbed(begun, case, seed=7) as testbed:
            assert isinstance(testbed.load_tool, FakeLoadTool)
            if case == LARGE:
                _slower(testbed.load_tool)
            check_measure.run(begun, case, testbed)
    check_compare.run(begun)


def _other_pick(campaign: Campaign) -> str:
    """A confirmed configuration as durable as the baseline that is not in force."""
    trials = campaign.read_table(campaign.keys.confirmation(SMALL, "trials.parquet"), TRIAL_COLUMNS)
    in_force = accept.versions(campaign.store, campaign.keys.study, SMALL)[-1].configuration_id
    durable = trials[(trials.durability == "acks_all_idempotent") & trials.feasible & ~trials.is_baseline]
    return str(min(set(durable.configuration_id) - {in_force}))


def _printing_nonsense(tool: FakeLoadTool) -> None:
    """One load's printed rate is not that of its records, and that of another not in any attempt, so that it fails."""

    def after_run(result: LoadResult) -> LoadResult:
        if len(tool.requests) not in (9, 14, 15, 16) or result.figures is None:
            return result
        return replace(result, figures=replace(result.figures, printed_mib_s=1000.0))

    tool.after_run = after_run


def _losing_records_once(tool: FakeLoadTool) -> None:
    """The second load after the A/A study loses three records."""

    def before_run(_: LoadRequest) -> None:
        tool.lost_records = 3 if len(tool.requests) == 8 else 0

    tool.before_run = before_run


def _slower(tool: FakeLoadTool) -> None:
    """What has other settings than the baseline takes two thirds of the throughput it had."""

    def after_run(result: LoadResult) -> LoadResult:
        is_baseline = tool.requests[-1].properties["batch.size"] == BASELINE_BATCH_SIZE
        if is_baseline or result.figures is None:
            return result
        figures = result.figures
        printed = figures.printed_mib_s and figures.printed_mib_s * 0.66
        pace = figures.throughput_records_s * 0.66
        return replace(result, figures=replace(figures, throughput_records_s=pace, printed_mib_s=printed))

    tool.after_run = after_run


if __name__ == "__main__":
    main(Path(sys.argv[1]))
