"""The recommendation: which confirmed configuration, with which gains, and whether the evidence carries it. Pure.

The choice is made on one set of blocks and the gains are stated from fresh ones, so that the winner's luck is not
counted. Without enough evidence, or without a gain, the baseline stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from kafka_pareto import statistics
from kafka_pareto.factors import FactorValue, satisfies
from kafka_pareto.gains import LABELS, Gain, compare, resolve
from kafka_pareto.objectives import smallest_latency_ms
from kafka_pareto.producer_properties import PropertyValue
from kafka_pareto.records import Outcome, Record, Repetition
from kafka_pareto.study import OBJECTIVES, Objective, Study
from kafka_pareto.trials import summarise_trials, throughput_per_cv

_MAIN_OBJECTIVES: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s")
_LEAST_VALID_FRACTION = 0.8
_LOST: tuple[Outcome, ...] = ("records_lost", "records_duplicated")

Criterion = Literal["balanced_gain", "r1"]

Verdict = Literal[
    "recommended",
    "keep_baseline_no_gain",
    "keep_baseline_not_enough_evidence",
    "keep_baseline_lost_records",
    "keep_baseline_failed_more",
]


class Decision(Record):
    """What is recommended for one record size, and why. `gains` compare the tentative pick with the baseline.

    Attributes:
        recommended_configuration_id: The baseline's own id when the baseline stays.
        tentative_configuration_id: The pick of the choice blocks; None when none beat the baseline there.
        chosen_by: What the choice went by; `balanced_gain` in place of `r1` where CVs are missing.
        choice_asked_by: What the study asks to choose by.
        reasons: Sentences that say why the verdict is what it is.
        given_up: Sentences: a weaker durability, and each objective shown to be worse.
        tentative_properties: What the producer is told for the pick; None without one.
        baseline_constraints_broken: Constraints that the baseline, exempt from them, breaks at this record size.
        repetitions_lost_records: The pick's repetitions that lost or duplicated records, in any block.
        baseline_repetitions_lost_records: The same of the baseline.
        repetitions_failed: The pick's repetitions that failed, in any block.
        baseline_repetitions_failed: The same of the baseline, in as many blocks.
        generator_bound: The pick's valid gain repetitions in which the load tool, not Kafka, set the pace.
        baseline_generator_bound: The same of the baseline.
        wanted_effect_fraction: The smallest change that matters, as the study states it; less is no difference.
        blocks_used: Gain blocks in which both the pick and the baseline gave a valid repetition.
    """

    record_size_bytes: int
    recommended_configuration_id: str
    baseline_configuration_id: str
    tentative_configuration_id: str | None
    chosen_by: Criterion
    choice_asked_by: Criterion
    verdict: Verdict
    reasons: list[str]
    given_up: list[str]
    baseline_properties: dict[str, PropertyValue]
    tentative_properties: dict[str, PropertyValue] | None
    baseline_durability: str
    tentative_durability: str | None
    weaker_than_baseline: bool
    baseline_constraints_broken: list[str]
    repetitions_lost_records: int
    baseline_repetitions_lost_records: int
    repetitions_failed: int
    baseline_repetitions_failed: int
    generator_bound: int
    baseline_generator_bound: int
    wanted_effect_fraction: float
    gains: list[Gain]
    blocks_used: int
    minimum_blocks: int

    @property
    def recommended(self) -> bool:
        """Whether a change is recommended; otherwise the baseline stays."""
        return self.verdict == "recommended"

    @property
    def main_gains(self) -> list[Gain]:
        """Of p95 latency and throughput: one must be better, and neither shown to be worse."""
        return [gain for gain in self.gains if gain.objective in _MAIN_OBJECTIVES]

    @property
    def recommended_properties(self) -> dict[str, PropertyValue]:
        """What the producer should be told: the pick's settings, or the baseline's where it stays."""
        if self.recommended and self.tentative_properties is not None:
            return self.tentative_properties
        return self.baseline_properties


def choose(study: Study, candidates: pd.DataFrame, choice_repetitions: Sequence[Repetition]) -> str:
    """Picks one configuration from what the choice blocks measured; the baseline's id when none beats it there.

    Only candidates within the constraints, of accepted durability, which neither lost nor duplicated a record and
    have enough valid repetitions: the protocol's minimum, and 80 % of the choice blocks. Each is scored on the blocks
    that it shares with the baseline. `choose_by: balanced_gain` takes the largest log(throughput gain) + log(p95
    latency gain); `r1` the largest throughput over throughput CV (without CVs: as `balanced_gain`). Ties fall to the
    smaller id.

    Args:
        study: The campaign's study.
        candidates: `CANDIDATE_COLUMNS` and factors of one record size.
        choice_repetitions: The choice blocks' repetitions of the same record size, the baseline's among them.
    """
    scores, _ = _scores(study, candidates, choice_repetitions)
    # The baseline stands first, then ids in order: idxmax takes the first of equals.
    return study.baseline_id() if scores.empty else str(scores.idxmax())


def decide(
    study: Study,
    record_size_bytes: int,
    chosen_id: str,
    candidates: pd.DataFrame,
    *,
    choice_repetitions: Sequence[Repetition],
    gain_repetitions: Sequence[Repetition],
    rng: np.random.Generator,
) -> Decision:
    """States the chosen configuration's gains from the gain blocks alone, and what follows from them.

    Args:
        study: The campaign's study.
        record_size_bytes: The record size decided for.
        chosen_id: What `choose` returned.
        candidates: `CANDIDATE_COLUMNS` and factors of this record size.
        choice_repetitions: The choice blocks' repetitions; here asked for losses, failures and the criterion.
        gain_repetitions: Fresh repetitions of the chosen configuration and the baseline (none if they are the same).
        rng: For the bootstrap of the CVs.
    """
    baseline = study.baseline_configuration()
    baseline_id = study.baseline_id()
    both = [*choice_repetitions, *gain_repetitions]
    chosen = None if chosen_id == baseline_id else _configuration(study, candidates, chosen_id)
    baseline_gain, chosen_gain = ([], []) if chosen is None else _paired(baseline_id, chosen_id, gain_repetitions)
    compared = [] if chosen is None else OBJECTIVES
    undecided = Decision(
        record_size_bytes=record_size_bytes,
        recommended_configuration_id=baseline_id,
        baseline_configuration_id=baseline_id,
        tentative_configuration_id=None if chosen is None else chosen_id,
        chosen_by=_scores(study, candidates, choice_repetitions)[1],
        choice_asked_by=study.confirmation.choose_by,
        verdict="keep_baseline_no_gain",
        reasons=[],
        given_up=[],
        baseline_properties=study.producer_properties(baseline),
        tentative_properties=None if chosen is None else study.producer_properties(chosen),
        baseline_durability=study.durability_of(baseline).name,
        tentative_durability=None if chosen is None else study.durability_of(chosen).name,
        weaker_than_baseline=chosen is not None and study.durability_of(chosen) < study.durability_of(baseline),
        baseline_constraints_broken=[
            text
            for text, constraint in zip(study.constraints, study.parsed_constraints(), strict=True)
            if not satisfies([constraint], baseline, record_size_bytes)
        ],
        repetitions_lost_records=0 if chosen is None else _count_of(both, chosen_id, _LOST),
        baseline_repetitions_lost_records=_count_of(both, baseline_id, _LOST),
        repetitions_failed=0 if chosen is None else _count_of(both, chosen_id, ["failed"]),
        baseline_repetitions_failed=_count_of(both, baseline_id, ["failed"]),
        generator_bound=sum(bool(r.generator_bound) for r in chosen_gain),
        baseline_generator_bound=sum(bool(r.generator_bound) for r in baseline_gain),
        wanted_effect_fraction=study.confirmation.wanted_effect_fraction,
        gains=[compare(objective, baseline_gain, chosen_gain, study.protocol, rng) for objective in compared],
        blocks_used=len(chosen_gain),
        minimum_blocks=study.confirmation.minimum_blocks,
    )
    return adjust_across_record_sizes([undecided])[0]


def adjust_across_record_sizes(decisions: Sequence[Decision]) -> list[Decision]:
    """Applies Holm over all objectives of all these decisions and concludes each of them anew.

    A gain that was significant within its record size may not be so among all: then the baseline stays. Decisions
    without enough blocks claim nothing, and so do not count among the comparisons.
    """
    claiming = [decision for decision in decisions if decision.blocks_used >= decision.minimum_blocks]
    p_values = [gain.p_value for decision in claiming for gain in decision.gains]
    adjusted = iter(statistics.holm([float("nan") if p is None else p for p in p_values]))
    concluded = []
    for decision in decisions:
        claims = decision.blocks_used >= decision.minimum_blocks
        gains = [
            resolve(gain, next(adjusted) if claims else float("nan"), decision.wanted_effect_fraction)
            for gain in decision.gains
        ]
        concluded.append(_concluded(decision.model_copy(update={"gains": gains})))
    return concluded


def _scores(
    study: Study, candidates: pd.DataFrame, choice_repetitions: Sequence[Repetition]
) -> tuple[pd.Series, Criterion]:
    """Scores by configuration id, the baseline's first, and what they score by; empty where nothing can be chosen."""
    asked = study.confirmation.choose_by
    trials = summarise_trials(choice_repetitions, study).set_index("configuration_id")
    may_be_chosen = candidates[candidates.durability_accepted & candidates.feasible].configuration_id
    eligible = trials[
        trials.index.isin(may_be_chosen)
        & (trials.index != study.baseline_id())
        & (trials.repetitions_lost_records == 0)
        & (trials.repetitions_valid >= _enough_valid(study))
    ]
    valid = _valid_by_block(choice_repetitions)
    baseline = valid.get(study.baseline_id(), {})
    pairs = []
    for name in sorted(eligible.index):
        shared = sorted(baseline.keys() & valid[name].keys())
        if shared:
            own, beside = [valid[name][block] for block in shared], [baseline[block] for block in shared]
            pairs.append((summarise_trials(own, study).iloc[0], summarise_trials(beside, study).iloc[0]))
    if not pairs:
        return pd.Series(dtype=float), asked
    if asked == "r1":
        considered = pd.DataFrame([trials.loc[study.baseline_id()], *(own for own, _ in pairs)])
        ratios = throughput_per_cv(considered.throughput_mib_s.astype(float), considered.throughput_cv.astype(float))
        ratios.index = pd.Index([study.baseline_id(), *(own.configuration_id for own, _ in pairs)])
        if np.isfinite(ratios.iloc[0]) and np.isfinite(ratios.iloc[1:]).any():
            return ratios.where(np.isfinite(ratios), -np.inf), "r1"
    least_ms = smallest_latency_ms(study.protocol)
    gains = {own.configuration_id: _balanced_gain(own, beside, least_ms) for own, beside in pairs}
    return pd.Series({study.baseline_id(): 0.0, **gains}), "balanced_gain"


