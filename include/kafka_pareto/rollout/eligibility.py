"""Decide which configurations a person may activate against the recommendation, and on which cluster."""

from __future__ import annotations

from typing import Any

from kafka_pareto.analysis.wording import joined
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import BadInputError, PickError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.rollout.versions import ActiveSettings, cluster_of_version
from kafka_pareto.settings import load_settings
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.cluster_names import cluster_of
from kafka_pareto.study.identifiers import settings_dag_of


def confirmed_trial(campaign: Campaign, decision: Decision, configuration_id: str) -> dict[str, Any]:
    """Return the configuration's trial from the choice blocks: `TRIAL_COLUMNS` and its factors.

    Raises:
        PickError: If it was not confirmed for the decision's case.
    """
    key = campaign.keys.confirmation(decision.case, "trials.parquet")
    trials = campaign.read_table(key, TRIAL_COLUMNS)
    rows = trials[trials.configuration_id == configuration_id].to_dict("records")
    if not rows:
        raise PickError(
            f"{configuration_id!r} was not confirmed for {case_label(decision.case)} by campaign "
            f"{campaign.keys.prefix}; it confirmed {joined(sorted(trials.configuration_id))}"
        )
    return {str(name): value for name, value in rows[0].items()}


def refuse_ineligible(campaign: Campaign, decision: Decision, configuration_id: str) -> None:
    """Reject a configuration that lost a record, violates the study's rules or is less durable than accepted.

    The last two rules do not apply to the baseline.

    Raises:
        PickError: With the violated rule.
    """
    place = f"{configuration_id!r} for {case_label(decision.case)}"
    trial, weakest = confirmed_trial(campaign, decision, configuration_id), campaign.tune.weakest_durability()
    if not trial["repetitions_valid"]:
        raise PickError(f"{place}: it has no valid repetition; pick another configuration")
    if trial["repetitions_lost_records"] or lost_in_any_block(decision, configuration_id):
        raise PickError(f"{place}: it lost or duplicated records during confirmation; pick another configuration")
    if trial["is_baseline"]:
        return
    if Durability[trial["durability"]] < weakest:
        raise PickError(
            f"{place}: its durability is {trial['durability']}, but the study requires {weakest.name} or stronger; "
            "pick another configuration, or lower the study's durability and run a campaign"
        )
    if not trial["feasible"]:
        raise PickError(f"{place}: it violates a rule of the study; pick another configuration")


def refuse_another_cluster(cluster: str, may_move: str | None) -> None:
    """Reject changes to one cluster's settings from another cluster's DAG, which other people may trigger.

    Args:
        cluster: The name of the settings' cluster; empty for the stack's cluster.
        may_move: The name of the only cluster whose settings may change; None for any.

    Raises:
        BadInputError: If it is another one.
    """
    if may_move is not None and cluster != may_move:
        whose = f"cluster {cluster}" if cluster else "the stack's own cluster"
        raise BadInputError(
            f"--cluster: {may_move!r}: these settings belong to {whose}; trigger {settings_dag_of(cluster)} instead"
        )


def refuse_a_former_cluster(campaign: Campaign, newest: ActiveSettings | None, may_move: str | None) -> None:
    """Reject changes to settings of the study's former cluster from another cluster's DAG.

    Raises:
        BadInputError: If the study's file now names another cluster, and these settings are for that one.
    """
    if newest and cluster_of(load_settings().studies, campaign.keys.study) != campaign.study.cluster_name:
        refuse_another_cluster(cluster_of_version(campaign.store, newest), may_move)


def lost_in_any_block(decision: Decision, configuration_id: str) -> bool:
    """Return whether any block lost a record. The decision counts gain blocks too; trials do not."""
    counted = {
        decision.pick_configuration_id: decision.pick_counts,
        decision.reference_configuration_id: decision.reference_counts,
        decision.baseline_configuration_id: decision.baseline_counts,
    }
    counts = counted.get(configuration_id)
    return counts is not None and counts.lost_records > 0
