"""Choose the confirmed candidate to compare with the active configuration on fresh blocks.

The choice blocks favor the pick, so no gain is computed from them.
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
    """A missed limit and the measured value; None if unknown."""

    limit: Limit
    value: float | None


class Choice(Frozen):
    """The pick of the choice blocks, and its criterion.

    Attributes:
        configuration_id: The active configuration's if no candidate beats it or none may be chosen.
        chosen_by: As the study asks, or `balanced_gain` if it asks for CVs that are missing.
        nearest_configuration_id: If no candidate meets every limit, the one whose worst miss, `limits_missed`, is
            smallest.
        baseline_limits_missed: The limits that the baseline, which is exempt, misses in the same blocks.
        in_force_limits_missed: The same of active settings other than the baseline.
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
    """Choose one configuration of a case by its choice blocks.

    Eligible are candidates within the constraints, of accepted durability, without lost or duplicated records, with
    enough valid repetitions (the protocol's minimum, and 80 % of the choice blocks), that meet every limit on average.
    The active settings (`in_force_id`, if not the baseline) compete unless they break a limit or lost records; ties go
    to them, then to the smaller id. The baseline then is an ordinary candidate. By `choose_by`:

    - `r1`: the largest throughput over throughput CV, or what the driver declares instead.
    - `balanced_gain`: the largest sum of the means' log-gains over the baseline.
    - weights: the largest sum of weighted log-gains over the baseline.
    - an order: those within `within_fraction` of the best in the first objective, then in the second, and so on; the
      last objective decides outright. So the reference stays unless beaten by more than this, or equalled and beaten
      in the last.

    Gains are over the baseline in common blocks. A CV missing or zero on either side (too few distinct values rather
    than perfect steadiness) is no gain; if no candidate has one that is asked for, `balanced_gain` decides. With
    `beats_reference=False` the best candidate wins even if the baseline or the active settings are better.
    """
    asked, baseline_id = study.confirmation.choose_by, study.baseline_id()
    reference_id = in_force_id or baseline_id
    trials = summarise_trials(choice_repetitions, study).set_index("configuration_id")
    eligible = _eligible(study, candidates, trials, reference_id)
    # The reference first, then IDs in order: among equals the first wins.
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
    """Return the limits that these values, by objective, miss; an unknown value (NaN) misses all."""
    return [
        MissedLimit(limit=limit, value=None if math.isnan(value) else float(value))
        for limit in limits
        if not limit.excess_fraction(value := values[limit.objective]) <= 0
    ]


def _eligible(study: Tune, candidates: pd.DataFrame, trials: pd.DataFrame, reference_id: str) -> list[str]:
    """Return the IDs, in order, of the candidates that may be chosen if they meet the limits."""
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
    """Return log-gains over the baseline by ID and objective, positive if better; NaN for CVs that cannot be compared.

    IDs without a valid block in common with the baseline are excluded; the baseline's gains are 0.
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
    """Return the log of how many times better than the baseline a value is, at least `smallest`; NaN if unknown."""
    value, baseline_value = max(value, smallest), max(baseline_value, smallest)
    if not (value > 0 and baseline_value > 0):
        return float("nan")
    ratio = value / baseline_value if is_maximised(objective) else baseline_value / value
    return math.log(ratio)


def worst_excess_fraction(limits: Sequence[Limit], values: Any) -> float:
    """Return the largest miss of a limit, as a share of its bound; infinite if a value is unknown."""
    found = [limit.excess_fraction(values[limit.objective]) for limit in limits]
    return max((math.inf if math.isnan(excess) else excess for excess in found), default=0.0)


def best_by(
    study: Tune, asked: ChooseBy, gains: pd.DataFrame, trials: pd.DataFrame, reference_id: str
) -> tuple[str, ChooseBy]:
    """Return the best ID by the requested criterion, or by the balanced gain if CVs are missing, and the criterion.

    `gains` are log-gains over the baseline by id, the first winning ties; `trials` are by ID. The others must beat the
    reference, which may be missing.
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