def _enough_valid(study: Study) -> int:
    blocks = study.confirmation.choice_blocks
    return max(min(study.protocol.minimum_valid_repetitions, blocks), math.ceil(_LEAST_VALID_FRACTION * blocks))


def _valid_by_block(repetitions: Sequence[Repetition]) -> dict[str, dict[int, Repetition]]:
    found: dict[str, dict[int, Repetition]] = {}
    for repetition in repetitions:
        if repetition.outcome == "valid":
            found.setdefault(repetition.configuration_id, {})[repetition.block] = repetition
    return found


def _balanced_gain(candidate: Any, baseline: Any, smallest_latency_ms: float) -> float:
    latency, baseline_latency = (max(trial.p95_latency_ms, smallest_latency_ms) for trial in (candidate, baseline))
    return math.log(candidate.throughput_mib_s / baseline.throughput_mib_s * baseline_latency / latency)


def _configuration(study: Study, candidates: pd.DataFrame, chosen_id: str) -> dict[str, FactorValue]:
    row: Any = candidates[candidates.configuration_id == chosen_id].iloc[0]
    return {name: value.item() if isinstance(value := row[name], np.generic) else value for name in study.factors}


def _count_of(repetitions: Sequence[Repetition], configuration_id: str, outcomes: Sequence[Outcome]) -> int:
    return sum(r.configuration_id == configuration_id and r.outcome in outcomes for r in repetitions)


