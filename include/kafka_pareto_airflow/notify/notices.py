"""Send notices to people about finished steps, pending approvals and failed runs.

`KAFKA_PARETO_NOTIFY` names the receivers, separated by commas: `log` (the task's log; the default), `smtp:<address>`
(mail, by the Airflow connection `smtp_default`), `slack:<connection>` (an incoming webhook).
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from airflow.sdk import BaseNotifier, Context
from airflow.sdk.configuration import conf

from kafka_pareto.errors import BadInputError

VARIABLE = "KAFKA_PARETO_NOTIFY"
_ADDRESS = r"[^\s@,:<>]+@[^\s@,:<>]+"
_CONNECTION = r"[A-Za-z0-9_.-]+"


class Message(NamedTuple):
    """A notice as plain text, with a subject of one line."""

    subject: str
    text: str


class Notifier(BaseNotifier):
    """Send a message to all configured receivers; a failure to send never fails a task.

    A subclass builds the message from Airflow's context.
    """

    def message(self, context: Context) -> Message | None:
        """Return the message; None for no message."""
        raise NotImplementedError

    def notify(self, context: Context) -> None:
        """Send the message, if there is one."""
        try:
            message = self.message(context)
        except Exception as error:
            self.log.error("the notice could not be created: %s", error)
            return
        if message is None:
            return
        # A line break would end the email header.
        subject, text = " ".join(message.subject.split()), message.text
        for name in receivers(os.environ):
            try:
                self._send(name, Message(subject, text))
            except Exception as error:
                self.log.error("the notice %r was not sent to %s: %s", subject, name, error)

    def _send(self, receiver: str, message: Message) -> None:
        kind, _, target = receiver.partition(":")
        if receiver == "log":
            self.log.info("%s\n%s", *message)
        elif kind == "smtp" and re.fullmatch(_ADDRESS, target):
            _send_mail(target, message)
        elif kind == "slack" and re.fullmatch(_CONNECTION, target):
            _send_to_slack(target, message)
        else:
            raise BadInputError(
                f"{VARIABLE}: {receiver!r}: must be log, smtp:<address> or slack:<connection>, separated by commas; "
                "fix it in Airflow's environment"
            )


class StepNotifier(Notifier):
    """Send the notice in a step's manifest."""

    def message(self, context: Context) -> Message | None:
        """Return the manifest's notice; None for a question alone, which the asking task announces."""
        task = context["ti"]
        # Without the index, Airflow returns the manifests of all mapped instances.
        manifest = task.xcom_pull(key="manifest", map_indexes=task.map_index) or {}
        notice = manifest.get("notice")
        is_question = bool(manifest.get("question")) and not manifest["cases"]
        return Message(notice["subject"], notice["text"]) if notice and not is_question else None


class FailureNotifier(Notifier):
    """Notify people of a failed DAG run, with its address."""

    def message(self, context: Context) -> Message:
        """Return the run, its address and, if Airflow knows it, the task that ended last."""
        dag_id, run_id = context["dag"].dag_id, context["run_id"]
        last = f"Its last task was {context['ti'].task_id}. " if "ti" in context else ""
        return Message(
            f"{dag_id} failed",
            f"Run {run_id} failed. {last}The last lines of the failed task's log name the error and "
            f"the fix:\n{run_address(dag_id, run_id)}",
        )


def receivers(environment: Mapping[str, str]) -> list[str]:
    """Return the configured receivers."""
    named = [name.strip() for name in environment.get(VARIABLE, "").split(",")]
    return [name for name in named if name] or ["log"]


def run_address(dag_id: str, run_id: str) -> str:
    """Return the address of the run's page."""
    return f"{conf.get('api', 'base_url', fallback='').rstrip('/')}/dags/{dag_id}/runs/{run_id}"


def _send_mail(address: str, message: Message) -> None:
    """Send an email without the notifier's templates: text from studies and people is not Jinja or HTML."""
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 (few tasks send a notice)

    body = f"<pre>{html.escape(message.text)}</pre>"
    SmtpNotifier(to=address, subject=message.subject, html_content=body).notify({})


def _send_to_slack(connection: str, message: Message) -> None:
    """Send to Slack without templates; escaping prevents links and mentions in the text."""
    from airflow.providers.slack.notifications.slack_webhook import SlackWebhookNotifier  # noqa: PLC0415

    text = html.escape(f"{message.subject}\n{message.text}", quote=False)
    SlackWebhookNotifier(slack_webhook_conn_id=connection, text=text, unfurl_links=False, unfurl_media=False).notify({})
