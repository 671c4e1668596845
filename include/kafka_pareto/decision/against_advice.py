"""Sets the pick beside the best of what others advise, in the same fresh blocks. Pure."""

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
    """Holds how the pick stands against the best advice.

    Attributes:
        configuration_id: The best advice's; the pick's own, where the pick is what somebody advises.
        titles: Who advises it.
        configuration: The values of its factors.
        properties: What the producer is told.
        gains: The pick's means against it, in the gain and final blocks that have both. Empty where the pick is that
            advice.
        in_place_of: The values of the factors of the choice blocks' pick, where that was worse, and the advice became
            the pick in its place. The gains are that one's.
    """

    configuration_id: str
    titles: list[str]
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    gains: list[Gain] = Field(default_factory=list)
    in_place_of: dict[str, FactorValue] | None = None

    def is_better(self, margin_fraction: float) -> bool:
        """Tells whether the pick is shown to be worse, maybe by more than the margin, and better in no mean."""
        worse = [gain.resolution == "worse" and gain.may_be_worse_by(margin_fraction) for gain in self.gains]
        return any(worse) and all(gain.resolution != "better" for gain in self.gains)


def best_advice(
    study: Tune,
    candidates: pd.DataFrame,
    choice_repetitions: Sequence[Repetition],
    advised: Collection[str],
    in_force_id: str | None = None,
) -> str | None:
    """Returns which of the advised candidates the choice blocks would choose; None where none may be chosen.

    With `compare_advice: if_better` none may that does not beat the reference.
    What is in force is no candidate, whoever advises it: the pick is compared with it anyway.
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
    """Compares the pick's means with the best advice's, in fresh blocks that hold both."""
    is_another = advice_id != pick_id
    return AgainstAdvice(
        configuration_id=advice_id,
        titles=list(titles),
        configuration=configuration,
        properties=study.properties(configuration),
        gains=gains_over(study, advice_id, pick_id, repetitions, study.means) if is_another else [],
    )
