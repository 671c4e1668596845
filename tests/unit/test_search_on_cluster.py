"""The comparison on the cluster, without one: the table or the fake answers what the strategies ask for."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.on_cluster import begun, read_csv, repetition_table, stored_repetitions
from benchmarks.search_on_cluster import askers_of, labelled, run, search, search_study
from benchmarks.search_on_cluster_table import FRESH, handed_over_by, report
from benchmarks.strategies.table import BLOCKS, GRID, RECORD_SIZE_BYTES, table_study
from kafka_pareto.blocks import PlannedRepetition
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.load import LoadRequest
from kafka_pareto.records import Repetition
from kafka_pareto.store import FolderStore
from tests.fakes import FakeLoadTool, fake_testbed
from tests.recorded import recorded_grid

pytestmark = pytest.mark.fast

OWN_PACKAGES = ("rounds", "one_shot", "random", "latin_hypercube")
BUDGET = 16
SILENT = Progress(console=Console(file=io.StringIO()))
CHEAP = ("random", "latin_hypercube")


class FromTheTable:
    """Answers with recorded repetitions, and remembers the blocks that were asked for."""

    def __init__(self) -> None:
        self._recorded = {(each.configuration_id, each.block): each for each in recorded_grid(GRID)}
        self.asked: list[list[PlannedRepetition]] = []

    def __call__(self, block: Sequence[PlannedRepetition]) -> list[Repetition]:
        self.asked.append(list(block))
        return [self._recorded[each.candidate.configuration_id, each.block % BLOCKS] for each in block]

    def of(self, place: int) -> list[str]:
        """What one strategy was answered, in its order."""
        return [each.candidate.configuration_id for block in self.asked for each in block if each.round_number == place]


@pytest.fixture(scope="module")
def side_by_side() -> FromTheTable:
    """The strategies that need no peers' packages, interleaved on the table."""
    table, study = FromTheTable(), table_study()
    search(askers_of(OWN_PACKAGES, study, BUDGET), study, BUDGET, table)
    return table


def test_every_block_holds_one_repetition_of_each_strategy_in_an_order_of_its_own(side_by_side: FromTheTable) -> None:
    orders = [[each.round_number for each in block] for block in side_by_side.asked]
    assert [sorted(order) for order in orders] == [list(range(len(OWN_PACKAGES)))] * BUDGET
    assert len({tuple(order) for order in orders}) > BUDGET / 2


def test_a_strategy_asks_beside_others_for_what_it_asks_alone(side_by_side: FromTheTable) -> None:
    for place, name in enumerate(OWN_PACKAGES):
        alone = FromTheTable()
        search(askers_of([name], table_study(), BUDGET), table_study(), BUDGET, alone)
        assert side_by_side.of(place) == alone.of(0)


def test_no_two_repetitions_share_an_id(side_by_side: FromTheTable) -> None:
    ids = [each.repetition_id for block in side_by_side.asked for each in block]
    assert len(set(ids)) == BUDGET * len(OWN_PACKAGES)


def test_the_one_shot_spends_half_on_its_design_and_half_on_points_of_its_front(side_by_side: FromTheTable) -> None:
    asked = side_by_side.of(OWN_PACKAGES.index("one_shot"))
    assert asked[0] == table_study().baseline_id()
    assert len(set(asked[: BUDGET // 2])) == BUDGET // 2
    assert len(set(asked[BUDGET // 2 :])) == BUDGET // 2


def test_an_interrupted_run_goes_on_to_the_same_end_and_measures_nothing_twice(tmp_path: Path) -> None:
    whole, interrupted = campaign(tmp_path / "whole"), campaign(tmp_path / "interrupted")
    in_all = loads(whole)
    loads_before = loads(interrupted, stops_at=10)
    loads_after = loads(interrupted)

    assert loads_before + loads_after == in_all
    assert {each.repetition_id for each in stored_repetitions(interrupted)} == {
        each.repetition_id for each in stored_repetitions(whole)
    }


def test_what_was_measured_with_other_code_is_refused(tmp_path: Path) -> None:
    begun_before = campaign(tmp_path)
    loads(begun_before, CHEAP)
    with pytest.raises(BadInputError, match="--campaign"):
        loads(begun_before, tuple(reversed(CHEAP)))


def test_a_campaign_of_another_study_is_refused(tmp_path: Path) -> None:
    begun_before = campaign(tmp_path)
    with pytest.raises(BadInputError, match="--campaign"):
        begun(begun_before.store, search_study(seed=2), begun_before.keys.campaign)


def test_the_csv_gives_the_same_table_as_the_store(tmp_path: Path) -> None:
    done = campaign(tmp_path)
    loads(done, ("rounds", "random"))
    rows = repetition_table(labelled(stored_repetitions(done), ("rounds", "random")), done.study)
    rows.to_csv(tmp_path / "rows.csv", index=False)

    assert report(read_csv(tmp_path / "rows.csv")) == report(rows)
    assert set(rows.asked_by) == {"warm-up", "rounds", "random", FRESH}


def test_the_volumes_are_those_of_the_fresh_means(tmp_path: Path) -> None:
    """`rounds` hands over the best, `random` the baseline alone: a halved loss in both is four squares of it."""
    path = tmp_path / "rows.csv"
    path.write_text(
        "asked_by,configuration_id,is_baseline,block,outcome,latency_p95_ms,throughput_mib_s\n"
        "rounds,best,False,0,valid,40,25\n"
        "rounds,lossy,False,1,records_lost,1,99\n"
        "random,base,True,0,valid,100,10\n"
        "fresh,base,True,0,valid,100,10\nfresh,best,False,0,valid,50,20\n"
        "fresh,base,True,1,valid,200,5\nfresh,best,False,1,valid,100,10\n"
    )
    table = read_csv(path)

    assert handed_over_by(table) == {"rounds": ["best"], "random": ["base"]}
    text = report(table)
    assert text[2] == "| rounds (this project) | 2 | 1 | 1.000 (1.000 to 1.000) |  | -50% | +100% |"
    assert text[3].startswith("| random search | 1 | 1 | 0.250 (0.250 to 0.250) | +0.750 (")


def test_a_run_without_fresh_blocks_has_no_table() -> None:
    rows = pd.DataFrame({"asked_by": ["rounds"], "outcome": ["valid"]})
    with pytest.raises(BadInputError, match="not measured yet"):
        report(rows)


def campaign(folder: Path) -> Campaign:
    """A campaign, newly begun or found in the folder."""
    return begun(FolderStore(folder), search_study(seed=1), "c1")


def loads(begun_campaign: Campaign, names: tuple[str, ...] = CHEAP, stops_at: int | None = None) -> int:
    """Runs the comparison on the fake and counts the loads; Ctrl-C comes at the load `stops_at`."""
    with fake_testbed(begun_campaign, RECORD_SIZE_BYTES) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)

        def interrupt(_request: LoadRequest) -> None:
            if stops_at is not None and len(tool.requests) > stops_at:
                raise KeyboardInterrupt

        tool.before_run = interrupt
        try:
            run(begun_campaign, testbed, names, budget=6, fresh_blocks=2, progress=SILENT)
        except KeyboardInterrupt:
            return stops_at or 0
        return len(tool.requests)
