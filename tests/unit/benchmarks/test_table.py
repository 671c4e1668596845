"""The table benchmark: answers never come from the truth, budgets are kept, volumes are those of boxes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks import search_runs
from benchmarks.strategies import strategy
from benchmarks.strategies.answers import log_objectives
from benchmarks.strategies.grids import FIRST, Grid, recorded_grids
from benchmarks.strategies.plain import all_candidates
from benchmarks.strategies.table import BLOCKS, Answer, Asking, Table, recorded_table, table_study, truth_blocks
from kafka_pareto.analysis.hypervolume import REFERENCE
from kafka_pareto.campaign.records import Outcome
from kafka_pareto.errors import StudyError
from kafka_pareto.study.factors import Factor, NumericFactor
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

LN2 = float(np.log(2))


def asks_for_all(study: Study, _case: str, _seed: int) -> Asking:
    """Every configuration of the grid's first batch size, again and again."""
    levels = {name: factor.extremes() for name, factor in study.factors.items()}
    every = [
        {"batch.size": 8192, "linger.ms": linger, "acks": acks, "compression.type": codec}
        for linger in levels["linger.ms"]
        for acks in levels["acks"]
        for codec in levels["compression.type"]
    ]
    while True:
        yield every


def test_no_answer_comes_from_the_blocks_that_are_the_truth_and_the_budget_is_kept() -> None:
    for seed in (0, 7):
        given = recorded_table().answers(asks_for_all, table_study(), seed, budget=130)
        assert len(given) == 130
        assert {each.block for each in given} == set(range(BLOCKS)) - set(truth_blocks(seed))


def test_a_strategy_that_asks_for_nothing_is_stopped() -> None:
    def asks_for_nothing(_study: Study, _case: str, _seed: int) -> Asking:
        while True:
            yield []

    with pytest.raises(ValueError, match="asked for nothing"):
        recorded_table().answers(asks_for_nothing, table_study(), 0, budget=1)


def test_the_volumes_are_shares_of_the_tables_own() -> None:
    """Three configurations: the baseline, one better in both, and one with lucky answers."""
    template = recorded_repetitions(("8192",), configurations=2, blocks=1)[:3]
    values = {0: (100.0, 10.0, 100.0, 10.0), 1: (50.0, 20.0, 50.0, 20.0), 2: (200.0, 5.0, 25.0, 40.0)}
    truth = truth_blocks(0)
    repetitions = []
    for place, (true_ms, true_mib_s, told_ms, told_mib_s) in values.items():
        for block in range(BLOCKS):
            figures = (true_ms, true_mib_s) if block in truth else (told_ms, told_mib_s)
            changes = {
                "configuration_id": f"c{place}",
                "is_baseline": place == 0,
                "block": block,
                "latency_p95_ms": figures[0],
                "throughput_mib_s": figures[1],
            }
            repetitions.append(template[0].with_values(changes))
    table = Table(repetitions)
    answering = next(block for block in range(BLOCKS) if block not in truth)
    baseline, better, lucky = (Answer(place, answering) for place in range(3))

    assert table.volume_measured([baseline], 0) == pytest.approx(REFERENCE**2 / (2 * LN2) ** 2)
    assert table.volume_measured([baseline, better, lucky], 0) == pytest.approx(1.0)
    assert table.volume_handed_over([baseline, better], 0) == pytest.approx(1.0)
    assert table.volume_handed_over([baseline, better, lucky], 0) == 0.0  # the lucky one alone, which is truly worse


