"""Asks a person whether a campaign's recommendations may come into force."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, ClassVar, TypedDict

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context

from kafka_pareto.study.cases import case_label
from kafka_pareto_airflow.forms.parameters import LONGEST_REASON
from kafka_pareto_airflow.notify.notices import Message, Notifier

SEEN_KEY = "seen"
"""The XCom that says which versions the person was shown: `<case>=<version>,…`, 0 for none."""
APPROVE, REJECT = "Approve", "Reject"
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


class Answer(TypedDict):
    """Holds an answer (approve, reject, not_asked); by whom, why and when (ISO 8601), which may be empty."""

    answer: str
    by: str
    reason: str
    at: str


class ApprovalNotifier(Notifier):
    """Tells people that an approval waits for an answer."""

    def message(self, context: Context) -> Message:
        """Returns the question's subject, and where it is answered."""
        question = context["task"]
        address = question.generate_link_to_ui(task_instance=context["ti"])
        return Message(question.subject, f"Nothing changes before somebody has answered:\n{address}")


class CardApproval(HITLOperator):
    """Shows a person the decision cards and what an approval overrides, and waits for as long as it takes.

    Nobody is asked if the run's parameter `approval` is off, or if nothing is recommended. A rejection skips no task:
    the next step stores the answer.

    Args:
        report_task_id: The task whose manifest says what is recommended.
    """

    # The question is made from artifacts, which must not act as templates.
    template_fields: ClassVar[Collection[str]] = ()

    def __init__(self, *, report_task_id: str, **kwargs: Any) -> None:
        super().__init__(
            subject="May the recommended settings come into force?",
            options=[APPROVE, REJECT],
            notifiers=ApprovalNotifier(),
            **kwargs,
        )
        self.report_task_id = report_task_id

    def execute(self, context: Context) -> Answer:
        """Asks the person, or returns at once if nobody is to be asked."""
        manifest = context["ti"].xcom_pull(task_ids=self.report_task_id, key="manifest")
        recommended = _recommended(manifest)
        if not context["params"]["approval"] or not recommended:
            self.log.info("Nobody is asked: %s", "approval is off" if recommended else "nothing is recommended")
            return Answer(answer="not_asked", by="", reason="", at="")
        cases = ", ".join(f"{case_label(case)} ({_named(found)})" for case, found in recommended.items())
        self.subject = f"{manifest['study']}, campaign {manifest['campaign']}: new settings recommended for {cases}"
        question, seen = _question(manifest["study"], manifest["campaign"], recommended)
        self.body = as_code(question)
        # It outlives the wait. An answer is of what was shown, however late it comes.
        context["ti"].xcom_push(SEEN_KEY, ",".join(f"{case}={version}" for case, version in seen.items()))
        answer: Answer = super().execute(context)
        return answer

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Answer:
        """Returns the answer that the person gave."""
        given = super().execute_complete(context, event)
        reason = (given["params_input"].get("reason") or "").replace("\0", "")
        return Answer(
            answer=given["chosen_options"][0].lower(),
            by=given["responded_by_user"]["name"],
            reason=reason[:LONGEST_REASON],
            at=given["responded_at"].isoformat(),
        )


def as_code(text: str) -> str:
    """Returns Markdown that shows the text exactly as it is: each line is a code span that nothing in it can end.

    A whole block of code would not do: Airflow's page folds its spaces and lines into one paragraph.
    """
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    return "\\\n".join(_code_span(line.ljust(width)) for line in lines)


def _code_span(line: str) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{ticks} {line.replace(' ', NO_BREAK_SPACE)} {ticks}"


def _recommended(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    decided = manifest.get("event", {}).get("cases", {})
    return {
        case: _as_today(found) for case, found in decided.items() if found["verdict"] in ("recommended", "ask_a_person")
    }


def _as_today(found: dict[str, Any]) -> dict[str, Any]:
    """Returns a decision that an earlier release's report may have handed over: the reference was the baseline."""
    return {
        "pick_configuration_id": found.get("configuration_id"),
        "pick_properties": found.get("properties"),
        "reference_properties": found.get("baseline_properties"),
        "in_force_version": None,
        **found,
    }


def _named(found: dict[str, Any]) -> str:
    """Says what the pick changes of what is in force, and its id."""
    from kafka_pareto.study.configuration_words import configuration_words  # noqa: PLC0415

    before = found["reference_properties"]
    changed = {name: value for name, value in found["pick_properties"].items() if value != before.get(name)}
    words = configuration_words(changed)
    return f"{words}; {found['pick_configuration_id']}" if words else str(found["pick_configuration_id"])


def _question(study: str, campaign: str, recommended: dict[str, dict[str, Any]]) -> tuple[str, dict[str, int]]:
    """Returns what an approval overrides now in each case, then the cards; and which versions that are."""
    # Imported only where somebody is asked: these libraries would slow the parsing of the DAG, which every task does.
    from kafka_pareto.campaign.keys import CampaignKeys  # noqa: PLC0415
    from kafka_pareto.kafka.producer_config import durability_of  # noqa: PLC0415
    from kafka_pareto.rollout.messages import Promised, approval_text  # noqa: PLC0415
    from kafka_pareto.rollout.versions import in_force  # noqa: PLC0415
    from kafka_pareto.settings import load_settings  # noqa: PLC0415
    from kafka_pareto.storage.store import open_store  # noqa: PLC0415

    def promised(found: dict[str, Any], what: str) -> Promised:
        properties = found[f"{what}_properties"]
        # An earlier release's report, which was of producers, did not hand it over.
        return Promised(properties, found.get(f"{what}_durability") or durability_of(properties).name)

    store = open_store(load_settings())
    now = {case: in_force(store, study, case) for case in recommended}
    overrides = [
        approval_text(
            case,
            now[case],
            promised(found, "baseline"),
            promised(found, "pick"),
            found["in_force_version"],
        )
        for case, found in recommended.items()
    ]
    text = "\n".join([*overrides, "", store.get(CampaignKeys(study, campaign).report("cards.txt")).decode()])
    return text, {case: settings.version if settings else 0 for case, settings in now.items()}
