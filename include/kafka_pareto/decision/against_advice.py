"""Compare the pick with the best published advice, in the same fresh blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd
from pydantic import Field

from kafka_pareto.analysis.gains import Gain, gains_over
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import choose
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.tune import Tune


class AgainstAdvice(Frozen):
    """The pick compared with the best advice.

    Attributes:
        configuration_id: The best advice's, or the pick's, without `gains`, if the pick itself is advised.
        titles: The sources of the advice.
        gains: The pick's means against it, in the gain and final blocks that have both.
        in_place_of: The choice blocks' pick if that was worse and the advice replaced it; the gains are that pick's.
    """

    configuration_id: str
    titles: list[str]
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    gains: list[Gain] = Field(default_factory=list)
    in_place_of: dict[str, FactorValue] | None = None

    def is_better(self, margin_fraction: float) -> bool:
        """Return whether the pick is worse in a mean, possibly by more than the margin, and better in none."""
        worse = [gain.resolution == "worse" and gain.may_be_worse_by(margin_fraction) for gain in self.gains]
        return any(worse) and all(gain.resolution != "better" for gain in self.gains)


def best_advice(
    study: Tune,
    candidates: pd.DataFrame,
    choice_repetitions: Sequence[Repetition],
    advised: Collection[str],
    in_force_id: str | None = None,
) -> str | None:
    """Return the advised candidate that the choice blocks would choose; None if none may be chosen.

    With `compare_advice: if_better` it must beat the reference. The active configuration is no candidate: the pick is
    compared with it anyway.
    """
    of_others = candidates[candidates.configuration_id.isin(advised)]
    must_beat = study.confirmation.compare_advice == "if_better"
    chosen_id = choose(study, of_others, choice_repetitions, in_force_id, beats_reference=must_beat).configuration_id
    return chosen_id if chosen_id in set(of_others.configuration_id) else None


def against_advice(
    study: Tune,
    pick_id: str,
    advice_id: str,
    configuration: dict[str, FactorValue],
    titles: Sequence[str],
    repetitions: Sequence[Repetition],
) -> AgainstAdvice:
    """Compare the pick's means with the best advice's, in fresh blocks that hold both."""
    is_another = advice_id != pick_id
    return AgainstAdvice(
        configuration_id=advice_id,
        titles=list(titles),
        configuration=configuration,
        properties=study.properties(configuration),
        gains=gains_over(study, advice_id, pick_id, repetitions, study.means) if is_another else [],
    )
