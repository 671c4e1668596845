"""Studies that work on a topic of a Kafka cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.factors import Configuration, FactorValue
from kafka_pareto.study.sections import OwnBrokers, Testbed
from kafka_pareto.study.study import Study
from kafka_pareto.study.workload import Topic


class TopicStudy(Study):
    """Adds the topic, and its brokers' requirements if `testbed` asks for the study's own brokers."""

    workload: Topic
    testbed: Testbed = "cluster"

    @property
    def own_brokers(self) -> OwnBrokers | None:
        """Return the study's own brokers; None for an existing cluster."""
        return self.testbed if isinstance(self.testbed, OwnBrokers) else None

    def broker_properties(self, configuration: Configuration) -> dict[str, FactorValue]:  # noqa: ARG002
        """Return the properties that the study's own brokers need for this configuration; none for other brokers."""
        return self.own_brokers.property_values if self.own_brokers else {}

    def varies_brokers(self, case: str) -> bool:  # noqa: ARG002
        """Return whether the case's configurations need different broker properties."""
        return False

    @model_validator(mode="after")
    def _on_one_testbed_of_enough_brokers(self) -> Self:
        own, replicas = self.own_brokers, self.workload.replication_factor
        if own and self.cluster is not None:
            raise ValueError("testbed and cluster: give the study's own brokers or an existing cluster, not both")
        if own and replicas > own.brokers:
            raise ValueError(
                f"workload.replication_factor {replicas}: must not exceed testbed.brokers {own.brokers}; ask for more "
                "brokers, or for fewer replicas (with min_insync_replicas no higher)"
            )
        return self


def servers_of_others(study: Study, settings: Settings) -> str:
    """Return the installation's servers if the study would load them and this stack did not start them; else empty.

    Ownership follows from who started the brokers: the stack that did knows the cluster's id.
    """
    loads_them = isinstance(study, TopicStudy) and study.own_brokers is None and study.cluster is None
    return settings.bootstrap_servers if loads_them and not settings.own_cluster_id else ""


def conditions_of(
    study: TopicStudy, reference: Configuration, protocol: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the conditions of a comparison's repetition besides its level, by the study file's keys.

    `reference` has the settings of all levels; `protocol` defaults to the study's.
    """
    parts = {
        "reference": reference,
        "workload": study.workload.model_dump(exclude_none=True, exclude={"keep_sample"}),
        "protocol": study.protocol.of_a_repetition() if protocol is None else protocol,
        "testbed": study.own_brokers.model_dump() if study.own_brokers else {"cluster": "installation"},
    }
    return {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()}


def topic_study(study: Study) -> TopicStudy:
    """Return the study as one that works on a topic; reject any other."""
    if not isinstance(study, TopicStudy):
        raise BadInputError(f"study {study.name}: driver: {study.driver!r}: must be one that works on a topic here")
    return study
