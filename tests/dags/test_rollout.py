"""From the report to active settings on a real Airflow: question, answer, notice; only the steps are stand-ins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.dags.receivers import WEBHOOK_SECRET, body_of
from tests.dags.serving import Served, soon

pytestmark = [pytest.mark.studies, pytest.mark.timeout(600)]

RUN = "asked"
MOVES = "settings_in_force"
REASON = "{{ 1 + 1 }} \"quoted\" 'twice'\n--consent $(id)"
RECOMMENDED = {
    "verdict": "recommended",
    "configuration_id": "c0123456789",
    "properties": {"acks": "1"},
    "baseline_properties": {"acks": "all"},
    "reference_properties": {"acks": "all"},
    "pick_configuration_id": "c0123456789",
    "pick_properties": {"acks": "1"},
    "in_force_version": None,
    "reasons": [],
}
EVENT = {"study": "paper", "campaign": RUN, "cases": {"1024": RECOMMENDED}}


def run_that_asks(airflow: Served, campaign: str, number: int = 0) -> str:
    """The id of the run that asks about the campaign, once there is one; the first, unless another number is given."""

    def found() -> list[str]:
        runs = airflow.ask("GET", f"dags/{MOVES}/dagRuns?order_by=run_after&limit=100")["dag_runs"]
        asking = [run for run in runs if run["conf"].get("action") == "ask" and run["conf"]["campaign"] == campaign]
        return [str(run["dag_run_id"]) for run in asking]

    soon("a person is asked", lambda: len(found()) > number)
    return found()[number]


def question_of(run: str) -> str:
    return f"dags/{MOVES}/dagRuns/{run}/taskInstances/approve"


def question(airflow: Served, run: str) -> dict[str, Any]:
    """What the approval asks, once it does; and a person is slower than Airflow, which takes less for a failure."""
    soon("the approval waits", lambda: airflow.ask("GET", question_of(run))["state"] == "awaiting_input")
    number = airflow.ask("GET", question_of(run))["try_number"]
    let_go = f"executor event with state success for task instance TaskInstanceKey(dag_id='{MOVES}', "
    let_go += f"task_id='approve', run_id='{run}', try_number={number},"
    soon("its process is gone", lambda: let_go in (airflow.stack.logs / "scheduler.log").read_text())
    return airflow.ask("GET", f"{question_of(run)}/-1/hitlDetails")


def answer(airflow: Served, run: str, chosen: str, reason: str) -> None:
    given = {"chosen_options": [chosen], "params_input": {"reason": reason}}
    airflow.ask("PATCH", f"{question_of(run)}/-1/hitlDetails", given)


def approved(airflow: Served, run: str) -> None:
    """The recommendation has its approval, unless it has had its answer before."""
    if airflow.ask("GET", question_of(run))["state"] == "awaiting_input":
        answer(airflow, run, "Approve", REASON)
    assert airflow.ended(MOVES, run) == "success"


def shown(asked: dict[str, Any]) -> list[str]:
    """The lines of the question as a person reads them."""
    return [line.strip("` ") for line in asked["body"].replace("\N{NO-BREAK SPACE}", " ").split("\\\n")]


def moves_of(airflow: Served, step: str, request: str) -> list[dict[str, str]]:
    """The arguments with which this step moved settings, for requests with this prefix."""
    return [
        options for name, options in airflow.noted("moves") if name == step and options["request"].startswith(request)
    ]


@pytest.fixture(scope="module")
def run(airflow: Served) -> Iterator[str]:
    """The run that asks about a campaign whose recommendation waits for a person."""
    airflow.trigger("tune_producer", RUN, {"study": "paper", "campaign": RUN, "approval": True})
    assert airflow.ended("tune_producer", RUN) == "success"
    asking = run_that_asks(airflow, RUN)
    question(airflow, asking)
    yield asking
    approved(airflow, asking)


@pytest.fixture(scope="module")
def asked(airflow: Served, run: str) -> dict[str, Any]:
    """Return the question that this person sees."""
    return airflow.ask("GET", f"{question_of(run)}/-1/hitlDetails")


def test_the_cards_are_the_question_and_nothing_in_them_acts(asked: dict[str, Any]) -> None:
    assert asked["subject"] == "paper, campaign asked: new settings recommended for 1,024 B (acks 1; c0123456789)"
    assert asked["options"] == ["Approve", "Reject"]
    assert list(asked["params"]) == ["reason"]
    lines = asked["body"].replace("\N{NO-BREAK SPACE}", " ").split("\\\n")
    assert [line.split(maxsplit=1)[0] for line in lines[-3:]] == ["`", "````", "`"]  # each is code
    assert shown(asked)[-3:] == ["THE CARDS", "", "# <script>alert(1)</script> {{ 1 + 1 }}"]


def test_the_question_shows_the_overrides_of_approving(asked: dict[str, Any]) -> None:
    overrides, changed, warning, *_ = shown(asked)
    assert overrides.startswith("1,024 B: approving replaces ")  # settings activated by other tests, if any
    assert changed.startswith("Changed: acks all -> 1")
    assert warning == "WARNING: weaker durability guarantee: acks_1 instead of acks_all_idempotent."


@pytest.fixture(scope="module")
def upgraded(airflow: Served, run: str) -> str:
    """A campaign that nobody was to be asked about, ended while that question is open, of an upgraded cluster."""
    del run
    airflow.trigger("tune_producer", "upgraded", {"study": "paper", "campaign": "upgraded"})
    assert airflow.ended("tune_producer", "upgraded") == "success"
    return "upgraded"


@pytest.mark.usefixtures("upgraded")
def test_an_open_question_blocks_neither_a_later_campaign_nor_a_move_nor_the_cluster(airflow: Served, run: str) -> None:
    airflow.trigger(MOVES, "meanwhile", {"action": "roll_back", "study": "paper", "case": "1024"})
    assert airflow.ended(MOVES, "meanwhile") == "success"
    waiting = airflow.ask("GET", question_of(run))
    assert (waiting["state"], waiting["pool"]) == ("awaiting_input", "default_pool")


@pytest.mark.usefixtures("run")
def test_the_reports_log_ends_with_the_cards_before_airflows_own_lines(airflow: Served) -> None:
    log = airflow.log("tune_producer", RUN, "report")
    assert log[log.index("::group::Post Execute") - 1] == "THE CARDS"


def test_people_are_notified_of_the_end_and_the_question_and_text_of_a_study_is_inert(
    airflow: Served, run: str
) -> None:
    starts = (f"paper: new settings of {RUN}", f"paper, campaign {RUN}: ")
    finished, waits = (next(mail for mail in airflow.mails if mail["Subject"].startswith(start)) for start in starts)
    assert (finished["Subject"], finished["To"]) == (starts[0], "ops@example.org")
    assert body_of(finished) == "<pre>&lt;!channel&gt; &lt;b&gt;bold&lt;/b&gt; {{ 1 + 1 }} &amp; more</pre>"
    address = f"{airflow.stack.airflow_url}/dags/{MOVES}/runs/{run}/tasks/approve/required_actions?map_index=-1"
    assert address in body_of(waits)
    said = [post["text"] for post in airflow.posts]
    assert "paper: new settings of asked\n&lt;!channel&gt; &lt;b&gt;bold&lt;/b&gt; {{ 1 + 1 }} &amp; more" in said
    assert any(text.startswith(waits["Subject"]) and text.endswith(address) for text in said)
    logs = [path.read_text() for path in airflow.stack.state.rglob("*.log")]
    assert not any(WEBHOOK_SECRET in text for text in logs)


@pytest.mark.usefixtures("run")
def test_another_dag_reacts_to_the_recommendation(airflow: Served) -> None:
    found = ["kafka_producer_recommendation", EVENT]
    soon("it has reacted", lambda: found in airflow.noted("reactions"))


def test_approved_settings_become_active_with_the_persons_name_and_words_unchanged(airflow: Served, run: str) -> None:
    approved(airflow, run)
    assert moves_of(airflow, "accept", RUN) == [
        {"study": "paper", "campaign": RUN, "ask": "", "request": RUN, "cluster": ""}
    ]
    [options] = moves_of(airflow, "accept", run)[:1]
    at, asked_at = options["answered-at"], options["asked-at"]
    said = {"answer": "approve", "by": "admin", "reason": REASON}
    assert re.fullmatch(r"1024=\d+", options["seen"])  # settings activated by other tests before the question
    times = {"answered-at": at, "asked-at": asked_at, "seen": options["seen"], "request": f"{run} {at}"}
    assert options == {"study": "paper", "campaign": RUN, **said, **times, "cluster": ""}
    assert datetime.fromisoformat(asked_at) < datetime.fromisoformat(at) <= datetime.now(UTC)
    version = {"version": 1, "campaign": RUN}
    moved = ["kafka_producer_settings_in_force", {"study": "paper", "cases": {"1024": version}}]
    soon("it has reacted", lambda: moved in airflow.noted("reactions"))


def test_a_question_that_is_cleared_is_asked_again_and_a_rejection_moves_nothing_and_is_kept(
    airflow: Served, run: str
) -> None:
    approved(airflow, run)
    accepted = f"assets/events?source_dag_id={MOVES}&source_run_id={run}&source_task_id=accept"
    events = airflow.ask("GET", accepted)["total_entries"]
    cleared = {"dag_run_id": run, "task_ids": ["approve"], "include_downstream": True, "only_failed": False}
    airflow.ask("POST", f"dags/{MOVES}/clearTaskInstances", {**cleared, "dry_run": False, "reset_dag_runs": True})
    question(airflow, run)
    answer(airflow, run, "Reject", "too late in the year " * 40)
    assert airflow.ended(MOVES, run) == "success"
    first, *_, options = moves_of(airflow, "accept", run)
    assert (options["answer"], options["by"]) == ("reject", "admin")
    assert options["request"] != first["request"]
    assert options["reason"] == ("too late in the year " * 40)[:500]
    assert airflow.ask("GET", accepted)["total_entries"] == events


@pytest.mark.long
def test_a_change_of_the_cluster_is_asked_about_by_a_run_that_shows_it_and_so_is_one_unseen(
    airflow: Served, upgraded: str
) -> None:
    run = run_that_asks(airflow, upgraded)
    assert run.endswith("__0123456789")  # a further change would be another question
    asked = question(airflow, run)
    warning = "WARNING: the system has changed since the measurement: fingerprint.kafka_version: 4.3.1 then, 4.4.0 now"
    assert warning in shown(asked)
    answer(airflow, run, "Approve", "")
    assert airflow.ended(MOVES, run) == "success"
    [options] = moves_of(airflow, "accept", run)
    assert (options["answer"], options["changes-seen"]) == ("approve", "0123456789")

    airflow.trigger(MOVES, "unseen", {"action": "accept", "study": "paper", "campaign": upgraded})
    assert airflow.ended(MOVES, "unseen") == "success"
    run = run_that_asks(airflow, upgraded, 1)
    question(airflow, run)
    answer(airflow, run, "Reject", "")
    assert airflow.ended(MOVES, run) == "success"


def test_a_users_pick_becomes_active_in_their_name(airflow: Served) -> None:
    picked = {"study": "paper", "campaign": "c1", "case": "1024", "configuration": "c0123456789"}
    airflow.trigger(MOVES, "picked", {"action": "accept", **picked, "reason": REASON})
    assert airflow.ended(MOVES, "picked") == "success"
    [options] = moves_of(airflow, "accept", "picked")
    assert datetime.fromisoformat(options.pop("answered-at")).tzinfo
    assert datetime.fromisoformat(options.pop("asked-at")).tzinfo
    said = {"answer": "approve", "by": "admin", "reason": REASON, "request": "picked", "cluster": ""}
    what = {"study": "paper", "campaign": "c1", "case": "1024", "configuration": "c0123456789"}
    assert options == {**what, **said}


def test_the_rollback_is_requested_by_record_size_alone_and_a_retry_is_recognized(airflow: Served) -> None:
    what = {"study": "paper", "campaign": "", "case": "1024", "configuration": "", "reason": "--by=eve"}
    airflow.trigger(MOVES, "back", {"action": "roll_back", **what})
    assert airflow.ended(MOVES, "back") == "success"
    said = {"by": "admin", "reason": "--by=eve", "request": "back", "cluster": ""}
    assert moves_of(airflow, "roll_back", "back") == [{"study": "paper", "case": "1024", **said}]


def test_people_are_notified_of_a_failed_run(airflow: Served) -> None:
    picked = {"study": "paper", "campaign": "c1", "case": "1024", "configuration": "c0000000bad"}
    airflow.trigger(MOVES, "refused", {"action": "accept", **picked})
    assert airflow.ended(MOVES, "refused") == "failed"
    address = f"{airflow.stack.airflow_url}/dags/{MOVES}/runs/refused"
    soon("the mail is there", lambda: any(address in body_of(mail) for mail in airflow.mails))
    subject = "settings_in_force failed"
    soon("Slack has it", lambda: any(post["text"].startswith(f"{subject}\n") for post in airflow.posts))
