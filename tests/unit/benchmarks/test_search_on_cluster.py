"""The comparison on the cluster, without one: the table or the fake answers the strategies' requests."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.on_cluster import WARM_UP, begun, is_warm_up, read_csv, repetition_table, stored_repetitions, write_csv
from benchmarks.search_on_cluster import WARM_UP_REPETITIONS, askers_of, labelled, run, search, search_study
from benchmarks.search_on_cluster_table import FRESH, best_by, delivered_by, report
from benchmarks.strategies.table import BLOCKS, CASE, GRID, table_study
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.storage.folder_store import FolderStore
from tests.fakes import FakeLoadTool, fake_testbed
from tests.recorded import recorded_grid

pytestmark = [pytest.mark.fast, pytest.mark.slow]

OWN_PACKAGES = ("rounds", "one_shot", "random", "latin_hypercube")
BUDGET = 16
SILENT = Progress(console=Console(file=io.StringIO()))
CHEAP = ("random", "latin_hypercube")

Figures = Mapping[str, tuple[float, float]]
"""p95 latency in ms and throughput in MiB/s by configuration."""
FOUND: Figures = {"base": (100.0, 10.0), "best": (50.0, 20.0)}
SPOILED: Figures = {"base": (math.nan, math.nan), "best": (1.0, 99.0)}


class FromTheTable:
    """Answers with recorded repetitions, and remembers the blocks that were asked for."""

    def __init__(self) -> None:
        self._recorded = {(each.configuration_id, each.block): each for each in recorded_grid(GRID)}
        self.asked: list[list[PlannedRepetition]] = []

    def __call__(self, block: Sequence[PlannedRepetition]) -> list[Repetition]:
        self.asked.append(list(block))
        return [self._recorded[each.candidate.configuration_id, each.block % BLOCKS] for each in block]

    def of(self, place: int) -> list[str]:
        """The answers to one strategy, in order."""
        return [each.candidate.configuration_id for block in self.asked for each in block if each.round_number == place]


@pytest.fixture(scope="module")
def side_by_side() -> FromTheTable:
    """The strategies that need no peers' packages, interleaved on the table."""
    table, study = FromTheTable(), table_study()
    search(askers_of(OWN_PACKAGES, study, BUDGET), study, BUDGET, table)
    return table


def test_every_block_has_one_repetition_of_each_strategy_in_its_own_order(side_by_side: FromTheTable) -> None:
    orders = [[each.round_number for each in block] for block in side_by_side.asked]
    assert [sorted(order) for order in orders] == [list(range(len(OWN_PACKAGES)))] * BUDGET
    assert len({tuple(order) for order in orders}) > BUDGET / 2


def test_a_strategy_asks_for_the_same_alone_and_interleaved(side_by_side: FromTheTable) -> None:
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


@pytest.mark.parametrize(("names", "budget", "stops_at"), [(CHEAP, 6, 10), (("rounds", "random"), 24, 40)])
def test_an_interrupted_run_warms_up_again_and_resumes_to_the_same_end(
    names: tuple[str, ...], budget: int, stops_at: int, tmp_path: Path
) -> None:
    """The rounds are stopped within the first one after the design of 12 and the baseline, and begin a second."""
    whole, interrupted = campaign(tmp_path / "whole"), campaign(tmp_path / "interrupted")
    in_all = loads(whole, names, budget)
    loads_before = loads(interrupted, names, budget, stops_at)
    loads_after = loads(interrupted, names, budget)

    assert loads_before + loads_after == in_all + WARM_UP_REPETITIONS
    assert asked_in(interrupted) == asked_in(whole)


def test_a_finished_run_measures_nothing_more(tmp_path: Path) -> None:
    through = campaign(tmp_path)
    assert loads(through) > WARM_UP_REPETITIONS
    assert loads(through) == 0


def test_measurements_made_with_other_code_are_refused(tmp_path: Path) -> None:
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
    write_csv(rows, tmp_path / "rows.csv")

    assert report(read_csv(tmp_path / "rows.csv"), done.study) == report(rows, done.study)
    assert list(rows.asked_by[:WARM_UP_REPETITIONS]) == [WARM_UP] * WARM_UP_REPETITIONS
    assert set(rows.asked_by) == {WARM_UP, "rounds", "random", FRESH}


def test_the_volumes_are_those_of_the_fresh_means(tmp_path: Path) -> None:
    """`rounds` delivers the best, `random` only the baseline: a halved loss in both is four squares of it."""
    path = tmp_path / "rows.csv"
    path.write_text(
        "asked_by,configuration_id,is_baseline,block,outcome,latency_p95_ms,throughput_mib_s\n"
        "rounds,best,False,0,valid,40,25\n"
        "rounds,lossy,False,1,records_lost,1,99\n"
        "random,base,True,0,valid,100,10\n"
        "fresh,base,True,0,valid,100,10\nfresh,best,False,0,valid,50,20\n"
        "fresh,base,True,1,valid,200,5\nfresh,best,False,1,valid,100,10\n"
    )
    table, study = read_csv(path), table_study()

    assert delivered_by(table, study) == {"rounds": ["best"], "random": ["base"]}
    text = report(table, study)
    assert text[2] == "| rounds (this project) | 2 | 1 | 1.000 (1.000 to 1.000) |  | -50% | +100% |"
    assert text[3].startswith("| random search | 1 | 1 | 0.250 (0.250 to 0.250) | +0.750 (")
    assert text[3].endswith("| the baseline | the baseline |")


