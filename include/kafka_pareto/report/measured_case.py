"""Summarise one case's repetitions for the report, because those of a large campaign do not fit in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kafka_pareto.analysis.repetition_values import per_repetition_value
from kafka_pareto.campaign.records import Outcome, Phase, Repetition
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.tune import Tune

UNCOUNTED_SHOWN = 40
Exclusion: TypeAlias = Literal[Outcome, "rejected"]
Side: TypeAlias = Literal["baseline", "pick", "others"]


@dataclass(frozen=True, slots=True)
class BaselineValues:
    """The values of one valid repetition of the baseline in the objectives of the driver's plane."""

    repetition_id: str
    phase: Phase
    started_at: str
    values: tuple[float | None, ...]


@dataclass
class GeneratorCheck:
    """Valid repetitions of one side, those bound by the load generator, and the first one's reason."""

    repetitions: int = 0
    bound: int = 0
    example: str = ""


@dataclass
class MeasuredCase:
    """The repetitions of one case, added one by one.

    Attributes:
        baseline: The valid repetitions of the baseline, including the A/A test.
        generator: By side, without the A/A test; empty for a driver that does not check its load generator.
        uncounted: The number of repetitions that do not count, by the reason.
        first_uncounted: At most `UNCOUNTED_SHOWN` of them, in the order added.
    """

    study: Tune
    decision: Decision
    baseline: list[BaselineValues] = field(default_factory=list)
    generator: dict[Side, GeneratorCheck] = field(default_factory=dict)
    uncounted: Counter[Exclusion] = field(default_factory=Counter)
    first_uncounted: list[tuple[Repetition, Exclusion]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.study.declaration.has("generator_bound"):
            self.generator = {"baseline": GeneratorCheck(), "pick": GeneratorCheck(), "others": GeneratorCheck()}

    def add(self, repetition: Repetition) -> None:
        """Add a repetition, valid or not."""
        if repetition.outcome != "valid":
            self._exclude(repetition, repetition.outcome)
            return
        if repetition.is_baseline:
            plane = self.study.declaration.plane
            values = tuple(per_repetition_value(repetition, each, "across_repetitions") for each in plane)
            found = BaselineValues(repetition.repetition_id, repetition.phase, repetition.started_at, values)
            self.baseline.append(found)
        if self.generator and repetition.phase != "noise":
            self._check_generator(repetition)

    def add_rejected(self, repetition: Repetition) -> None:
        """Add a repetition that was repeated for a cause unrelated to the configuration."""
        self._exclude(repetition, "rejected")

    def _exclude(self, repetition: Repetition, exclusion: Exclusion) -> None:
        self.uncounted[exclusion] += 1
        if len(self.first_uncounted) < UNCOUNTED_SHOWN:
            self.first_uncounted.append((repetition, exclusion))

    def _check_generator(self, repetition: Repetition) -> None:
        check = self.generator[self._side(repetition.configuration_id)]
        check.repetitions += 1
        if reason := repetition.quantities["generator_bound"]:
            check.bound += 1
            check.example = check.example or str(reason)

    def _side(self, configuration_id: str) -> Side:
        if configuration_id == self.decision.pick_configuration_id:
            return "pick"
        return "baseline" if configuration_id == self.decision.baseline_configuration_id else "others"
