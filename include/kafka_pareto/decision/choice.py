"""The choice: which confirmed candidate is worth comparing with what is in force, on fresh blocks. Pure.

What its blocks show of the pick is partly luck: no gain is stated from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from kafka_pareto.analysis.repetition_values import smallest_value, valid_by_block
from kafka_pareto.analysis.trials import steadiness, summarise_trials
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit, ObjectiveName, Weighted, objectives_named
from kafka_pareto.study.tune import Tune

_LEAST_VALID_FRACTION = 0.8


class MissedLimit(Frozen):
    """A limit that is not kept, and the value that misses it; None is a value that is not known."""

    limit: Limit
    value: float | None


class Choice(Frozen):
    """Names the pick of the choice blocks, and what it was chosen by.

    Attributes:
        configuration_id: That of what is in force where no candidate beats it, or none may be chosen.
        chosen_by: What the choice went by: as the study asks, or `balanced_gain` where it asks for CVs that are
            missing.
        nearest_configuration_id: Where no candidate keeps every limit, the one whose worst miss is the smallest.
        limits_missed: What that one misses.
        baseline_limits_missed: What the baseline, which is exempt, misses in the same blocks.
        in_force_limits_missed: The same of settings in force other than the baseline.
    """

    configuration_id: str
    chosen_by: ChooseBy
    nearest_configuration_id: str | None = None
    limits_missed: list[MissedLimit] = Field(default_factory=list)
    baseline_limits_missed: list[MissedLimit] = Field(default_factory=list)
    in_force_limits_missed: list[MissedLimit] = Field(default_factory=list)


def choose(
    study: Tune,
    candidates: pd.DataFrame,
    choice_repetitions: Sequence[Repetition],
    in_force_id: str | None = None,
    *,
    beats_reference: bool = True,
) -> Choice:
    """Picks one configuration from what the choice blocks measured.

    Only candidates within the constraints, of accepted durability, which neither lost nor duplicated a record, have
    enough valid repetitions (the protocol's minimum, and 80 % of the choice blocks) and keep every limit on average
    over them. What is in force competes with them, unless it breaks a limit itself, or lost records and is not the
    baseline; ties fall to it, then to the smaller id. Where that is not the baseline, the baseline is a candidate like
    any other. By `choose_by`:

    - `r1`: the largest throughput over throughput CV, or what the driver declares in their place.
    - `balanced_gain`: the largest sum of the means' log-gains over the baseline: of throughput and p95 latency.
    - weights: the largest sum of weighted log-gains over the baseline.
    - an order: of all that come within `within_fraction` of the best in the first objective, those within it of the
      best in the second that is left, and so on; the last objective decides outright. So the reference stays unless it
      is beaten by more than this in an objective, or by anything in the last, and equalled in those before.

    Gains are over the baseline in the blocks that both have. A CV that is missing or zero on either side (too few
    distinct values rather than perfect steadiness) counts as no gain; where no candidate has one that is asked for,
    the choice goes by `balanced_gain`.

    Args:
        study: The campaign's study.
        candidates: `CANDIDATE_COLUMNS` and factors of one record size.
        choice_repetitions: The choice blocks' repetitions of the same record size, the baseline's among them.
        in_force_id: The settings in force, measured in the same blocks, where they are not the baseline.
        beats_reference: False to pick the best of the candidates, whether baseline or what is in force are better.
    """
    asked, baseline_id = study.confirmation.choose_by, study.baseline_id()
    reference_id = in_force_id or baseline_id
    trials = summarise_trials(choice_repetitions, study).set_index("configuration_id")
    eligible = _eligible(study, candidates, trials, reference_id)
    # The reference stands first, then ids in order: of equals the first is taken.
    gains = _log_gains(study, [reference_id, *eligible], choice_repetitions)
    limits = study.limits
    missed = {
        name: missed_limits(limits, trials.loc[name]) if name in trials.index else []
        for name in (baseline_id, reference_id)
    }
    undecided = Choice(
        configuration_id=reference_id,
        chosen_by=asked,
        baseline_limits_missed=missed[baseline_id],
        in_force_limits_missed=missed[reference_id] if in_force_id else [],
    )
    excess = pd.Series({name: worst_excess_fraction(limits, trials.loc[name]) for name in gains.index}, dtype=float)
    of_candidates = excess.drop(index=reference_id, errors="ignore")
    if of_candidates.empty:
        return undecided
    if not (of_candidates <= 0).any():
        nearest = str(of_candidates.idxmin())
        found = {"nearest_configuration_id": nearest, "limits_missed": missed_limits(limits, trials.loc[nearest])}
        return undecided.model_copy(update=found)
    competing = gains[excess <= 0]
    if in_force_id in competing.index and trials.loc[in_force_id].repetitions_lost_records:
        competing = competing.drop(index=in_force_id)
    if not beats_reference:
        competing = competing[competing.index.isin(candidates.configuration_id) & (competing.index != reference_id)]
        if competing.empty:
            return undecided
    chosen_id, chosen_by = best_by(study, asked, competing, trials, reference_id)
    return undecided.model_copy(update={"configuration_id": chosen_id, "chosen_by": chosen_by})


def missed_limits(limits: Sequence[Limit], values: Any) -> list[MissedLimit]:
    """The limits that these values, by objective, do not keep; a value that is not known (NaN) keeps none."""
    return [
        MissedLimit(limit=limit, value=None if math.isnan(value) else float(value))
        for limit in limits
        if not limit.excess_fraction(value := values[limit.objective]) <= 0
    ]


def _eligible(study: Tune, candidates: pd.DataFrame, trials: pd.DataFrame, reference_id: str) -> list[str]:
    """Ids of the candidates that may be chosen if they keep the limits, in order."""
    baseline_id = study.baseline_id()
    blocks = study.confirmation.choice_blocks
    enough = max(min(study.protocol.minimum_valid_repetitions, blocks), math.ceil(_LEAST_VALID_FRACTION * blocks))
    may_be_chosen = {*candidates[candidates.durability_accepted & candidates.feasible].configuration_id}
    if study.may_be_recommended(study.baseline_configuration(), str(trials.case.iloc[0])):
        may_be_chosen.add(baseline_id)
    eligible = trials[
        trials.index.isin(may_be_chosen)
        & (trials.index != reference_id)
        & (trials.repetitions_lost_records == 0)
        & (trials.repetitions_valid >= enough)
    ]
    return sorted(eligible.index)


def _log_gains(study: Tune, eligible: Sequence[str], repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Log-gains over the baseline by id and objective, positive where better; NaN of CVs that cannot be compared.

    Without those that share no valid block with the baseline. The baseline's own are 0.
    """
    valid = valid_by_block(repetitions)
    baseline = valid.get(study.baseline_id(), {})
    least = {objective: smallest_value(objective, study.protocol) for objective in study.objective_names}
    rows = {}
    for name in eligible:
        if name == study.baseline_id() and baseline:
            rows[name] = dict.fromkeys(study.objective_names, 0.0)
        elif shared := sorted(baseline.keys() & valid.get(name, {}).keys()):
            own, beside = ([side[block] for block in shared] for side in (valid[name], baseline))
            trial, baseline_trial = (summarise_trials(side, study).iloc[0] for side in (own, beside))
            rows[name] = {o: log_gain(o, trial[o], baseline_trial[o], least[o]) for o in study.objective_names}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(study.objective_names), dtype=float)


