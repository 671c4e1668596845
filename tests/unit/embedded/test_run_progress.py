"""How far a campaign is, and how that is shown."""

from __future__ import annotations

import io
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Plan, Proposal, RoundsSoFar, Stop
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, encode_table
from kafka_pareto.campaign.time_left import TimeLeft
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.measurement.cost import plan_campaign
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.sections import Rounds
from kafka_pareto.study.study_file import dump_study, parse_study
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.runs.progress import CampaignProgress, Progress, TaskProgress
from kafka_pareto_embedded.terminal.display import (
    LineDisplay,
    duration,
    lines_of,
    open_display,
    time_left_text,
)
from tests.recorded import paper_study
from tests.unit.deciding import decided

pytestmark = pytest.mark.fast

KEYS = CampaignKeys("paper", "c")
IN_DESIGN = 3 * 4
PLANNED = 2 * (IN_DESIGN + 2 * 1 + 2 * 2)


def task(step: str, state: str = "running", map_index: int = -1, try_number: int = 1) -> TaskRun:
    if state == "waiting":
        return TaskRun(step, map_index, state, 0, None, None)
    began = datetime(2026, 11, 21, tzinfo=UTC)
    return TaskRun(step, map_index, state, try_number, began, began + timedelta(seconds=75))


def drawn(progress: Progress, width: int = 100) -> str:
    """The text of a terminal without colors."""
    output = io.StringIO()
    console = Console(
        file=output, force_terminal=True, no_color=True, width=width, height=24, _environ={"TERM": "xterm"}
    )
    with open_display(console) as display:
        display.show(progress)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.getvalue())


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path)
    paper = paper_study()
    protocol = {"order": "blocks", "repetitions": 4, "minimum_valid_repetitions": 2}
    changes = {
        "record_sizes_bytes": [1024, 8192],
        "design": paper.design.model_copy(update={"configurations": 2}),
        "protocol": paper.protocol.model_copy(update=protocol),
        "confirmation": paper.confirmation.model_copy(update={"points": 1, "choice_blocks": 1, "gain_blocks": 2}),
    }
    study = paper.model_copy(update=changes)
    store.put(KEYS.frozen_study(), dump_study(study).encode())
    store.put(KEYS.plan(), plan_campaign(study, ProducerRuntime()).model_dump_json().encode())
    store.put(KEYS.design(), encode_table(design_table(study), DESIGN_COLUMNS, study))
    return store


def stored(folder: Path, key: str, at: datetime) -> None:
    """Stores a repetition at this time."""
    FolderStore(folder).put(key, b"{}")
    os.utime(folder / key, (at.timestamp(), at.timestamp()))


def measured(store: FolderStore, case: str, repetitions: range) -> None:
    for number in repetitions:
        store.put(f"{KEYS.measurements(case)}b{number:03d}.json", b"{}")


@pytest.mark.parametrize(("state", "is_shown"), [("success", False), ("running", False), ("failed", True)])
def test_the_start_of_load_machines_is_shown_only_if_it_failed(store: FolderStore, state: str, is_shown: bool) -> None:
    tasks = [task("design", "success"), task("start_load_machines", state), task("measure", map_index=0)]
    rows = CampaignProgress(store, KEYS).at("running", tasks, 1.0).rows
    shown = [row.step for row in rows]
    assert shown == ["design", *(["start_load_machines"] if is_shown else []), "measure"]


def test_counts_the_repetitions_in_the_store_by_step_and_record_size(store: FolderStore) -> None:
    measured(store, "1024", range(5))
    measured(store, "8192", range(2))
    store.put(KEYS.confirmation("8192", "repetitions/b000.json"), b"{}")
    store.put(KEYS.confirmation("8192", "decision.json"), b"{}")
    tasks = [task("confirm", map_index=1), task("measure", map_index=1), task("measure", map_index=0), task("design")]
    progress = CampaignProgress(store, KEYS).at("running", tasks, 10.0)
    assert [(row.name, row.repetitions) for row in progress.rows] == [
        ("design", None),
        ("measure (1,024 B)", 5),
        ("measure (8,192 B)", 2),
        ("confirm (8,192 B)", 1),
    ]
    assert (progress.repetitions, progress.repetitions_most) == (8, PLANNED)


