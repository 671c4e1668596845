"""Sections of a study file: design, rounds, validation, surrogate, search, confirmation and cluster."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.identifiers import CLUSTER_NAME, MOST_ROUNDS
from kafka_pareto.study.objectives import ChooseBy
from kafka_pareto.study.section import Count, Fraction, Section

MOST_BROKERS = 16
"""Maximum of a study's own brokers on one machine."""


class Design(Section):
    """Chooses the configurations to measure in each case; `feasible` keeps them within the constraints.

    `latin_hypercube` draws `configurations`, varying all factors together. `one_at_a_time` changes one factor of the
    baseline at a time, to each of its levels or to `levels_per_range` values of its range.
    """

    method: Literal["latin_hypercube", "one_at_a_time"] = "latin_hypercube"
    configurations: Count | None = None
    levels_per_range: Annotated[int, Field(ge=2)] = 4
    feasible: bool = True

    @model_validator(mode="after")
    def _sized_by_its_method(self) -> Self:
        if (self.method == "latin_hypercube") != (self.configurations is not None):
            raise ValueError("latin_hypercube needs configurations; one_at_a_time takes none, the levels make them")
        return self


class Rounds(Section):
    """Limits the rounds of `strategy: rounds`.

    Each of up to `maximum` rounds measures `configurations` more per case. A case ends when two rounds together raised
    its measured hypervolume by less than `least_rise_fraction`.
    """

    maximum: Annotated[int, Field(ge=0, le=MOST_ROUNDS)] = MOST_ROUNDS
    configurations: Count = 8
    least_rise_fraction: Fraction = 0.01


class Validation(Section):
    """Stops the campaign if more of its repetitions are rejected than tolerated."""

    tolerated_rejected_fraction: Fraction = 0.05


class Surrogate(Section):
    """Sets the XGBoost regressors, one per objective, and their scoring.

    `records_per_batch` adds `batch.size` over the record size as an input. `weights` weights trials by their
    `repetitions`, or all equally. `estimates` chooses which model's estimates of the front's means are shown; the
    `trees` selected the front, the `gaussian_process` did not.
    """

    n_estimators: Count = 300
    max_depth: Count = 5
    learning_rate: Annotated[float, Field(gt=0)] = 0.05
    subsample: Annotated[float, Field(gt=0, le=1)] = 0.5
    colsample_bytree: Annotated[float, Field(gt=0, le=1)] = 1.0
    reg_lambda: Annotated[float, Field(ge=0)] = 3.0
    loss: Literal["reg:squarederror"] = "reg:squarederror"
    categories: Literal["codes", "native"] = "native"
    records_per_batch: bool = True
    log_target: bool = True
    weights: Literal["equal", "repetitions"] = "repetitions"
    estimates: Literal["gaussian_process", "trees"] = "gaussian_process"
    held_out_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25


class Search(Section):
    """Sets NSGA-III, which searches the surrogates; with an added objective `reference_partitions` is 4 by default."""

    reference_partitions: Count = 6
    population: Annotated[int, Field(ge=4)] = 92
    generations: Count = 80
    crossover_probability: Fraction = 0.9
    crossover_eta: Annotated[float, Field(gt=0)] = 15.0
    mutation_probability: Fraction = 0.2
    mutation_eta: Annotated[float, Field(gt=0)] = 20.0
    init: Literal["design", "random"] = "design"


