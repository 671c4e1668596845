"""Defines what every study has, whatever it asks and of which system: its kind and its driver add the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, Factor, configuration_id
from kafka_pareto.study.identifiers import STUDY_NAME
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.section import Section
from kafka_pareto.study.sections import ForeignCluster, OwnBrokers, Validation


class Study(Section):
    """Defines a study. See `include/studies/` for those that are ready to use.

    `kind` says what is asked, `driver` of what: each adds keys of its own.
    """

    declaration: ClassVar[Driver]
    baseline_may_be_a_file: ClassVar[bool] = False
    text_key: ClassVar[str] = "workload.payload.file"
    """Names the key that holds the name of `text_file`."""

    schema_version: Literal[1]
    kind: str = "tune"
    driver: str = "producer"
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    protocol: Protocol
    validation: Validation = Validation()
    cluster: ForeignCluster | None = None

    @classmethod
    def of(cls, study: Study) -> Self:
        """Return a study as one of this class.

        Raises:
            BadInputError: If it has another driver.
        """
        if not isinstance(study, cls):
            raise BadInputError(f"study {study.name}: driver: {study.driver!r}: must be {cls.declaration.name} here")
        return study

    @property
    def objective_names(self) -> tuple[str, ...]:
        """List the objectives in their driver's order."""
        return self.declaration.objective_names

    @property
    def cluster_name(self) -> str:
        """Return the name of the cluster that it loads; empty for the installation's own, and without a name."""
        return (self.cluster and self.cluster.name) or ""

    @property
    def means(self) -> tuple[str, ...]:
        """List the objectives that are means."""
        return self.declaration.means

    @property
    @abstractmethod
    def cases(self) -> list[str]:
        """List the cases, one for each mapped task, in order; there is at least one."""

    @property
    @abstractmethod
    def varied_factors(self) -> Mapping[str, Factor]:
        """Map the name of everything that is varied to its levels or range; a configuration has a value for each."""

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, JsonValue]:  # noqa: ARG002
        """Return the keys of a study's file that name these cases, and no others; none where there is but one case."""
        return {}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:  # noqa: ARG002
        """Return the parameter of the study's DAG that limits a campaign to these cases; none where there is one."""
        return {}

    @abstractmethod
    def baseline_configuration(self, case: str = "") -> Configuration:
        """Return the value of each factor in what all others are compared with.

        Args:
            case: A comparison's parts may set something of their own; where a study tunes, all cases have the same.
        """

    @abstractmethod
    def conditions(self) -> dict[str, Any]:
        """Return what a repetition's outcome depends on, besides configuration, case and cluster, by its key.

        Repetitions of two studies can be compared where these are equal.
        """

    def durability_of(self, configuration: Configuration) -> Durability:  # noqa: ARG002
        """Return the durability that is promised with this configuration: the strongest where it has no part in it."""
        return Durability.acks_all_idempotent

    @property
    def own_brokers(self) -> OwnBrokers | None:
        """Return the brokers that the study starts for itself; None where it loads a cluster that is there."""
        return None

    def rule_parameters(self) -> dict[str, object]:
        """Return what the `$…` of the rules of the driver's suite file stand for."""
        return {}

    def derived_values(self, values: Values) -> dict[str, float]:  # noqa: ARG002 (for drivers whose rules need any)
        """Return what follows from a repetition's values, for rules that compare two of them.

        Args:
            values: The repetition's row: its head and its quantities.
        """
        return {}

    def text_file(self) -> str | None:
        """Return the file, beside the study's, whose text its loads are made from; None where there is none."""
        return None

    def fault_of_text(self, text: str) -> str:
        """Says why no load can be made from the text of `text_file`; empty where one can."""
        return "" if text.strip() else "holds no text to cut records from"

    def baseline_id(self, case: str = "") -> str:
        """Return the baseline's configuration id."""
        return configuration_id(self.baseline_configuration(case))

    def group_in_block(self, configuration: Configuration) -> str:  # noqa: ARG002 (for drivers whose systems start slowly)
        """Name the group of configurations that follow each other within a block; one for all where order is free."""
        return ""

    def round_numbers(self) -> range:
        """Return the rounds that a campaign may have: 0 alone, which measures the design."""
        return range(1)
