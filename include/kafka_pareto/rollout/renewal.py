"""Find changes of the system since a campaign: results for one cluster may not hold for its successor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

from pydantic import JsonValue

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.client_config import client_config_name
from kafka_pareto.campaign.comparability import differences_of_systems
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.rollout.approvals import keep_changes
from kafka_pareto.settings import load_settings

logger = logging.getLogger(__name__)

Look: TypeAlias = Callable[[Campaign], Fingerprint]
"""Describes the current system of a campaign's study."""

NOT_SEEN = "fingerprint: the system cannot be reached now, so changes are unknown"


def look_now(campaign: Campaign) -> Fingerprint:
    """Describe the current system of the campaign's study.

    Raises:
        BadInputError: If the settings name none, or its client configuration is gone.
        ClusterError: If it cannot be reached.
    """
    with runtime_of(campaign.study).system(campaign.study, load_settings()) as system:
        return system.fingerprint(campaign, campaign.study.cases[0])


class SystemNow:
    """The measured system and the current one, which is inspected once, on first use."""

    def __init__(self, campaign: Campaign, look: Look) -> None:
        self._campaign = campaign
        self._look = look

    def changes(self, case: str) -> list[str]:
        """List the changes of the system with both values; empty for a study's own brokers, which no longer exist."""
        campaign = self._campaign
        if campaign.study.own_brokers is not None:
            return []
        if self._found is None:
            return [NOT_SEEN]
        then = campaign.read_record(campaign.keys.fingerprint(case), Fingerprint)
        return differences_of_systems(then, self._found, campaign.study.declaration)

    @cached_property
    def _found(self) -> Fingerprint | None:
        try:
            return self._look(self._campaign)
        except (BadInputError, ClusterError) as error:
            logger.warning("the system cannot be inspected: %s", error)
            return None


def question_about(
    campaign: Campaign, cases: Sequence[str], system: SystemNow
) -> tuple[list[str], dict[str, JsonValue]]:
    """Return the keys of the changes shown with a question about these cases, and the parameters of its run."""
    question: dict[str, JsonValue] = {"action": "ask", "study": campaign.keys.study, "campaign": campaign.keys.campaign}
    # An answer may arrive after the run's copy of the credentials has been removed.
    cluster = campaign.study.cluster
    is_run_copy = cluster and cluster.client_config == client_config_name(campaign.keys.campaign)
    unseen = [NOT_SEEN] if is_run_copy else []
    changes = {case: found for case in cases if (found := system.changes(case) or unseen)}
    if not changes:
        return [], question
    key, name = keep_changes(campaign, changes)
    return [key], {**question, "changes_seen": name}


def how_to_confirm_changes(campaign: Campaign, case: str, system: SystemNow) -> str:
    """Explain how to activate a picked configuration despite the changes."""
    _, name = keep_changes(campaign, {case: system.changes(case)})
    return (
        "Run a new campaign or, to activate it anyway, confirm the changes with "
        f"--changes-seen={name} (changes_seen in Airflow's form)"
    )
