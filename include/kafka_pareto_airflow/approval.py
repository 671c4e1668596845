"""Request approval for a campaign's recommendations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.options import LONGEST_REASON
from kafka_pareto_airflow.notify.notices import Message, Notifier
from kafka_pareto_airflow.task_rules import RULES

if TYPE_CHECKING:  # importing these libraries would slow down DAG parsing, which every task does
    from kafka_pareto.decision.decision import Decision
    from kafka_pareto.rollout.versions import ActiveSettings

ASKED_KEY = "asked"
"""The XCom with the versions shown to the person and the time: `Asked`. It survives the wait."""
APPROVE, REJECT = "Approve", "Reject"
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


class Asked(TypedDict):
    """The versions that the person was shown (`<case>=<version>,…`, 0 for none), and when (ISO 8601)."""

    seen: str
    asked_at: str


class Answer(Asked):
    """The answer (approve, reject), its author, reason (may be empty) and time (ISO 8601)."""

    answer: str
    by: str
    reason: str
    at: str


class ApprovalNotifier(Notifier):
    """Notify people that an approval waits for an answer."""

    def message(self, context: Context) -> Message:
        """Return the question's subject and the address for the answer."""
        question = context["task"]
        address = question.generate_link_to_ui(task_instance=context["ti"])
        return Message(question.subject, f"No settings change until somebody answers:\n{address}")


class QuestionTrigger(TriggerDagRunOperator):
    """Start the run that requests approval, if the step `accept` requests it.

    A question has its own run, so that later campaigns and checks do not wait for the answer.
    """

    trigger_run_id: str | None

    def __init__(self, **kwargs: Any) -> None:
        # A retry does not ask again; a further change of the system is another question (`execute`). If no settings
        # were activated, `accept` skips the tasks that follow.
        run_id = "ask__{{ dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}"
        fixed = {"skip_when_already_exists": True, "trigger_rule": "none_failed_min_one_success", **RULES["ask"]}
        super().__init__(**{**kwargs, "trigger_run_id": run_id, **fixed})

    def execute(self, context: Context) -> None:
        """Start the run.

        Raises:
            AirflowSkipException: If no question is needed.
        """
        self.conf = context["ti"].xcom_pull(task_ids="accept", key="manifest").get("question")
        if not self.conf:
            raise AirflowSkipException("no question is needed")
        self.trigger_run_id = "__".join(filter(None, (self.trigger_run_id, self.conf.get("changes_seen"))))
        super().execute(context)


class CardApproval(HITLOperator):
    """Show the decision cards and the settings that an approval replaces, and wait without a time limit.

    The run's parameters name the campaign. A rejection skips no task: the next step stores the answer.
    """

    # The question contains text from artifacts, which must not be rendered as templates.
    template_fields: ClassVar[Collection[str]] = ()

    def __init__(self, *, cluster: str, **kwargs: Any) -> None:
        super().__init__(
            subject="Activate the recommended settings?",
            options=[APPROVE, REJECT],
            notifiers=ApprovalNotifier(),
            **kwargs,
        )
        self.cluster = cluster

    def execute(self, context: Context) -> Answer:
        """Ask for approval.

        Raises:
            AirflowFailException: If this cluster has no such campaign, or no recommendation awaits a decision.
        """
        try:
            self.subject, question, asked = _question(context["params"], self.cluster)
        except BadInputError as error:
            raise AirflowFailException(str(error)) from error
        self.body = as_code(question)
        context["ti"].xcom_push(ASKED_KEY, asked)
        answer: Answer = super().execute(context)
        return answer

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Answer:
        """Return the person's answer."""
        given = super().execute_complete(context, event)
        reason = (given["params_input"].get("reason") or "").replace("\0", "")
        # An answer covers the versions shown, however late it arrives.
        asked: Asked = context["ti"].xcom_pull(task_ids=self.task_id, key=ASKED_KEY)
        return Answer(
            answer=given["chosen_options"][0].lower(),
            by=given["responded_by_user"]["name"],
            reason=reason[:LONGEST_REASON],
            at=given["responded_at"].isoformat(),
            **asked,
        )