def _paired(
    baseline_id: str, chosen_id: str, repetitions: Sequence[Repetition]
) -> tuple[list[Repetition], list[Repetition]]:
    """Valid repetitions of the baseline and of the chosen configuration, in the blocks that have both."""
    valid = _valid_by_block(repetitions)
    baseline, chosen = valid.get(baseline_id, {}), valid.get(chosen_id, {})
    blocks = sorted(baseline.keys() & chosen.keys())
    return [baseline[block] for block in blocks], [chosen[block] for block in blocks]


def _concluded(decision: Decision) -> Decision:
    verdict, reason = _verdict(decision)
    chosen = decision.tentative_configuration_id
    recommended = chosen if verdict == "recommended" and chosen is not None else decision.baseline_configuration_id
    return decision.model_copy(
        update={
            "verdict": verdict,
            "recommended_configuration_id": recommended,
            "reasons": [reason],
            "given_up": _given_up(decision),
        }
    )


def _verdict(decision: Decision) -> tuple[Verdict, str]:
    if decision.tentative_configuration_id is None:
        return "keep_baseline_no_gain", "No measured configuration that may be chosen beat the settings in use."
    if lost := decision.repetitions_lost_records:
        return "keep_baseline_lost_records", f"The pick lost or duplicated records in {_count(lost, 'repetition')}."
    if (failed := decision.repetitions_failed) > decision.baseline_repetitions_failed:
        return (
            "keep_baseline_failed_more",
            f"The pick failed in {_count(failed, 'repetition')}, the settings in use in "
            f"{decision.baseline_repetitions_failed}.",
        )
    if decision.blocks_used < decision.minimum_blocks:
        return (
            "keep_baseline_not_enough_evidence",
            f"Not enough evidence: {_count(decision.blocks_used, 'complete block')} measured, the study asks for "
            f"{decision.minimum_blocks}.",
        )
    main = decision.main_gains
    better = [LABELS[gain.objective] for gain in main if gain.resolution == "better"]
    worse = [LABELS[gain.objective] for gain in main if gain.resolution == "worse"]
    if worse:
        gained = f", although {' and '.join(better)} improved" if better else ""
        return "keep_baseline_no_gain", f"The pick made {' and '.join(worse)} worse{gained}."
    if not better:
        standing = "; ".join(_standing(gain, decision.wanted_effect_fraction) for gain in main)
        return "keep_baseline_no_gain", f"Fresh blocks show no gain: {standing}."
    if unjudged := [LABELS[gain.objective] for gain in main if _is_unjudged(gain)]:
        return (
            "keep_baseline_not_enough_evidence",
            f"Not enough evidence: {' and '.join(unjudged)} may have changed, and these blocks have no spread to judge "
            "it by.",
        )
    other = [f"{LABELS[g.objective]}: {g.resolution}" for g in main if g.resolution != "better"]
    beside = f" ({'; '.join(other)})" if other else ""
    return "recommended", f"Fresh blocks show better {' and '.join(better)}{beside}."


def _is_unjudged(gain: Gain) -> bool:
    """Not resolved and without an interval, though it is not known to be equal."""
    return gain.resolution == "not resolved" and gain.change_low_fraction is None and gain.change_fraction != 0


def _standing(gain: Gain, wanted_effect_fraction: float) -> str:
    label = LABELS[gain.objective]
    if gain.resolution == "no difference shown":
        return f"{label} does not differ by more than {wanted_effect_fraction:.0%}"
    return f"{label} is not resolved by this budget"


def _given_up(decision: Decision) -> list[str]:
    sentences = []
    if decision.weaker_than_baseline:
        sentences.append(f"durability: {decision.tentative_durability} instead of {decision.baseline_durability}")
    for gain in decision.gains:
        if gain.resolution == "worse":
            change = "" if gain.change_fraction is None else f" by {abs(gain.change_fraction):.0%}"
            sentences.append(f"{LABELS[gain.objective]} is worse{change}")
    return sentences


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
