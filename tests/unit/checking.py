"""Active settings confirmed on the seeded fake, and checks of them, shared by their tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate
from kafka_pareto.campaign.keys import CampaignKeys, CheckKeys
from kafka_pareto.campaign.records import Fingerprint, Sizing
from kafka_pareto.drift.check_records import Check, CheckedCase
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.rollout.versions import ActiveSettings, add_version, now
from kafka_pareto.steps import check, check_compare, check_measure
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed
from tests.unit.measuring import CASE, quick

WINNER: Configuration = {"batch.size": 131072, "linger.ms": 0, "acks": "all", "compression.type": "lz4"}
WINNER_ID = configuration_id(WINNER)


def study_of(**changes: Any) -> Study:
    """One record size, and as many blocks of a check as of a confirmation."""
    changes = {"record_sizes_bytes": [int(CASE)], "retune": {"blocks": 6}, **changes}
    return quick(confirmation={"gain_blocks": 6, "minimum_blocks": 6}, **changes)


def confirmed(
    folder: Path, study: Study | None = None, campaign_id: str = "c1", *, gain_blocks: bool = True
) -> Campaign:
    """A campaign that has confirmed `WINNER`, in gain blocks or, like one that was only picked, without."""
    study = study or study_of()
    campaign = Campaign(study, CampaignKeys(study.name, campaign_id), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    sizing = Sizing(records=1000, warmup_records=0, throughput_limit_records_s=None)
    campaign.write_record(campaign.keys.sizing(CASE), sizing)
    with fake_testbed(campaign, CASE) as testbed:
        planned = plan_blocks(
            [baseline_candidate(campaign, CASE), Candidate(WINNER_ID, is_baseline=False, configuration=dict(WINNER))],
            study.confirmation.gain_blocks,
            order="blocks",
            phase="gain" if gain_blocks else "choice",
            case=CASE,
            seed=study.seed,
        )
        stored = RepetitionStore(campaign, campaign.keys.confirmation(CASE, "repetitions/"))
        Measurer(study, ProducerRunner(campaign, CASE, testbed)).measure(MeasurementPhase(planned, stored))
    return campaign


def tuned(folder: Path, check_id: str) -> None:
    """Runs the tuning requested by a check up to its report, whatever it recommends."""
    FolderStore(folder).put(CampaignKeys(study_of().name, check_id).report("cards.json"), b"{}")


def activate(campaign: Campaign, version: int = 1, **changes: Any) -> ActiveSettings:
    """The campaign's winner as the next version."""
    study = campaign.study
    settings = ActiveSettings(
        study=study.name,
        case=CASE,
        version=version,
        previous_version=version - 1 or None,
        came_by="recommended",
        configuration_id=WINNER_ID,
        is_baseline=False,
        configuration=dict(WINNER),
        properties=study.properties(WINNER),
        previous_properties=study.properties(study.baseline_configuration()),
        durability="acks_all_idempotent",
        driver=study.driver,
        campaign=campaign.keys.campaign,
        cluster=study.cluster_name,
        gains=[],
        fingerprint=campaign.read_record(campaign.keys.fingerprint(CASE), Fingerprint),
        accepted_by="",
        reason="",
        at=now(),
    ).model_copy(update=changes)
    add_version(campaign.store, settings)
    return settings


def begin(folder: Path, check_id: str, study: Study | None = None, cluster: FakeCluster | None = None) -> list[int]:
    """The step `check`; the record sizes that it has measured."""
    manifest = check.run(FolderStore(folder), study or study_of(), check_id, ClusterSystem(cluster or FakeCluster()))
    return manifest.cases


def opened(folder: Path, check_id: str, name: str = "quick") -> Campaign:
    """A check that was begun."""
    return Campaign.at(FolderStore(folder), CheckKeys(name, check_id))


def measure(folder: Path, check_id: str, spoil: Callable[[FakeLoadTool], None] = lambda _: None) -> None:
    """The step `check_measure`, on a fake with this check's own noise; `spoil` may change its behavior."""
    begun = opened(folder, check_id)
    with fake_testbed(begun, CASE, seed=sum(check_id.encode())) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        spoil(testbed.load_tool)
        check_measure.run(begun, CASE, ProducerRunner(begun, CASE, testbed))


def outcome(folder: Path, check_id: str) -> CheckedCase:
    """The step `check_compare`, and its result at the one record size."""
    begun = opened(folder, check_id)
    check_compare.run(begun)
    return begun.read_record(CheckKeys("quick", check_id).check(), Check).cases[0]


def checked(
    folder: Path, check_id: str, spoil: Callable[[FakeLoadTool], None] = lambda _: None, study: Study | None = None
) -> CheckedCase:
    """A full check."""
    begin(folder, check_id, study)
    measure(folder, check_id, spoil)
    return outcome(folder, check_id)


def slower(factor: float, *, winner_alone: bool = True) -> Callable[[FakeLoadTool], None]:
    """The cluster takes this fraction of the throughput: of the active settings, or of everything."""

    def spoil(tool: FakeLoadTool) -> None:
        def after_run(result: LoadResult) -> LoadResult:
            is_winner = tool.requests[-1].properties["batch.size"] == WINNER["batch.size"]
            if result.figures is None or (winner_alone and not is_winner):
                return result
            figures, pace = result.figures, result.figures.throughput_records_s * factor
            printed = figures.printed_mib_s and figures.printed_mib_s * factor
            return replace(result, figures=replace(figures, throughput_records_s=pace, printed_mib_s=printed))

        tool.after_run = after_run

    return spoil