def as_code(text: str) -> str:
    """Return Markdown that shows the text exactly as it is: each line is a code span that its content cannot end.

    A code block does not work: Airflow's page folds its spaces and lines into one paragraph.
    """
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    return "\\\n".join(_code_span(line.ljust(width)) for line in lines)


def _code_span(line: str) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{ticks} {line.replace(' ', NO_BREAK_SPACE)} {ticks}"


def _question(given: Mapping[str, Any], cluster: str) -> tuple[str, str, Asked]:
    """Return the subject, the text (settings to be replaced, and the cards), and the versions shown."""
    from kafka_pareto.campaign.campaign import Campaign  # noqa: PLC0415 (as above)
    from kafka_pareto.report.cards import Cards  # noqa: PLC0415
    from kafka_pareto.rollout.approvals import changes_shown  # noqa: PLC0415
    from kafka_pareto.rollout.eligibility import refuse_a_former_cluster, refuse_another_cluster  # noqa: PLC0415
    from kafka_pareto.rollout.objections import is_activation  # noqa: PLC0415
    from kafka_pareto.rollout.versions import active_settings  # noqa: PLC0415
    from kafka_pareto.settings import load_settings  # noqa: PLC0415
    from kafka_pareto.storage.store import open_store  # noqa: PLC0415

    store, study = open_store(load_settings()), given["study"]
    campaign = Campaign.open(store, study, given["campaign"] or "")
    refuse_another_cluster(campaign.study.cluster_name, cluster)
    changes = changes_shown(campaign, given["changes_seen"] or "")
    cards = campaign.read_record(campaign.keys.report("cards.json"), Cards).cards
    offered = [decision for decision in cards if decision.offered]
    now = {decision.case: active_settings(store, study, decision.case) for decision in offered}
    for settings in now.values():
        refuse_a_former_cluster(campaign, settings, cluster)
    open_ones = [
        each
        for each in offered
        if not ((newest := now[each.case]) and is_activation(newest, campaign, each.pick_configuration_id or ""))
    ]
    if not open_ones:
        raise BadInputError(f"campaign {campaign.keys.prefix} has no recommendation that awaits a decision")
    named = ", ".join(f"{case_label(each.case)} ({_named(each)})" for each in open_ones)
    lines = [_overridden(each, now[each.case], changes.get(each.case, [])) for each in open_ones]
    text = "\n".join([*lines, "", store.get(campaign.keys.report("cards.txt")).decode()])
    versions = [(each.case, now[each.case]) for each in open_ones]
    seen = ",".join(f"{case}={settings.version if settings else 0}" for case, settings in versions)
    subject = f"{study}, campaign {campaign.keys.campaign}: new settings recommended for {named}"
    return subject, text, Asked(seen=seen, asked_at=datetime.now(UTC).isoformat())


def _overridden(decision: Decision, now: ActiveSettings | None, changes: list[str]) -> str:
    from kafka_pareto.rollout.messages import Promised, approval_text  # noqa: PLC0415 (as above)
    from kafka_pareto.rollout.renewal import NOT_SEEN  # noqa: PLC0415 (as above)

    baseline = Promised(decision.baseline_properties, decision.baseline_durability, decision.driver)
    pick = Promised(
        decision.pick_properties or {}, decision.pick_durability or decision.baseline_durability, decision.driver
    )
    compared_with = decision.in_force.version if decision.in_force else None
    warnings = [f"the system has changed since the measurement: {change}" for change in changes]
    if changes == [NOT_SEEN]:
        warnings = ["it is unknown whether the system has changed since the measurement, because it cannot be reached"]
    text = approval_text(decision.case, now, baseline, pick, compared_with)
    return "\n".join([text, *(f"  WARNING: {warning}" for warning in warnings)])


def _named(decision: Decision) -> str:
    """Return the settings that the pick changes, and its ID."""
    from kafka_pareto.study.configuration_words import configuration_words  # noqa: PLC0415 (as above)

    before, after = decision.reference_properties, decision.pick_properties or {}
    words = configuration_words({name: value for name, value in after.items() if value != before.get(name)})
    return f"{words}; {decision.pick_configuration_id}" if words else str(decision.pick_configuration_id)
