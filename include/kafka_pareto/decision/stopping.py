"""Undoes what stopping flatters: weights blocks by where other orders of them would have ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from kafka_pareto.analysis.gains import SIGNIFICANCE, positive_values
from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.sequential import after_each_block, half_widths, least_sd, unselected_weights
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.driver import is_maximised
from kafka_pareto.study.tune import Tune

Mask = npt.NDArray[np.bool_]


def weights_of_blocks(
    study: Tune,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    final_blocks: int,
    rng: np.random.Generator,
    *,
    used_up: bool,
) -> Values:
    """Returns how much each block counts in the estimate, shape (blocks,); see `unselected_weights`.

    Where a block lacks a mean, only the final blocks count, which nothing has selected.

    Args:
        study: The campaign's study.
        reference: Valid repetitions of what the pick is compared with, one per block, in the order of the blocks.
        candidate: The pick's, of the same blocks.
        final_blocks: How many of them were measured after the claim; at least 1.
        rng: Draws other orders of the blocks.
        used_up: Whether the gain blocks came to their most, some of them perhaps without a valid repetition.
    """
    blocks, confirmation = len(reference), study.confirmation
    sides = {mean: positive_values(mean, reference, candidate, study.protocol) for mean in study.means}
    if any(not complete.all() for _, _, complete in sides.values()):
        return np.repeat([0.0, 1 / final_blocks], [blocks - final_blocks, final_blocks])
    rule = Rule(
        signs=np.array([1.0 if is_maximised(mean) else -1.0 for mean in sides]),
        level=SIGNIFICANCE / (len(study.objective_names) * len(study.cases)),
        harm_margin_fraction=confirmation.harm_margin(),
        wanted_effect_fraction=confirmation.wanted_effect_fraction,
        minimum_blocks=confirmation.minimum_blocks,
        least_sds=np.array(
            [
                least_sd(of_reference, of_candidate, 2 * smallest_value(mean, study.protocol))
                for mean, (of_reference, of_candidate, _) in sides.items()
            ]
        ),
    )
    log_ratios = np.array([np.log(of_candidate / of_reference) for of_reference, of_candidate, _ in sides.values()])
    return unselected_weights(log_ratios, final_blocks, partial(rule.ends_alike, early=not used_up), rng)


@dataclass(frozen=True)
class Answers:
    """Holds what the means say after each block, each of shape (orders, blocks).

    Attributes:
        offered: One is better, and none is shown to be worse.
        claimed: One is better, and none is worse by more than the margin.
        harmed: One is shown to be worse, and may be so by more than the margin.
        alike: None differs by as much as matters.
    """

    offered: Mask
    claimed: Mask
    harmed: Mask
    alike: Mask

    @property
    def ended(self) -> Mask:
        """Returns whether the blocks end there."""
        return self.claimed | self.harmed | self.alike


@dataclass(frozen=True)
class Rule:
    """Asks of the means what `Decision.is_answered` says, for many orders of blocks at once.

    It leaves out what no order of the blocks would change much: CVs, failures, limits, harm over a baseline that is not
    in force, and that Holm's second step is at a larger level.

    Attributes:
        signs: 1 where more is better, -1 where less is, shape (means,).
        level: Of a claim, after all comparisons.
        least_sds: See `least_sd`, shape (means,).
    """

    signs: Values
    level: float
    harm_margin_fraction: float
    wanted_effect_fraction: float
    minimum_blocks: int
    least_sds: Values | float = 0.0

    def answers(self, log_ratios: Values) -> Answers:
        """Returns what would be answered after each block, were there enough; shape (orders, means, blocks)."""
        means, sds = after_each_block(log_ratios, self.least_sds)
        signs, widths = self.signs[:, np.newaxis], half_widths(sds)
        shown = np.abs(means) > half_widths(sds, self.level)
        better = shown & (signs * means > 0)
        margin, wanted = self.harm_margin_fraction, self.wanted_effect_fraction
        harmless = better | (signs * means - widths >= np.where(signs > 0, np.log1p(-margin), -np.log1p(margin)))
        harmed = ((signs * means + widths < 0) & ~harmless).any(axis=-2)
        within = (means - widths >= np.log1p(-wanted)) & (means + widths <= np.log1p(wanted))
        offered = better.any(axis=-2) & ~harmed
        return Answers(offered, offered & harmless.all(axis=-2), harmed, (within & ~shown).all(axis=-2))

    def ends_alike(self, log_ratios: Values, *, early: bool) -> Mask:
        """Tells of each order whether its blocks would have ended with the last one, with a claim.

        Args:
            log_ratios: Shape (orders, means, blocks).
            early: Whether the blocks ended before they were used up; else a person may be asked, too.
        """
        answers = self.answers(log_ratios)
        ended_before = answers.ended[:, self.minimum_blocks - 1 : -1].any(axis=1)
        alike: Mask = ~ended_before & (answers.claimed if early else answers.offered)[:, -1]
        return alike