def test_values_of_the_plan_that_override_the_studys_file_are_shown(store: FolderStore) -> None:
    assert CampaignProgress(store, KEYS).at("running", [task("design")], 1.0).overrides == ""
    plan = decode_record(store.get(KEYS.plan()), KEYS.plan(), Plan)
    override = Override(key="protocol.cool_down_s", of_file=5.0, of_campaign=0.0)
    store.put(KEYS.plan(), plan.model_copy(update={"overrides": [override]}).model_dump_json().encode())
    told = CampaignProgress(store, KEYS).at("running", [task("design")], 1.0).overrides
    assert told == "protocol.cool_down_s 0 (file: 5)"


def test_the_time_left_begins_as_planned_and_adapts_to_this_runs_speed(store: FolderStore, tmp_path: Path) -> None:
    now = datetime(2026, 11, 27, tzinfo=UTC)
    campaign = CampaignProgress(store, KEYS, lambda: now)
    tasks = [task("measure", map_index=0)]
    planned = campaign.at("running", tasks, 0.0).time_left
    assert planned is not None
    for number in range(IN_DESIGN):
        now += timedelta(seconds=20)
        stored(tmp_path, f"{KEYS.measurements('1024')}b{number:03d}.json", now)
    slow = campaign.at("running", tasks, 20.0 * IN_DESIGN).time_left
    assert slow is not None
    assert slow.likely_s > planned.likely_s  # though a third is done
    assert slow.low_s < slow.likely_s < slow.high_s


def test_time_is_left_until_the_run_ends_and_none_while_it_waits(store: FolderStore, tmp_path: Path) -> None:
    now = datetime(2026, 11, 27, tzinfo=UTC)
    for case in ("1024", "8192"):
        for number in range(IN_DESIGN):
            stored(tmp_path, f"{KEYS.measurements(case)}b{number:03d}.json", now)
        stored(tmp_path, KEYS.confirmation(case, "repetitions/b000.json"), now)
    done = [task(step, "success", map_index=at) for step in ("measure", "confirm") for at in (0, 1)]
    campaign = CampaignProgress(store, KEYS, lambda: now)
    reporting = campaign.at("running", [*done, task("report")], 100.0)
    assert reporting.time_left is not None
    assert reporting.repetitions_likely == reporting.repetitions
    assert re.search(
        rf"^{reporting.repetitions} repetitions done, (about \d+ s|a few seconds) left", drawn(reporting), re.M
    )
    assert campaign.at("success", done, 130.0).time_left is None
    assert campaign.at("queued", done, 130.0).time_left is None


@pytest.mark.parametrize(
    ("likely_s", "words"),
    [
        (3.0, "a few seconds left"),
        (33.0, "about 35 s left"),
        (60.0, "about 1 min left"),
        (500.0, "about 8 min left (6 to 12 min)"),
        (9_000.0, "about 2.5 h left (1.8 to 3.5 h)"),
    ],
)
def test_the_time_left_is_reported_with_its_range(likely_s: float, words: str) -> None:
    assert time_left_text(TimeLeft(likely_s, likely_s / 1.4, likely_s * 1.4)) == words


