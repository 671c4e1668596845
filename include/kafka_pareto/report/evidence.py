"""Gathers one campaign's artifacts for its report, and makes the tables that follow from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from kafka_pareto.analysis.trials import steadiness
from kafka_pareto.campaign.advice import FollowedAdvice
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint, Phase, Plan, Repetition
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.card_context import CardContext
from kafka_pareto.report.cards import Cards
from kafka_pareto.study.cases import in_order
from kafka_pareto.study.tune import Tune


@dataclass(frozen=True)
class Evidence:
    """One campaign, read. The mappings are by record size in bytes.

    Attributes:
        trials: `TRIAL_COLUMNS` and factors: what the design and the rounds after it measured.
        design_trials: The same of the design alone.
        scores: `SCORE_COLUMNS` of the last round's surrogates.
        fronts: `FRONT_INTERVAL_COLUMNS` and factors: the fronts that the last round's search estimated.
        candidates: `CANDIDATE_INTERVAL_COLUMNS` and factors: what was confirmed.
        confirmed: `TRIAL_COLUMNS` and factors: the choice blocks' trials, every candidate and the baseline, all with
            equally many repetitions.
        repetitions: The confirmation's repetitions, of both phases.
        design: The repetitions of the design and the rounds, failed ones and those that the gate rejected among them.
        noise: The repetitions of the A/A study of the baseline; none where the study spends none on it.
        set_aside: Repetitions that were measured again for a cause that no configuration can have.
        advice: What others advise, and what of it was measured.
        cards: The decisions, adjusted over all record sizes, and their circumstances.
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
    design: Mapping[str, list[Repetition]]
    noise: Mapping[str, list[Repetition]]
    set_aside: Mapping[str, list[Repetition]]
    advice: FollowedAdvice
    cards: Cards
    fingerprints: Mapping[str, Fingerprint]
    plan: Plan

    def decision(self, case: str) -> Decision:
        """The decision of one record size."""
        return next(card for card in self.cards.cards if card.case == case)

    def context(self, case: str) -> CardContext:
        """The circumstances of one record size's decision."""
        return next(found for found in self.cards.contexts if found.case == case)

    def r1_id(self, case: str) -> str | None:
        """The paper's R1 as measured: the candidate with the highest `steadiness`; None without CVs."""
        trials = self.confirmed
        usable = trials[(trials.case == case) & ~trials.is_baseline]
        usable = usable.set_index("configuration_id")
        ratio = steadiness(usable, self.study).dropna()
        return None if ratio.empty else str(ratio.idxmax())

    def newly_confirmed(self) -> pd.DataFrame:
        """The confirmed trials that the design did not measure: unknown to this campaign's surrogates."""
        place = ["case", "configuration_id"]
        known = pd.MultiIndex.from_frame(self.trials[place])
        return self.confirmed[~pd.MultiIndex.from_frame(self.confirmed[place]).isin(known)]

    def valid(self, case: str, phase: Phase, configuration_id: str) -> list[Repetition]:
        """One configuration's valid repetitions of one phase, by block."""
        found = [
            r
            for r in self.repetitions[case]
            if r.phase == phase and r.configuration_id == configuration_id and r.outcome == "valid"
        ]
        return sorted(found, key=lambda r: r.block)

    def measured_on(self, case: str) -> str:
        """The day (UTC) of the last confirmation repetition; equal evidence gives equal files."""
        return max((r.started_at[:10] for r in self.repetitions[case]), default="not measured")


def r2_table(evidence: Evidence) -> pd.DataFrame:
    """R2 per objective, pooled (`case` empty) and within each record size."""
    order = {objective: at for at, objective in enumerate(evidence.study.objective_names)}
    place = {case: at for at, case in enumerate(in_order(evidence.scores.case.dropna().unique()))}
    scores = evidence.scores.assign(order=evidence.scores.objective.map(order), place=evidence.scores.case.map(place))
    ordered = scores.sort_values(["order", "place"], na_position="first")
    return ordered.drop(columns=["order", "place"]).reset_index(drop=True)


def estimates_table(evidence: Evidence) -> pd.DataFrame:
    """Estimated beside measured (choice blocks) for every confirmed point, with repetition ids.

    Columns: record size, id, roles, factors; per objective `estimated_…` and `measured_…`, and of means the ends of the
    estimate's interval; `repetition_ids`.
    """
    measured = evidence.confirmed.rename(
        columns={objective: f"measured_{objective}" for objective in evidence.study.objective_names}
    )
    kept = [
        "case",
        "configuration_id",
        *(f"measured_{objective}" for objective in evidence.study.objective_names),
    ]
    tables = [
        candidates.merge(
            measured[[*kept, "repetition_ids", "repetitions_valid"]],
            on=["case", "configuration_id"],
            how="left",
        )
        for candidates in evidence.candidates.values()
    ]
    table = pd.concat(tables, ignore_index=True)
    pairs = [
        f"{kind}_{objective}" for objective in evidence.study.objective_names for kind in ("estimated", "measured")
    ]
    ends = [f"estimated_{mean}_{end}" for mean in evidence.study.means for end in ("low", "high")]
    names = ["case", "configuration_id", "chosen_as", "durability", *evidence.study.factors, *pairs, *ends]
    table = table[[*names, "repetitions_valid", "repetition_ids"]]
    table["chosen_as"] = table.chosen_as.map(" ".join)
    table["repetition_ids"] = table.repetition_ids.map(lambda ids: "" if isinstance(ids, float) else " ".join(ids))
    return table