@pytest.mark.parametrize("outcome", ["records_lost", "records_duplicated", "failed"])
def test_only_a_valid_repetition_is_an_answer_to_a_peer(outcome: Outcome) -> None:
    valid = recorded_repetitions(configurations=1, blocks=1)[0]
    assert log_objectives(table_study(), valid) is not None
    assert log_objectives(table_study(), valid.model_copy(update={"outcome": outcome})) is None


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (
            load_study(STUDIES / "cold_burst.yaml").factors,
            r"factors: batch\.size, linger\.ms: a range: .* at most 2,048",
        ),
        (
            {"batch.size": NumericFactor(type="integer", levels=list(range(1000, 6000)))},
            r"factors: 5,000 combinations of levels: .* at most 2,048",
        ),
    ],
)
def test_a_space_that_cannot_be_listed_is_refused_naming_the_large_dimensions(
    factors: dict[str, Factor], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        all_candidates(table_study().model_copy(update={"factors": factors}), "8192")


@pytest.mark.parametrize("grid", recorded_grids(), ids=lambda grid: grid.name)
@pytest.mark.parametrize("name", search_runs.NAMES)
def test_stored_runs_were_made_with_the_current_code_and_recording(name: str, grid: Grid) -> None:
    runs = search_runs.stored(name, grid)

    assert len(runs) == search_runs.SEEDS
    assert min(len(given) for given in runs.values()) >= 100


@pytest.mark.parametrize(
    ("name", "repetitions"), {"rounds": 22, "one_shot": 610, "random": 240, "latin_hypercube": 240}.items()
)
def test_stored_runs_begin_with_the_proposals_of_the_code(name: str, repetitions: int) -> None:
    """As far as seconds reach: the first proposals of the rounds, the design of the one shot."""
    study, budget = table_study(), search_runs.BUDGETS.get(name, search_runs.BUDGET)

    def begins(study: Study, case: str, seed: int) -> Asking:
        asking = strategy(name)(study, case, seed)
        batch, asked = next(asking), 0
        while True:
            answers, asked = (yield batch), asked + len(batch)
            if asked >= repetitions:
                yield [study.baseline_configuration()] * budget
            batch = asking.send(answers)

    given = recorded_table().answers(begins, study, 0, budget)
    assert given[:repetitions] == search_runs.stored(name)[0][:repetitions]


CODE = '''"""A module."""
LIMIT = 0.5
"""Why a half."""

def ask(count):
    """Asks."""
    if count < 0:
        raise ValueError("count is negative")
    log.info("%d asked", count)
    logger.info("%d left", count)
    return [count * LIMIT]  # all at once
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A module.", "The module."),
        ("Why a half.", "Why not."),
        ("Asks.", "Answers."),
        ("  # all at once", ""),
        ("is negative", "< 0"),
        ("asked", "answers"),
        ("left", "more"),
    ],
)
def test_changed_docstrings_and_comments_keep_the_hash(old: str, new: str) -> None:
    assert search_runs.bare_code(CODE.replace(old, new)) == search_runs.bare_code(CODE)


@pytest.mark.parametrize(
    ("old", "new"), [("0.5", "0.6"), ("* LIMIT", "+ LIMIT"), ("[count", "[-count"), ("< 0", "< 1"), ("Value", "Type")]
)
def test_other_code_has_another_hash(old: str, new: str) -> None:
    assert search_runs.bare_code(CODE.replace(old, new)) != search_runs.bare_code(CODE)


def test_runs_of_another_recording_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((search_runs.RUNS / FIRST.name / "random.json").read_text())
    content["made_with"]["recording"] = "another"
    (tmp_path / FIRST.name).mkdir()
    (tmp_path / FIRST.name / "random.json").write_text(json.dumps(content))
    monkeypatch.setattr(search_runs, "RUNS", tmp_path)

    with pytest.raises(SystemExit, match="was made with another recording"):
        search_runs.stored("random")


def test_the_table_covers_the_whole_grid() -> None:
    assert len(recorded_table().losses) == 360
    assert np.isfinite(recorded_table().losses).all()


@dataclass(frozen=True)
class SmallerRecords(Grid):
    """The first grid's numbers, as if they were of another record size."""

    @property
    def file(self) -> Path:
        return FIRST.file


def test_a_strategy_on_another_grid_gets_its_record_size_and_answers() -> None:
    asked_at = []

    def notes_the_size(study: Study, case: str, _seed: int) -> Asking:
        asked_at.append((case, study.cases))
        while True:
            yield [study.baseline_configuration()]

    assert len(SmallerRecords("1024", "no brokers").answers(notes_the_size, 0, budget=3)) == 3
    assert asked_at == [("1024", ["1024"])]


def test_an_incomplete_recording_is_refused(tmp_path: Path) -> None:
    begun = tmp_path / "grid_1024.csv"
    begun.write_text("".join(FIRST.file.read_text().splitlines(keepends=True)[:31]))

    class Begun(Grid):
        @property
        def file(self) -> Path:
            return begun

    with pytest.raises(SystemExit, match=r"holds 30 of 1,800 repetitions; .*record_grid"):
        Begun("1024", "interrupted").table()
