"""Define topologies: the number of brokers in a cluster, and the layout of topics on them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.study.section import Count, Section

Partitioning = Literal["round_robin", "key"]
_MOST_BROKERS = 9


class Topology(Section):
    """Defines brokers and the layout of each topic.

    `partitioning` uses a record's number modulo the partitions (`round_robin`), or its key's hash (`key`).
    """

    brokers: Annotated[int, Field(ge=1, le=_MOST_BROKERS)]
    replication_factor: Count
    partitions: Count
    min_insync_replicas: Count = 1
    partitioning: Partitioning = "round_robin"

    @model_validator(mode="after")
    def _fits_its_brokers(self) -> Self:
        if self.replication_factor > self.brokers:
            raise ValueError(
                f"replication_factor {self.replication_factor}: must not exceed brokers {self.brokers}, because each "
                "replica needs its own broker"
            )
        if self.min_insync_replicas > self.replication_factor:
            raise ValueError(
                f"min_insync_replicas {self.min_insync_replicas}: must not exceed replication_factor "
                f"{self.replication_factor}"
            )
        return self