def test_a_block_without_a_valid_baseline_has_no_share_in_any_figure() -> None:
    text = report(pd.concat([asked_for(FOUND), fresh_blocks(FOUND), fresh_blocks(SPOILED, block=2)]), table_study())
    without = report(pd.concat([asked_for(FOUND), fresh_blocks(FOUND)]), table_study())

    assert text[2] == without[2]
    assert "in 3 interleaved blocks, of which 2 have a valid baseline" in text[4]


def test_a_baseline_that_never_was_valid_is_one_clear_error() -> None:
    rows = pd.concat([asked_for(FOUND), fresh_blocks(SPOILED)])
    with pytest.raises(BadInputError, match="valid in no fresh block"):
        report(rows, table_study())


def test_a_strategys_best_is_chosen_by_its_own_answers_and_judged_by_the_fresh_blocks() -> None:
    """`slow` was lucky in the search: in fresh blocks it is no better than the baseline."""
    lucky = pd.concat([asked_for(FOUND), asked_for({"slow": (1.0, 99.0)})])
    fresh = fresh_blocks({**FOUND, "slow": (100.0, 10.0)})

    assert best_by(lucky, table_study()) == {"rounds": "slow"}
    assert report(pd.concat([lucky, fresh]), table_study())[2].endswith("| +0% | +0% |")


def test_a_strategy_without_a_valid_answer_has_a_dash_for_every_figure() -> None:
    failed = asked_for({"odd": (50.0, 20.0)}).assign(asked_by="random", outcome="failed")
    text = report(pd.concat([asked_for(FOUND), failed, fresh_blocks(FOUND)]), table_study())
    assert text[3] == "| random search | 1 | 0 | - | - | - | - |"


@pytest.mark.parametrize(("name", "missing"), [("best", "best in block 1"), ("base", "the baseline in block 1")])
def test_fresh_blocks_of_unequal_contents_are_refused_with_the_missing_ones(name: str, missing: str) -> None:
    rows = pd.concat([asked_for(FOUND), fresh_blocks(FOUND)])
    cut = rows[~((rows.asked_by == FRESH) & (rows.block == 1) & (rows.configuration_id == name))]
    with pytest.raises(BadInputError, match=f"without {missing}; .*resumes"):
        report(cut, table_study())


def test_a_configuration_missing_from_every_fresh_block_is_refused() -> None:
    rows = pd.concat([asked_for({**FOUND, "new": (1.0, 99.0)}), fresh_blocks(FOUND)])
    with pytest.raises(BadInputError, match="without new in block 0, new in block 1;"):
        report(rows, table_study())


def test_a_run_without_fresh_blocks_has_no_table() -> None:
    with pytest.raises(BadInputError, match="not measured yet"):
        report(asked_for(FOUND), table_study())


def asked_for(figures: Figures) -> pd.DataFrame:
    """The answers to `rounds`."""
    return rows_of(figures, "rounds", 0)


def fresh_blocks(figures: Figures, block: int | None = None) -> pd.DataFrame:
    """Two fresh blocks of the same figures, or this one alone."""
    blocks = (0, 1) if block is None else (block,)
    return pd.concat([rows_of(figures, FRESH, number) for number in blocks])


def rows_of(figures: Figures, asked_by: str, block: int) -> pd.DataFrame:
    """One repetition of each; it failed where there is no latency."""
    rows = [
        (asked_by, name, name == "base", block, "failed" if math.isnan(ms) else "valid", ms, mib_s)
        for name, (ms, mib_s) in figures.items()
    ]
    columns = ["asked_by", "configuration_id", "is_baseline", "block", "outcome", "latency_p95_ms", "throughput_mib_s"]
    return pd.DataFrame(rows, columns=columns)


def campaign(folder: Path) -> Campaign:
    """A campaign, newly begun or found in the folder."""
    return begun(FolderStore(folder), search_study(seed=1), "c1")


def asked_in(begun_campaign: Campaign) -> set[str]:
    """The IDs of the stored repetitions, without the warm-ups."""
    return {each.repetition_id for each in stored_repetitions(begun_campaign) if not is_warm_up(each)}


def loads(
    begun_campaign: Campaign, names: tuple[str, ...] = CHEAP, budget: int = 6, stops_at: int | None = None
) -> int:
    """Runs the comparison on the fake and counts the loads; Ctrl-C comes at the load `stops_at`."""
    with fake_testbed(begun_campaign, CASE) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)

        def interrupt(_request: LoadRequest) -> None:
            if stops_at is not None and len(tool.requests) > stops_at:
                raise KeyboardInterrupt

        tool.before_run = interrupt
        try:
            run(
                begun_campaign,
                ProducerRunner(begun_campaign, CASE, testbed),
                names,
                budget,
                fresh_blocks=2,
                progress=SILENT,
            )
        except KeyboardInterrupt:
            return stops_at or 0
        return len(tool.requests)
