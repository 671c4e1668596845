"""Compare the pick with the best published advice, in the same fresh blocks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import pandas as pd
from pydantic import Field

from kafka_pareto.analysis.gains import Gain, gains_over
from kafka_pareto.analysis.sequential import half_width, may_show
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import choose
from kafka_pareto.decision.harm import harm_not_excluded
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.tune import Tune

Standing = Literal["not worse", "trade-off", "worse", "open"]


class AgainstAdvice(Frozen):
    """The pick compared with the best advice.

    Attributes:
        configuration_id: The best advice's, or the pick's, without `gains`, if the pick itself is advised.
        titles: The sources of the advice.
        gains: The pick's means against it, in the gain and final blocks that have both.
        in_place_of: The choice blocks' pick if the advice replaced it, because it may be worse or was not offered; the
            gains are that pick's.
        pick_was_offered: Whether the replaced pick could have become active, automatically or after approval.
    """

    configuration_id: str
    titles: list[str]
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    gains: list[Gain] = Field(default_factory=list)
    in_place_of: dict[str, FactorValue] | None = None
    pick_was_offered: bool = True

    def standing(self, margin_fraction: float) -> Standing:
        """Return how the pick compares over all means.

        - `not worse`: a loss beyond the margin is ruled out for every mean, or the pick is the advice.
        - `trade-off`: it is not, but a mean is better.
        - `worse`: a mean is worse, possibly beyond the margin, and none is better.
        - `open`: inconclusive; more blocks may decide.
        """
        doubtful = harm_not_excluded(self.gains, margin_fraction)
        if not doubtful:
            return "not worse"
        if any(gain.resolution == "better" for gain in self.gains):
            return "trade-off"
        return "worse" if any(gain.resolution == "worse" for gain in doubtful) else "open"

    def may_be_worse(self, margin_fraction: float) -> bool:
        """Return whether the advice is preferable: a loss beyond the margin is not ruled out, and no mean is better."""
        return self.standing(margin_fraction) in ("worse", "open")

    def may_close(self, margin_fraction: float, more_blocks: int) -> bool:
        """Return whether `more_blocks` may show that an open pick is not worse, or better in a mean."""
        if self.standing(margin_fraction) != "open":
            return False
        doubtful = harm_not_excluded(self.gains, margin_fraction)
        ruled_out = all(_may_exceed(gain, -margin_fraction, more_blocks) for gain in doubtful)
        return ruled_out or any(_may_exceed(gain, 0.0, more_blocks) for gain in self.gains)


def _may_exceed(gain: Gain, improvement_fraction: float, more_blocks: int) -> bool:
    """Return whether more blocks may show that the gain is above this change for the better."""
    low, high, blocks = gain.change_low_fraction, gain.change_high_fraction, len(gain.candidate_repetition_ids)
    if low is None or high is None:
        return math.isfinite(half_width(blocks + more_blocks, 1 - gain.confidence))
    level, sign = 1 - gain.confidence, 1 if is_maximised(gain.objective) else -1
    middle, half = (math.log1p(low) + math.log1p(high)) / 2, (math.log1p(high) - math.log1p(low)) / 2
    distance = sign * middle - sign * math.log1p(sign * improvement_fraction)
    return may_show(distance, half / float(half_width(blocks, level)), blocks, blocks + more_blocks, level)


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
    """Compare the pick's means with the best advice's, in fresh blocks that hold both.

    The intervals hold jointly within the case: a loss is ruled out case by case.
    """
    is_another = advice_id != pick_id
    return AgainstAdvice(
        configuration_id=advice_id,
        titles=list(titles),
        configuration=configuration,
        properties=study.properties(configuration),
        gains=gains_over(study, advice_id, pick_id, repetitions, study.means, cases=1) if is_another else [],
    )
