"""Base of all studies; kind and driver add the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, Factor, configuration_id
from kafka_pareto.study.identifiers import DEFAULT_DRIVER, STUDY_NAME
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.retention import Retention
from kafka_pareto.study.section import Section
from kafka_pareto.study.sections import ForeignCluster, OwnBrokers, Validation


class Study(Section):
    """Defines a study. `include/studies/` has the shipped ones.

    `kind` and `driver` add keys of their own.
    """

    declaration: ClassVar[Driver]
    baseline_key: ClassVar[str] = "baseline"
    """Names the key that holds the settings that are compared with."""
    baseline_client: ClassVar[ClientName | None] = None
    """Names the client whose settings file that key may name; None if it may not."""

    schema_version: Literal[1]
    kind: str = "tune"
    driver: str = DEFAULT_DRIVER
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    protocol: Protocol
    validation: Validation = Validation()
    cluster: ForeignCluster | None = None
    retention: Retention | None = None

    @classmethod
    def client_of_file(cls) -> ClientName:
        """Return the client whose settings file a campaign may name as its baseline.

        Raises:
            BadInputError: If the driver has no such file.
        """
        if cls.baseline_client is None:
            raise BadInputError(
                f"BASELINE: driver {cls.declaration.name} has no settings file; set the study's {cls.baseline_key} "
                "instead"
            )
        return cls.baseline_client

    @classmethod
    def of(cls, study: Study) -> Self:
        """Return a study as one of this class; raises BadInputError if it has another driver."""
        if not isinstance(study, cls):
            raise BadInputError(f"study {study.name}: driver: {study.driver!r}: must be {cls.declaration.name} here")
        return study

    @property
    def objective_names(self) -> tuple[str, ...]:
        """List the objectives in their driver's order."""
        return self.declaration.objective_names

    @property
    def cluster_name(self) -> str:
        """Return the name of the study's cluster; empty for the installation's own or without a name."""
        return (self.cluster and self.cluster.name) or ""

    @property
    def means(self) -> tuple[str, ...]:
        """List the objectives that are means."""
        return self.declaration.means

    @property
    @abstractmethod
    def cases(self) -> list[str]:
        """List the cases, one per mapped task, in order; there is at least one."""

    @property
    @abstractmethod
    def varied_factors(self) -> Mapping[str, Factor]:
        """Map everything varied to its levels or range; a configuration has a value for each."""

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Return the study file's keys that name these cases only; none if there is but one case.

        Raises:
            BadInputError: If the study does not have one of them.
        """
        if unknown := [case for case in cases if case not in self.cases]:
            raise BadInputError(
                f"RECORD_SIZES: {unknown[0]}: study {self.name} has one case, {self.cases[0]}; omit the option"
            )
        return {}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:  # noqa: ARG002
        """Return the DAG parameter that limits a campaign to these cases; none if there is but one."""
        return {}

    @abstractmethod
    def baseline_configuration(self, case: str = "") -> Configuration:
        """Return the reference value of each factor; only a comparison's cases differ in it."""

    @abstractmethod
    def conditions(self) -> dict[str, Any]:
        """Return what makes repetitions of two studies comparable, by key, besides configuration, case and cluster."""

    def durability_of(self, configuration: Configuration) -> Durability:  # noqa: ARG002
        """Return the configuration's durability; the strongest if it has no influence."""
        return Durability.acks_all_idempotent

    @property
    def own_brokers(self) -> OwnBrokers | None:
        """Return the brokers that the study starts for itself; None for an existing cluster."""
        return None

    def rule_parameters(self) -> dict[str, object]:
        """Return the values of the `$…` parameters in the driver's suite file."""
        return {}

    def derived_values(self, values: Values) -> dict[str, float]:  # noqa: ARG002 (for drivers whose rules need any)
        """Return values derived from a repetition's row (head and quantities), for rules that compare two of them."""
        return {}

    def text_file(self) -> str | None:
        """Return the file, beside the study's, with the text to send; None if there is none."""
        return None

    @property
    def text_key(self) -> str:
        """Return the key that holds the name of `text_file`."""
        return "workload.payload.file"

    @property
    def keeps_text(self) -> bool:
        """Return whether the text stays in the store after the campaign's end."""
        return True

    def fault_of_text(self, text: str) -> str:
        """Return why the text of `text_file` cannot be sent; empty if it can."""
        return "" if text.strip() else "holds no text to cut records from"

    def baseline_id(self, case: str = "") -> str:
        """Return the baseline's configuration id."""
        return configuration_id(self.baseline_configuration(case))

    def group_in_block(self, configuration: Configuration) -> str:  # noqa: ARG002 (for drivers whose systems start slowly)
        """Return a configuration's group, consecutive within a block; one for all if order is free."""
        return ""

    def round_numbers(self) -> range:
        """Return the possible rounds of a campaign; 0 measures the design."""
        return range(1)
