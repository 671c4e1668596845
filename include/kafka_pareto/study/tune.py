"""Defines what a study has that tunes: it searches the configurations, and confirms the best of them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declaration import Feature
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.preferences import objectives_named
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.sections import Confirmation, Design, Rounds, Search, Surrogate
from kafka_pareto.study.study import Study
from kafka_pareto.study.warm_start import WarmStart


class Tune(Study):
    """Adds what a search needs: what is measured first, what is learned of it, and what is confirmed.

    Each objective is modelled and searched. `strategy: one_shot` measures the design alone before the search, as in the
    paper. `rounds` then measures more where the surrogates promise most, and may begin with what earlier campaigns have
    learned (`warm_start`). With `advice` the design's first configurations are those that guides and vendors advise
    (`include/advice`), as far as the study varies them, and the best of them is measured beside the pick.
    """

    design: Design
    strategy: Literal["one_shot", "rounds"] = "one_shot"
    rounds: Rounds = Rounds()
    warm_start: WarmStart | None = None
    advice: bool = False
    surrogate: Surrogate = Surrogate()
    search: Search = Search()
    confirmation: Confirmation
    retune: Retune = Retune()

    @model_validator(mode="after")
    def _rounds_belong_to_their_strategy(self) -> Self:
        if self.strategy != "rounds" and "rounds" in self.model_fields_set and self.rounds != Rounds():
            raise ValueError("rounds needs strategy: rounds; one_shot has none after its design")
        if self.strategy != "rounds" and self.warm_start is not None:
            raise ValueError("warm_start needs strategy: rounds; one_shot learns from its own design alone")
        return self

    @model_validator(mode="after")
    def _advice_comes_before_a_hypercube(self) -> Self:
        if self.advice and self.design.method != "latin_hypercube":
            raise ValueError("advice needs design.method: latin_hypercube; else the levels make the design")
        if self.advice and self.driver != "producer":
            raise ValueError("advice is of producers' settings")
        return self

    @model_validator(mode="after")
    def _chooses_by_its_own_objectives(self) -> Self:
        self.require_own_objectives(objectives_named(self.confirmation.choose_by))
        return self

    @model_validator(mode="after")
    def _r1_needs_its_objectives(self) -> Self:
        if self.confirmation.choose_by == "r1" and self.declaration.steadiness is None:
            raise ValueError("confirmation.choose_by r1 needs a mean of which more is better, with its CV")
        return self

    @model_validator(mode="after")
    def _repetitions_give_cvs(self) -> Self:
        protocol = self.protocol
        within_run = protocol.variability == "within_run"
        if self.strategy == "one_shot" and not within_run and protocol.repetitions < protocol.minimum_valid_repetitions:
            raise ValueError(
                f"protocol.minimum_valid_repetitions {protocol.minimum_valid_repetitions} must not exceed repetitions "
                f"{protocol.repetitions}; no trial would ever have a CV, which only strategy: rounds can do without"
            )
        return self

    def round_numbers(self) -> range:
        """Returns the rounds that a campaign may have: 0, which measures the design, and those after it."""
        return range(1 + (self.rounds.maximum if self.strategy == "rounds" else 0))

    def may_be_recommended(self, configuration: Configuration, case: str) -> bool:
        """Tells whether the configuration keeps every rule and promises the durability that the study accepts."""
        accepted = self.durability_of(configuration) >= self.weakest_durability()
        return accepted and self.keeps_rules(configuration, case)

    def derived_features(self) -> list[Feature]:
        """Lists what the models learn from besides factors and cases: the driver's, as far as the study varies them."""
        given = {*self.factors, "case"}
        return [each for each in self.declaration.derived_features if given.issuperset(each.columns)]

    def drift_fraction(self) -> float:
        """Returns the smallest change of a ratio to the baseline that is drift."""
        return self.retune.drift_fraction or self.confirmation.wanted_effect_fraction


def tune_study(study: Study) -> Tune:
    """Returns the study as one that tunes.

    Raises:
        BadInputError: If it is of another kind.
    """
    if not isinstance(study, Tune):
        raise BadInputError(f"study {study.name}: kind: {study.kind!r}: must be tune here")
    return study