def log_gain(objective: ObjectiveName, value: float, baseline_value: float, smallest: float) -> float:
    """The logarithm of how many times better than the baseline's a value is; NaN where that cannot be told.

    A value below `smallest` counts as that.
    """
    value, baseline_value = max(value, smallest), max(baseline_value, smallest)
    if not (value > 0 and baseline_value > 0):
        return float("nan")
    ratio = value / baseline_value if is_maximised(objective) else baseline_value / value
    return math.log(ratio)


def worst_excess_fraction(limits: Sequence[Limit], values: Any) -> float:
    """By which share of its bound the limit that is missed most is missed; infinite where a value is not known."""
    found = [limit.excess_fraction(values[limit.objective]) for limit in limits]
    return max((math.inf if math.isnan(excess) else excess for excess in found), default=0.0)


def best_by(
    study: Tune, asked: ChooseBy, gains: pd.DataFrame, trials: pd.DataFrame, reference_id: str
) -> tuple[str, ChooseBy]:
    """The id that stands first by what is asked, or by the balanced gain for want of CVs; and which it was.

    Args:
        study: The campaign's study.
        asked: As the study or a user asks.
        gains: Log-gains over the baseline, by id; of equals the first wins.
        trials: What was measured, by id.
        reference_id: What the others must beat; it may be missing.
    """
    balanced = dict.fromkeys(study.means, 1.0)
    of_candidates = gains.drop(index=reference_id, errors="ignore")
    if asked == "r1":
        ratios = steadiness(trials, study)
        competing = reference_id not in gains.index or np.isfinite(ratios[reference_id])
        if competing and np.isfinite(ratios[of_candidates.index]).any():
            return str(ratios[gains.index].fillna(-np.inf).idxmax()), asked
    elif of_candidates[objectives_named(asked)].notna().any().all():
        comparable = gains.fillna(0.0)
        if isinstance(asked, Lexicographic):
            return _best_in_order(comparable, asked), asked
        return _heaviest(comparable, asked.weights if isinstance(asked, Weighted) else balanced), asked
    return _heaviest(gains, balanced), "balanced_gain"


def _best_in_order(gains: pd.DataFrame, order: Lexicographic) -> str:
    *earlier, last = order.lexicographic
    for objective in earlier:
        within = math.log1p(-order.within_fraction if is_maximised(objective) else order.within_fraction)
        gains = gains[gains[objective] >= gains[objective].max() - abs(within)]
    return str(gains[last].idxmax())


def _heaviest(gains: pd.DataFrame, weights: Mapping[ObjectiveName, float]) -> str:
    return str((gains[list(weights)] * pd.Series(weights)).sum(axis="columns").idxmax())