def test_repetitions_skipped_by_finished_tasks_are_no_longer_planned(store: FolderStore) -> None:
    """Adaptive trials that stopped early, and a confirmation that needed no gain blocks."""
    campaign = CampaignProgress(store, KEYS)
    measured(store, "1024", range(IN_DESIGN - 5))
    running = [task("measure", map_index=0), task("measure", "scheduled", map_index=1)]
    assert campaign.at("running", running, 1.0).repetitions_most == PLANNED

    running = [task("measure", "success", map_index=0), task("measure", map_index=1)]
    assert campaign.at("running", running, 2.0).repetitions_most == PLANNED - 5

    measured(store, "8192", range(IN_DESIGN))
    for case in ("1024", "8192"):
        store.put(KEYS.confirmation(case, "repetitions/b000.json"), b"{}")
    done = [task(step, "success", map_index=at) for step in ("measure", "confirm") for at in (0, 1)]
    progress = campaign.at("success", done, 3.0)
    assert progress.repetitions == progress.repetitions_most == 2 * IN_DESIGN - 5 + 2
    assert f"{progress.repetitions} repetitions done, 3 s so far" in drawn(progress)


def test_the_rows_of_a_round_cover_the_continuing_record_sizes_and_skipped_ones_are_no_longer_planned(
    store: FolderStore,
) -> None:
    study = parse_study(store.get(KEYS.frozen_study()).decode(), "study.yaml")
    rounds = Rounds(maximum=2, configurations=1)
    study = study.model_copy(update={"strategy": "rounds", "rounds": rounds})
    store.put(KEYS.frozen_study(), dump_study(study).encode())
    store.put(KEYS.plan(), plan_campaign(study, ProducerRuntime()).model_dump_json().encode())
    most_of_a_round = (1 + 1) * 4
    campaign = CampaignProgress(store, KEYS)
    unbegun = [task(f"round_{number}.{step}", "waiting") for number in (1, 2) for step in ("propose", "measure")]
    designed = campaign.at("running", [task("design", "success"), *unbegun], 1.0)
    assert [row.name for row in designed.rows] == ["design"]
    assert designed.repetitions_most == PLANNED + 2 * 2 * most_of_a_round

    stopped = RoundsSoFar(case="1024", measured_hypervolume=[0.1], stopped_because=Stop(code="nothing_left"))
    goes_on = RoundsSoFar(case="8192", measured_hypervolume=[0.1])
    store.put(KEYS.proposal(1), Proposal(round=1, cases=[stopped, goes_on]).model_dump_json().encode())
    store.put(f"{KEYS.measurements('8192', 1)}b000.json", b"{}")
    first = [task("round_1.propose", "success"), task("round_1.measure", map_index=0)]
    measuring = campaign.at("running", [task("confirm", "waiting"), *first, *unbegun[2:]], 2.0)
    assert [row.name for row in measuring.rows] == ["round 1 propose", "round 1 measure (8,192 B)", "confirm"]
    assert measuring.rows[1].repetitions == 1
    assert measuring.repetitions_most == PLANNED + 3 * most_of_a_round

    last = [task("round_1.measure", "success", map_index=0), task("round_2.propose", "skipped")]
    done = campaign.at("running", [first[0], *last, task("round_2.measure", "skipped")], 3.0)
    assert [row.name for row in done.rows] == ["round 1 propose", "round 1 measure (8,192 B)"]
    assert done.repetitions_most == PLANNED + 1


class CountedStore(FolderStore):
    """Remembers how often it was asked for keys."""

    listings = 0

    def keys(self, prefix: str) -> list[str]:
        self.listings += 1
        return super().keys(prefix)


def test_the_store_is_listed_every_five_seconds_for_running_tasks_and_when_a_task_changes(
    store: FolderStore, tmp_path: Path
) -> None:
    counted = CountedStore(tmp_path)
    campaign = CampaignProgress(counted, KEYS)
    tasks = [task("measure", map_index=0), task("measure", "scheduled", map_index=1)]
    for second in range(10):
        campaign.at("running", tasks, float(second))
    assert counted.listings == 3  # each once, and the running one again after five seconds
    measured(store, "1024", range(4))
    ended = campaign.at("running", [task("measure", "success", map_index=0), tasks[1]], 9.5)
    assert (counted.listings, ended.repetitions) == (4, 4)


