"""Collect a campaign's artifacts for its report, and build the tables derived from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from kafka_pareto.analysis.trials import steadiness
from kafka_pareto.campaign.advice import FollowedAdvice
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint, Phase, Plan, Repetition
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.card_context import CardContext
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.measured_case import MeasuredCase
from kafka_pareto.study.cases import in_order
from kafka_pareto.study.tune import Tune


@dataclass(frozen=True)
class Evidence:
    """The artifacts of one campaign. Mappings are by case.

    Attributes:
        trials: `TRIAL_COLUMNS` and factors of the design and the rounds.
        design_trials: The same for the design alone.
        scores: `SCORE_COLUMNS` of the last round's surrogates.
        fronts: `FRONT_INTERVAL_COLUMNS` and factors of the last round's estimated fronts.
        candidates: `CANDIDATE_INTERVAL_COLUMNS` and factors of the confirmed configurations.
        confirmed: `TRIAL_COLUMNS` and factors of the choice blocks: every candidate and the baseline, with equally many
            repetitions.
        repetitions: The confirmation's, of all three phases (choice, gain, final).
        measured: All repetitions, with failed and rejected ones and the A/A test, reduced to what is shown.
        advice: Published advice, and what of it was measured.
        cards: The decisions and their circumstances.
    """

    study: Tune
    keys: CampaignKeys
    trials: pd.DataFrame
    design_trials: pd.DataFrame
    scores: pd.DataFrame
    fronts: Mapping[str, pd.DataFrame]
    candidates: Mapping[str, pd.DataFrame]
    confirmed: pd.DataFrame
    repetitions: Mapping[str, list[Repetition]]
    measured: Mapping[str, MeasuredCase]
    advice: FollowedAdvice
    cards: Cards
    fingerprints: Mapping[str, Fingerprint]
    plan: Plan

    def decision(self, case: str) -> Decision:
        """Return the decision of one case."""
        return next(card for card in self.cards.cards if card.case == case)

    def context(self, case: str) -> CardContext:
        """Return the circumstances of one case's decision."""
        return next(found for found in self.cards.contexts if found.case == case)

    def r1_id(self, case: str) -> str | None:
        """Return the measured counterpart of the paper's R1: the candidate with the highest `steadiness`, if any."""
        trials = self.confirmed[(self.confirmed.case == case) & ~self.confirmed.is_baseline]
        ratio = steadiness(trials.set_index("configuration_id"), self.study).dropna()
        return None if ratio.empty else str(ratio.idxmax())

    def newly_confirmed(self) -> pd.DataFrame:
        """Return the confirmed trials outside the design, which the surrogates have not seen."""
        place = ["case", "configuration_id"]
        known = pd.MultiIndex.from_frame(self.trials[place])
        return self.confirmed[~pd.MultiIndex.from_frame(self.confirmed[place]).isin(known)]

    def valid(self, case: str, phases: Collection[Phase], configuration_id: str) -> list[Repetition]:
        """Return one configuration's valid repetitions of these phases, by block."""
        wanted = (configuration_id, "valid")
        of_phases = [r for r in self.repetitions[case] if r.phase in phases]
        return sorted((r for r in of_phases if (r.configuration_id, r.outcome) == wanted), key=lambda r: r.block)

    def measured_on(self, case: str) -> str:
        """Return the day (UTC) of the last confirmation repetition, so that equal evidence gives equal files."""
        return max((r.started_at[:10] for r in self.repetitions[case]), default="not measured")


def r2_table(evidence: Evidence) -> pd.DataFrame:
    """Return R2 per objective, pooled (`case` empty) and within each case."""
    order = {objective: at for at, objective in enumerate(evidence.study.objective_names)}
    place = {case: at for at, case in enumerate(in_order(evidence.scores.case.dropna().unique()))}
    scores = evidence.scores.assign(order=evidence.scores.objective.map(order), place=evidence.scores.case.map(place))
    ordered = scores.sort_values(["order", "place"], na_position="first")
    return ordered.drop(columns=["order", "place"]).reset_index(drop=True)


def estimates_table(evidence: Evidence) -> pd.DataFrame:
    """Return estimates and measurements (choice blocks) of every confirmed point.

    Columns: case, id, roles, factors; per objective `estimated_…` and `measured_…`, and for means the ends of
    the estimate's interval; `repetition_ids`.
    """
    study, place = evidence.study, ["case", "configuration_id"]
    measured = evidence.confirmed.rename(columns={name: f"measured_{name}" for name in study.objective_names})
    kept = [*place, *(f"measured_{name}" for name in study.objective_names), "repetitions_valid", "repetition_ids"]
    candidates = pd.concat(list(evidence.candidates.values()), ignore_index=True)
    pairs = [f"{kind}_{name}" for name in study.objective_names for kind in ("estimated", "measured")]
    ends = [f"estimated_{mean}_{end}" for mean in study.means for end in ("low", "high")]
    names = [*place, "chosen_as", "durability", *study.factors, *pairs, *ends, "repetitions_valid", "repetition_ids"]
    table = candidates.merge(measured[kept], on=place, how="left")[names]
    table["chosen_as"] = table.chosen_as.map(" ".join)
    table["repetition_ids"] = table.repetition_ids.map(lambda ids: "" if isinstance(ids, float) else " ".join(ids))
    return table
