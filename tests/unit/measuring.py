"""A campaign on the seeded fake, measured by the Measurer itself, shared by its tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Phase, Repetition, Sizing
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.measurement.blocks import PlannedRepetition, plan_blocks
from kafka_pareto.measurement.limits import MeasuringLimits
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase, Race
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import parse_study
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed
from tests.small_quick import small_quick

CASE = "8192"
IN_A_BLOCK = 6
LIMITS = MeasuringLimits(recovery_deadline_s=0.5, undisturbed_deadline_s=0.0, look_s=0.01)
PLANNED = IN_A_BLOCK * 2


def quick(**changes: Any) -> Study:
    """A small `quick` with a fixed confirmation that claims nothing, and with some keys replaced (dicts are merged)."""
    content = small_quick()
    content["confirmation"] = {"points": 3, "choice_blocks": 2, "gain_blocks": 2, "minimum_blocks": 10}
    for key, value in changes.items():
        content[key] = content.get(key, {}) | value if isinstance(value, dict) else value
    return _parsed(yaml.dump(content, Dumper=yaml.CSafeDumper))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Study:
    return parse_study(text, "a variant of quick")


def foreign(ceiling_gib: float = 9.0) -> Study:
    """`quick` on a cluster that is not ours."""
    cluster = {"bootstrap_servers": "b:9092", "ceiling_mib_s": 4.0, "ceiling_gib": ceiling_gib, "consent": True}
    return quick(cluster=cluster)


def started(folder: Path, study: Study | None = None) -> Campaign:
    """A campaign whose design is drawn."""
    study = study or quick()
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.write_table(campaign.keys.design(), design_table(study), DESIGN_COLUMNS)
    sizing = Sizing(records=1000, warmup_records=0, throughput_limit_records_s=None)
    campaign.write_record(campaign.keys.sizing(CASE), sizing)
    return campaign


@dataclass(frozen=True)
class Measuring:
    """A campaign on a fake testbed."""

    campaign: Campaign
    testbed: Testbed
    cluster: FakeCluster
    tool: FakeLoadTool

    def measure(
        self, phase: Phase = "design", limits: MeasuringLimits = LIMITS, race: Race | None = None
    ) -> list[Repetition]:
        """Measures the phase with its design's configurations, as far as it is not in the store."""
        stored = RepetitionStore(self.campaign, self.prefix(phase))
        runner = ProducerRunner(self.campaign, CASE, self.testbed, limits)
        return Measurer(self.campaign.study, runner).measure(MeasurementPhase(self.planned(phase), stored, race))

    def fail(self, error: BaseException, when: Callable[[LoadRequest], bool] = lambda _: True) -> None:
        """Raise the error in place of each load that `when` is true of."""

        def before_run(request: LoadRequest) -> None:
            if when(request):
                raise error

        self.tool.before_run = before_run

    def planned(self, phase: Phase = "design") -> list[PlannedRepetition]:
        design = self.campaign.read_table(self.campaign.keys.design(), DESIGN_COLUMNS)
        study = self.campaign.study
        return plan_blocks(
            candidates_of(design[design.case == CASE], self.campaign.study),
            study.protocol.repetitions,
            order=study.protocol.order,
            phase=phase,
            case=CASE,
            seed=study.seed,
        )

    def prefix(self, phase: Phase = "design") -> str:
        keys = self.campaign.keys
        return keys.measurements(CASE) if phase == "design" else keys.confirmation(CASE, "repetitions/")

    def stored(self, phase: Phase = "design") -> list[Repetition]:
        """The keys below the phase's prefix."""
        return self.campaign.read_repetitions(self.prefix(phase))

    def aside(self) -> list[Repetition]:
        """The rejected repetitions of the design phase, in the order of measuring."""
        found = self.campaign.read_repetitions(self.campaign.keys.discarded(CASE))
        return sorted(found, key=lambda repetition: repetition.started_at)


@contextmanager
def measuring(folder: Path, study: Study | None = None) -> Iterator[Measuring]:
    """A campaign, newly begun or found in the folder, on a fresh fake testbed."""
    campaign = started(folder, study)
    with fake_testbed(campaign, CASE) as testbed:
        assert isinstance(testbed.cluster, FakeCluster)
        assert isinstance(testbed.load_tool, FakeLoadTool)
        yield Measuring(campaign, testbed, testbed.cluster, testbed.load_tool)