class Confirmation(Section):
    """Sets how the best `points` of each front are measured again: blocks to choose by, then new blocks for the gains.

    The pick is compared with the active settings (by default the baseline), measured in every block. They stay active
    after fewer than `minimum_blocks` blocks.

    - `stopping: sequential` tests after each block from `minimum_blocks` to `gain_blocks`, and ends when the pick is
      better without harm, is worse, or makes no relevant difference. `fixed` tests once, after `gain_blocks`.
    - A claim must be confirmed by `final_blocks` more. With `fixed`, `more_blocks` follow if harm beyond
      `harm_margin_fraction` (default: `wanted_effect_fraction`) is still inconclusive. A person decides cases that
      remain inconclusive.
    - `choose_by`: `balanced_gain` (product of the gains in all means), `r1` (the paper's: throughput
      over its CV), an order or weights of objectives.
    - `compare_advice` adds the best advised configuration to the new blocks: `if_better`, if it beat the active
      settings in the choice blocks; `always`, if it is eligible. Sequential blocks may continue for it.
    - `wanted_effect_fraction` is the smallest change that matters to you. The noise report says how many blocks detect
      it.
    - An approval is valid for `answer_within_days` after the question, which is then asked again.
    """

    points: Count
    choice_blocks: Count
    gain_blocks: Annotated[int, Field(ge=2)]
    minimum_blocks: Annotated[int, Field(ge=2)] = 10
    stopping: Literal["fixed", "sequential"] = "fixed"
    final_blocks: Annotated[int, Field(ge=2)] = 10
    more_blocks: Annotated[int, Field(ge=0)] = 10
    choose_by: ChooseBy = "balanced_gain"
    compare_advice: Literal["always", "if_better"] = "if_better"
    wanted_effect_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.10
    harm_margin_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    answer_within_days: Count = 7

    def most_repetitions(self, has_active: bool = False, advice: bool = False) -> int:
        """Return the most repetitions of one case.

        Choice blocks measure the baseline and every point; gain blocks, and those after a claim, the baseline and one
        point. Active settings other than the baseline are in every block. The best advice is in all but the choice
        blocks; blocks that follow to compare the pick with it take the place of gain blocks that were not needed.
        """
        final_blocks = self.final_blocks + (0 if self.is_sequential else self.more_blocks) if self.can_claim else 0
        return self.fewest_repetitions(has_active) + (2 + has_active + advice) * (self.gain_blocks + final_blocks)

    def likely_repetitions(self, has_active: bool = False, advice: bool = False) -> int:
        """Return one case's repetitions if its pick is offered: sequential blocks end after a third of the most."""
        most = self.most_repetitions(has_active, advice)
        if not self.is_sequential:
            return most
        gain_blocks = min(max(self.gain_blocks // 3, self.minimum_blocks + 2), self.gain_blocks)
        of_the_pick = (2 + has_active + advice) * (gain_blocks + self.final_blocks)
        return min(self.fewest_repetitions(has_active) + of_the_pick, most)

    def fewest_repetitions(self, has_active: bool = False) -> int:
        """Return the fewest: nothing is picked or claimed."""
        return (self.points + 1 + has_active) * self.choice_blocks

    @property
    def can_claim(self) -> bool:
        """Return whether there can be enough gain blocks for a claim."""
        return self.gain_blocks >= self.minimum_blocks

    @property
    def is_sequential(self) -> bool:
        """Return whether blocks end at the first answer."""
        return self.stopping == "sequential"


class OwnBrokers(Section):
    """Starts the study's own brokers on this machine, for the duration of each part.

    `properties` override broker properties of the project's template.
    """

    brokers: Annotated[int, Field(ge=1, le=MOST_BROKERS)] = 3
    heap_mib: Annotated[int, Field(ge=128)] = 512
    properties: dict[str, PropertyValue] = Field(default_factory=dict)

    def __str__(self) -> str:
        """Return the number of brokers and their heap in words."""
        if self.brokers == 1:
            return f"1 broker with {self.heap_mib} MiB of heap"
        return f"{self.brokers} brokers with {self.heap_mib} MiB of heap each"

    @property
    def property_values(self) -> dict[str, FactorValue]:
        """Return the properties as configurations hold them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in self.properties.items()
        }


def _testbed_kind(given: Any) -> str | None:
    if given == "cluster":
        return "testbed_cluster"
    return "testbed_brokers" if isinstance(given, (OwnBrokers, dict)) else None


Testbed = Annotated[
    Annotated[OwnBrokers, Tag("testbed_brokers")] | Annotated[Literal["cluster"], Tag("testbed_cluster")],
    Discriminator(
        _testbed_kind,
        custom_error_type="testbed",
        custom_error_message="must be cluster, or {brokers: 3} for the study's own brokers",
    ),
]
"""Testbed of a comparison: its own brokers, or an existing cluster."""


class ForeignCluster(Section):
    """Names an existing cluster. `client_config` names one of the installation's `client.properties`.

    A cluster with a `name` has its own DAG, pool and queue in Airflow, and is tuned independently.
    """

    name: Annotated[str, Field(pattern=f"^{CLUSTER_NAME}$")] | None = None
    bootstrap_servers: str
    client_config: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    ceiling_mib_s: Annotated[float, Field(gt=0)]
    ceiling_gib: Annotated[float, Field(gt=0)]
    consent: bool = False