def test_before_the_design_there_is_no_plan_and_no_time_left(tmp_path: Path) -> None:
    progress = CampaignProgress(FolderStore(tmp_path), KEYS).at("running", [task("design"), task("measure")], 3.0)
    assert (progress.repetitions_most, progress.repetitions_likely, progress.time_left) == (None, None, None)
    assert [row.name for row in progress.rows] == ["design", "measure"]


def test_a_confirmed_record_sizes_decision_is_shown_once_as_soon_as_its_task_ends(store: FolderStore) -> None:
    lines, table = io.StringIO(), io.StringIO()
    campaign = CampaignProgress(store, KEYS)
    terminal = Console(file=table, force_terminal=True, no_color=True, width=120, _environ={"TERM": "xterm"})
    with open_display(Console(file=lines)) as plain, open_display(terminal) as live:
        for second, states in enumerate((("running", "queued"), ("success", "running"), ("success", "success"))):
            if second == 1:
                key = KEYS.confirmation("8192", "decision.json")
                store.put(key, decided(50, 30).model_dump_json().encode())
            tasks = [task("confirm", state, 1 - at) for at, state in enumerate(states)]
            progress = campaign.at("running", tasks, float(second))
            plain.show(progress)
            live.show(progress)
    shown = [line for line in lines.getvalue().splitlines() if "confirm" in line]
    changed = "confirm (8,192 B): change, throughput +50 % [+44, +57], p95 latency -50 % [-52, -48]"
    assert shown == [
        "[     0 s] confirm (8,192 B): running",
        "[     1 s] confirm (1,024 B): running",
        f"[     1 s] {changed}",
        "[     2 s] confirm (1,024 B): done",  # without a readable decision
    ]
    assert table.getvalue().count(changed) == 1


