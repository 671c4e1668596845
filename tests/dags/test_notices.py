"""Notices to people: their receivers, and that a failed notice never harms a run."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import Context

from kafka_pareto_airflow.approval import NO_BREAK_SPACE, as_code
from kafka_pareto_airflow.notify.notices import VARIABLE, FailureNotifier, Message, Notifier, StepNotifier, receivers

pytestmark = pytest.mark.fast


class Told(Notifier):
    """A notifier with a message."""

    def message(self, _context: Context) -> Message:
        return Message("quick:\nBcc: eve@example.org", "two\nlines")


class Broken(Notifier):
    """A notifier that cannot make its message."""

    def message(self, _context: Context) -> Message:
        raise LookupError("the database is away")


class Manifests:
    """Stand-in for the task instance: the second of a mapped task, with its manifest."""

    map_index = 1

    def __init__(self, manifest: dict[str, Any] | None) -> None:
        self._manifest = manifest

    def xcom_pull(self, *, key: str, map_indexes: int | None = None) -> Any:
        assert key == "manifest"
        of_all = [{"notice": {"subject": "of another", "text": "of another"}}, self._manifest]
        return of_all if map_indexes is None else of_all[map_indexes]  # as Airflow does


def test_without_a_setting_the_notice_is_in_the_tasks_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    Told()({})
    assert "quick: Bcc: eve@example.org\ntwo\nlines" in capsys.readouterr().out


def test_several_receivers_are_parted_by_commas() -> None:
    assert receivers({VARIABLE: "log, smtp:ops@example.org,,slack:team"}) == [
        "log",
        "smtp:ops@example.org",
        "slack:team",
    ]


@pytest.mark.parametrize(
    "receiver", ["LOG", "smtp", "smtp:ops", "smtp:Ops <ops@example.org>", "slack:", "slack:a/b", "mail:ops@example.org"]
)
def test_an_invalid_receiver_is_named_with_the_variable_and_the_rule_and_the_others_are_notified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], receiver: str
) -> None:
    monkeypatch.setenv(VARIABLE, f"{receiver},log")
    Told()({})
    said = capsys.readouterr().out
    assert f"{VARIABLE}: {receiver!r}: must be log, smtp:<address> or slack:<connection>" in said
    assert "two\nlines" in said


def test_a_receiver_that_cannot_be_reached_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = '{"conn_type": "smtp", "host": "127.0.0.1", "port": 1, "extra": {"disable_ssl": true}}'
    monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", nobody)
    monkeypatch.setenv(VARIABLE, "smtp:ops@example.org,slack:unknown_connection")
    Told()({})
    said = capsys.readouterr().out
    assert "was not sent to smtp:ops@example.org: [Errno 111] Connection refused" in said
    assert "was not sent to slack:unknown_connection: The conn_id `unknown_connection` isn't defined" in said


def test_a_notice_that_cannot_be_made_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Broken()({})
    assert "the notice could not be created: the database is away" in capsys.readouterr().out


@pytest.mark.parametrize(
    "manifest",
    [None, {}, {"notice": None}, {"notice": {"subject": "a", "text": "b"}, "cases": [], "question": {"action": "ask"}}],
)
def test_no_notice_is_sent_for_a_step_without_one_or_with_a_question(
    manifest: dict[str, Any] | None,
) -> None:
    context: Any = {"ti": Manifests(manifest)}
    assert StepNotifier().message(context) is None


def test_a_run_that_failed_without_a_task_is_also_announced() -> None:
    class Failed:
        dag_id = "tune_producer"

    context: Any = {"dag": Failed(), "run_id": "r1"}
    message = FailureNotifier().message(context)
    assert message.subject == "tune_producer failed"
    assert message.text.endswith("/dags/tune_producer/runs/r1")


def test_nothing_in_the_cards_ends_their_code_block() -> None:
    shown = as_code("a  b\n\n```\n# `c\n").replace(NO_BREAK_SPACE, "_")
    assert shown.split("\\\n") == ["` a__b `", "` ____ `", "```` ```_ ````", "`` #_`c ``"]
