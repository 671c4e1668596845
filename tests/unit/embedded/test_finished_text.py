"""The terminal's text when a campaign has ended."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.report.card_layout import card_text, cards_text
from kafka_pareto.report.cards import Cards
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.parts import Table
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.study_file import dump_study, load_study
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns
from kafka_pareto_embedded.runs.finished_text import finished_text, one_factor_command
from kafka_pareto_embedded.runs.run import run_campaign
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.as_typed import PREFIX
from tests.recorded import STUDIES, paper_study
from tests.unit.report.test_cards import context_of, recorded_decision

pytestmark = pytest.mark.fast

FIRST_SCREEN = [
    "size      decision  throughput [MiB/s], change %  p95 latency [ms], change %",
    "65,636 B  change    87.4 → 102, +16 [-6, +44]     131 → 59.4, -54 [-83, +24]",
    "1,024 B   keep      3.06 → 2.18, -29 [-41, -14]   26.6 → 72.5, +173 [+15, +547]",
    "",
    "65,636 B: CHANGE RECOMMENDED",
    "1,024 B: KEEP THE BASELINE: the pick makes something worse",
]
KEYS = CampaignKeys("paper", "c")


@pytest.fixture(autouse=True)
def _make_has_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}STUDY", "")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    weaker = recorded_decision("0")
    better = [gain.model_copy(update={"resolution": "better"}) for gain in weaker.gains]
    recommended = weaker.model_copy(update={"gains": better, "verdict": "recommended"})
    decisions = [recommended, recorded_decision("all", "1024")]
    cards = Cards(study="paper", campaign="c", cards=decisions, contexts=[context_of(one) for one in decisions])
    store = FolderStore(tmp_path / "store")
    store.put(KEYS.frozen_study(), dump_study(paper_study()).encode())
    store.put(KEYS.report("cards.json"), cards.model_dump_json().encode())
    store.put(KEYS.report("cards.txt"), cards_text(cards).encode())
    store.put(KEYS.report("report.html"), b"<html>report</html>")
    store.put(KEYS.validation("data_docs/index.html"), b"<html>docs</html>")
    return store


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    stack = Stack(tmp_path / "state", Ports(mlflow=9))  # nobody listens there: its own page is named
    stack.state.mkdir()
    write_credentials(stack.secrets_file, Credentials())
    return stack


def test_a_comparison_ends_with_the_explorers_page_of_comparisons_and_a_command_for_one_factor(
    tmp_path: Path, stack: Stack
) -> None:
    keys, store = CampaignKeys("impact_quick", "c"), FolderStore(tmp_path / "compared")
    store.put(keys.frozen_study(), (STUDIES / "impact_quick.yaml").read_bytes())
    store.put(keys.report("tables.txt"), b"acks, compared with acks 1, in 3 blocks\n")
    store.put(keys.report("report.html"), b"<html>report</html>")
    said = finished_text(stack, store, keys, "http://run", whole=True)
    assert said.startswith("acks, compared with acks 1, in 3 blocks\n\nExplorer")
    assert f" {stack.airflow_url}/kafka-pareto/comparisons#study=impact_quick&campaign=c\n" in said
    assert "\n  make run STUDY=impact_quick FACTOR=acks LEVELS=1,all  vary one factor, with your own levels\n" in said


@pytest.mark.parametrize(
    ("study", "factor", "levels", "said"),
    [
        ("topologies", "load", ["60% own", "500/s"], "FACTOR=load LEVELS='60% own,500/s'"),
        ("ingest", "resumable", [False, True], "FACTOR=resumable LEVELS=false,true"),
    ],
)
def test_levels_are_offered_as_a_shell_reads_them(study: str, factor: str, levels: list[str | bool], said: str) -> None:
    shipped = compare_study(load_study(STUDIES / f"{study}.yaml"))
    offered = shipped.model_copy(update={"variants": [], "tables": [Table(factor=factor, levels=levels)], "series": []})
    assert one_factor_command(offered) == f"make run STUDY={study} {said}"


@pytest.mark.slow
def test_the_explorers_view_of_this_campaign_is_the_first_address_and_commands_to_try_the_last(
    store: FolderStore, stack: Stack
) -> None:
    said = finished_text(stack, store, KEYS, "http://run", whole=True)
    assert said.startswith(cards_text(Cards.model_validate_json(store.get(KEYS.report("cards.json")))).rstrip())
    addresses = dict(line.split("  ", 1) for line in said.splitlines() if ":/" in line and not line.startswith(" "))
    assert next(iter(addresses)) == "Explorer"
    assert addresses["Explorer"].strip() == f"{stack.airflow_url}/kafka-pareto/#study=paper&campaign=c"
    report = stack.reports / "paper" / "c" / "report.html"
    assert addresses["Report"].strip() == report.as_uri()
    assert report.read_bytes() == b"<html>report</html>"
    assert addresses["Data Docs"].strip() == (report.parent / "data_docs/index.html").as_uri()
    assert f"\nLogins     {stack.logins}\n" in said
    assert str(stack.secrets_file) in stack.logins
    assert stack.credentials.mlflow_admin_password not in said
    closing = said[said.index("\nNext:") :].split()
    assert "STUDY=paper" in closing
    assert closing[closing.index("down") - 1 : closing.index("down") + 1] == ["make", "down"]


def test_the_first_screen_has_a_line_for_each_record_size_in_80_columns(store: FolderStore, stack: Stack) -> None:
    said = finished_text(stack, store, KEYS, "http://run")
    answer = said[: said.index("\n\nExplorer")]
    assert answer.splitlines() == FIRST_SCREEN
    assert max(map(len, FIRST_SCREEN)) <= 80
    assert len(said.splitlines()) <= 25


class EndedRuns(AirflowRuns):
    """A run of the campaign that has succeeded."""

    def __init__(self) -> None:
        pass

    def studies(self) -> list[str]:
        return [KEYS.study]

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return [("r", {"study": KEYS.study, "campaign": KEYS.campaign})]

    def address(self, run_id: str) -> str:
        return f"http://airflow/{run_id}"

    def state(self, run_id: str) -> str:  # noqa: ARG002
        return "success"

    def tasks(self, run_id: str) -> list[TaskRun]:  # noqa: ARG002
        return []


def test_a_report_that_cannot_be_written_does_not_look_like_a_failed_campaign(store: FolderStore, stack: Stack) -> None:
    stack.reports.touch()  # not a folder
    message = f"{stack.reports}/paper/c: Not a directory; the campaign succeeded: fix this, then print its result with "
    with pytest.raises(StackError, match=re.escape(f"{message}make run STUDY=paper CAMPAIGN=c")):
        run_campaign(stack, EndedRuns(), store, {"study": KEYS.study, "campaign": KEYS.campaign})


def test_commands_to_try_are_named_as_the_user_types_them(
    store: FolderStore, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    said = finished_text(stack, store, KEYS, "http://run")
    next_commands = said[said.index("\nNext:") :].splitlines()[2:]
    assert [line.split("  ")[1] for line in next_commands] == [
        "kafka-pareto active paper",
        "kafka-pareto retune paper",
        "kafka-pareto down",
    ]


def test_the_end_says_whether_the_settings_are_checked_on_a_schedule(store: FolderStore, stack: Stack) -> None:
    assert "whether they are still the best (not scheduled: set retune.schedule)" in finished_text(
        stack, store, KEYS, "http://run"
    )
    scheduled = paper_study().model_copy(update={"retune": Retune(schedule="@daily")})
    store.put(KEYS.frozen_study(), dump_study(scheduled).encode())
    assert "still the best (scheduled: @daily UTC)" in finished_text(stack, store, KEYS, "http://run")


def test_the_first_screen_of_a_single_case_ends_with_its_full_card_in_80_columns(
    store: FolderStore, stack: Stack
) -> None:
    cards = Cards.model_validate_json(store.get(KEYS.report("cards.json")))
    only = cards.model_copy(update={"cards": cards.cards[:1], "contexts": cards.contexts[:1]})
    store.put(KEYS.report("cards.json"), only.model_dump_json().encode())
    said = finished_text(stack, store, KEYS, "http://run")
    shown = said[: said.index("\n\nExplorer")].splitlines()
    card = card_text(only.cards[0], only.contexts[0], "c", 80).splitlines()
    assert [line.split() for line in shown[:5]] == [
        line.split() for line in (*FIRST_SCREEN[:2], "", FIRST_SCREEN[4], "")
    ]
    assert shown[5:] == card
    assert max(map(len, shown)) <= 80
    whole = card_text(only.cards[0], only.contexts[0], "c")
    assert " ".join(whole.replace("=", "").replace("-", "").split()) == (
        " ".join("\n".join(card).replace("=", "").replace("-", "").split())
    ), "nothing is left out"