@pytest.mark.slow
def test_without_a_terminal_there_is_one_plain_line_for_each_change_and_counts_at_most_every_ten_seconds(
    store: FolderStore,
) -> None:
    output = io.StringIO()
    campaign = CampaignProgress(store, KEYS)
    with open_display(Console(file=output)) as display:
        for second in range(25):
            measured(store, "1024", range(second // 2))
            state = "running" if second < 24 else "success"
            display.show(campaign.at("running", [task("measure", state, map_index=0, try_number=2)], float(second)))
    lines = output.getvalue().splitlines()
    assert lines[0] == "[     0 s] measure (1,024 B): running, try 2"
    assert lines[1].startswith("[     0 s] 0 of 36 repetitions, about ")
    assert lines[2].startswith("[    10 s] 5 of 36 repetitions, about ")
    assert lines[3].startswith("[    20 s] 10 of 36 repetitions, about ")
    assert lines[4] == "[    24 s] measure (1,024 B): done"
    assert len(lines) == 5
    assert "\x1b" not in output.getvalue()


def test_a_run_without_a_time_left_is_reported_once() -> None:
    output = io.StringIO()
    with open_display(Console(file=output)) as display:
        for second in range(0, 600, 5):
            display.show(Progress("running", (), 30, 210, 415, float(second), None))
    assert output.getvalue().splitlines() == ["[     0 s] 30 of about 210 repetitions (at most 415)"]


def test_the_likely_time_precedes_the_maximum_and_is_shown_while_nothing_is_measured() -> None:
    output = io.StringIO()
    with open_display(Console(file=output)) as display:
        for second in range(0, 70, 5):
            left = TimeLeft(500.0 - second, 400.0, 700.0)
            display.show(Progress("running", (), 0 if second < 5 else 30, 210, 415, float(second), left))
    assert output.getvalue().splitlines() == [
        "[     0 s] 0 of about 210 repetitions (at most 415), about 8 min left (7 to 12 min)",
        "[    10 s] 30 of about 210 repetitions (at most 415), about 8 min left (7 to 12 min)",
        "[    40 s] 30 of about 210 repetitions (at most 415), about 8 min left (7 to 12 min)",
    ]


def test_without_a_terminal_a_queued_run_is_reported_once(store: FolderStore) -> None:
    output = io.StringIO()
    campaign = CampaignProgress(store, KEYS)
    with open_display(Console(file=output)) as display:
        for second in range(20):
            display.show(campaign.at("queued", [task("design", "waiting")], float(second)))
    assert output.getvalue() == "[     6 s] waiting for an earlier run\n"


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_steps_record_sizes_repetitions_and_times(store: FolderStore, width: int) -> None:
    measured(store, "8192", range(7))
    tasks = [task("design", "success"), task("measure", map_index=1), task("validate", "waiting")]
    shown = drawn(CampaignProgress(store, KEYS).at("running", tasks, 80.0), width).splitlines()
    assert [line.split() for line in shown[:4]] == [
        ["step", "records", "state", "repetitions", "time"],
        ["design", "done", "1", "min", "15", "s"],
        ["measure", "8,192", "B", "running", "7", "1", "min", "15", "s"],
        ["then", "validate"],
    ]
    assert set(shown[5].strip()) <= set("━╸")
    assert re.fullmatch(r"7 of 36 repetitions, about \d min left \(\d to \d min\), 1 min 20 s so far *", shown[6])


def test_a_campaign_in_its_last_round_fits_a_terminal_of_24_lines(tmp_path: Path) -> None:
    sizes = range(5)
    steps = ("measure", "validate", "train", "optimize")
    ended = [task(f"{prefix}{step}", "success") for prefix in ("", "round_1.", "round_2.") for step in steps]
    ended += [task(f"{prefix}propose", "success") for prefix in ("round_1.", "round_2.", "round_3.")]
    now = [task("round_3.measure", "success", 0), task("round_3.measure", "running", 1)]
    now += [task("round_3.measure", "queued", index) for index in sizes[2:]]
    rest = [task(step, "waiting") for step in ("confirm", "report", "accept", "ask")]
    plan = CampaignProgress(FolderStore(tmp_path), KEYS)
    lines, to_come = lines_of(plan.at("running", [task("design", "success"), *ended, *now, *rest], 60.0).rows)
    assert [(line.step, line.state_text) for line in lines] == [
        ("design and first fit", "done"),
        ("round 1", "done"),
        ("round 2", "done"),
        ("round 3 propose", "done"),
        ("round 3 measure", "done"),
        ("round 3 measure", "running"),
    ]
    assert to_come == ["round 3 measure", "confirm", "report", "accept", "ask"]


def test_failed_tasks_are_not_hidden_among_others(store: FolderStore) -> None:
    tasks = [task("design", "success"), task("measure", "failed", 0), task("measure", "success", 1)]
    tasks += [task("confirm", "upstream_failed"), task("report", "upstream_failed")]
    lines, _ = lines_of(CampaignProgress(store, KEYS).at("failed", tasks, 60.0).rows)
    assert [(line.step, line.cases, line.state_text) for line in lines][1:3] == [
        ("measure", "1,024 B", "failed"),
        ("measure", "8,192 B", "done"),
    ]


def test_a_run_that_is_not_a_campaign_is_followed_by_its_tasks_and_their_labels() -> None:
    first = TaskRun("check", -1, "success", 1, datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC))
    mapped = TaskRun("check_measure", 0, "running", 1, datetime.now(UTC), None, "8192 B")
    tasks = [
        TaskRun("tune", -1, "waiting", 0, None, None),
        mapped,
        TaskRun("other", -1, "skipped", 0, None, None),
        first,
    ]
    progress = TaskProgress().at("running", tasks, 5.0)
    assert [row.name for row in progress.rows] == ["check", "check_measure (8,192 B)", "tune"]
    assert "5 s so far" in drawn(progress)
    assert "repetitions," not in drawn(progress)


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with open_display(Console(file=io.StringIO(), force_terminal=True)) as display:
        assert isinstance(display, LineDisplay)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7_500, "2 h 05 min")]
)
def test_durations_are_written_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
