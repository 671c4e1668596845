"""Step `confirm`: measure points of the front in blocks with the active settings and the baseline.

Choice blocks select the pick, and fresh gain blocks provide every claim about it, to avoid selection bias. A gain shown
in them must hold in final blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pandas as pd

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.advice import followed_advice
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.campaign.tables import CANDIDATE_INTERVAL_COLUMNS, FRONT_INTERVAL_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.decision.against_advice import AgainstAdvice, against_advice, best_advice
from kafka_pareto.decision.choice import Choice, choose
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.decision.decide import (
    MOST_TIMES,
    advice_is_preferable,
    advice_may_replace,
    beside_advice,
    decide,
    further_blocks,
    more_beside_advice,
)
from kafka_pareto.decision.decision import Decision, FoundActiveSettings
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.driver_runtime import RepetitionRunner
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase, Race
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.report.answer import decision_line
from kafka_pareto.rollout.find_active_settings import find_active_settings
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.tune import Tune

log = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, runner: RepetitionRunner) -> Manifest:
    """Measure the candidates alongside the active settings, choose one, measure it again, and decide."""
    keys = campaign.keys
    confirming = _Confirming(campaign, case, runner)
    decision = confirming.decision()
    # Excludes the gain blocks, which would favor the one candidate that has them.
    trials = summarise_trials(confirming.choice_repetitions, campaign.tune)
    written = [
        keys.confirmation(case, "in_force.json"),
        keys.confirmation(case, "candidates.parquet"),
        campaign.write_table(keys.confirmation(case, "trials.parquet"), trials, TRIAL_COLUMNS),
        campaign.write_record(keys.confirmation(case, "decision.json"), decision),
    ]
    log.info("decision: %s", decision_line(decision, campaign.tune.declaration))
    counts = {"candidates": len(confirming.candidates), "repetitions": confirming.repetitions}
    return campaign.manifest("confirm", [keys.confirmation(case, "repetitions/"), *written], counts, [case])


class _Confirming:
    """One case's confirmation, phase by phase; stored repetitions are not measured again."""

    def __init__(self, campaign: Campaign, case: str, runner: RepetitionRunner) -> None:
        self._campaign, self._study, self._case = campaign, campaign.tune, case
        self._confirmation = campaign.tune.confirmation
        self._found = _find_active_settings(campaign, case)
        self._in_force_id = self._found.settings.configuration_id if self._found.settings else None
        self.candidates = _candidates(campaign, case, self._found)
        self._always = [baseline_candidate(campaign, case)]
        if settings := self._found.settings:
            self._always.append(Candidate(settings.configuration_id, False, settings.configuration))
        # Candidates stored by an earlier try may include settings activated since.
        always_ids = {each.configuration_id for each in self._always}
        stored = candidates_of(self.candidates, campaign.tune)
        self._others = [each for each in stored if each.configuration_id not in always_ids]
        self._advised = followed_advice(campaign).titles(case)
        self._measurer = Measurer(campaign.study, runner)
        self._store = RepetitionStore(campaign, campaign.keys.confirmation(case, "repetitions/"))
        self.choice_repetitions: list[Repetition] = []
        self.repetitions = 0

    def decision(self) -> Decision:
        """Choose, compare with the active settings and the best advice, and state the gains."""
        in_play = [*self._always, *self._others]
        self.choice_repetitions = self._measured("choice", in_play, self._confirmation.choice_blocks)
        choice = choose(self._study, self.candidates, self.choice_repetitions, self._in_force_id)
        log.info("pick after %d choice blocks: %s", self._confirmation.choice_blocks, choice.configuration_id)
        if choice.configuration_id == (self._in_force_id or self._study.baseline_id()):
            return self._decided(choice, [])
        advice_id = best_advice(self._study, self.candidates, self.choice_repetitions, self._advised, self._in_force_id)
        wanted = choice.configuration_id, advice_id
        finalists = [*self._always, *(each for each in self._others if each.configuration_id in wanted)]
        gain = self._gain_blocks(choice, advice_id, finalists)
        decision, final = self._with_final_blocks(choice, finalists, gain, [])
        if advice_id is None or self._decided(_advised(choice, advice_id), gain, final).is_disqualified:
            return decision
        final = [*final, *self._until_not_worse(choice, decision, advice_id, finalists, gain, final)]
        return self._beside_advice(choice, advice_id, finalists, gain, final)

    def _gain_blocks(self, choice: Choice, advice_id: str | None, finalists: list[Candidate]) -> list[Repetition]:
        """Measure until the pick is answered; if it is rejected, until the advice is."""
        answered_after: int | None = None

        def until_answered(block: Block, before: list[Repetition]) -> Block:
            nonlocal answered_after
            gain = [each for each in before if each.phase == "gain"]
            used, decision = _blocks_in(gain), self._decided(choice, gain)
            if answered_after is None:
                if not decision.is_answered:
                    return block
                answered_after = used
                log.info("conclusive after %d gain blocks", used)
            most = MOST_TIMES * max(answered_after, self._confirmation.minimum_blocks)
            if advice_id is None or used >= most or (decision.is_answered and not decision.is_rejected):
                return []
            # A block for the advice may reopen the question of the pick.
            is_settled = decision.is_rejected and self._decided(_advised(choice, advice_id), gain).is_answered
            return [] if is_settled else block

        race = until_answered if self._confirmation.is_sequential else None
        return self._measured("gain", finalists, self._confirmation.gain_blocks, race=race)

    def _with_final_blocks(
        self, choice: Choice, finalists: list[Candidate], gain: list[Repetition], final: list[Repetition]
    ) -> tuple[Decision, list[Repetition]]:
        decision = self._decided(choice, gain, final)
        while blocks := further_blocks(decision, _blocks_in(final), self._confirmation):
            first = self._confirmation.gain_blocks + _blocks_in(final)
            final = [*final, *self._measured("final", finalists, blocks, first)]
            decision = self._decided(choice, gain, final)
        return decision, final

    def _until_not_worse(
        self,
        choice: Choice,
        decision: Decision,
        advice_id: str,
        finalists: list[Candidate],
        gain: list[Repetition],
        final: list[Repetition],
    ) -> list[Repetition]:
        """Measure final blocks until they rule out that an offered pick is worse than the advice or hardly could."""
        used = _blocks_in([*gain, *final])
        most = more_beside_advice(decision, _blocks_in(gain), used, self._confirmation)

        def until_not_worse(block: Block, before: list[Repetition]) -> Block:
            fresh = [each for each in before if each.phase in ("gain", "final")]
            left = max(used + most - _blocks_in(fresh), 0)
            may_close = self._against(choice, advice_id, fresh).may_close(decision.harm_margin_fraction, left)
            return block if may_close else []

        first = self._confirmation.gain_blocks + _blocks_in(final)
        return self._measured("final", finalists, most, first, until_not_worse)

    def _beside_advice(
        self,
        choice: Choice,
        advice_id: str,
        finalists: list[Candidate],
        gain: list[Repetition],
        final: list[Repetition],
    ) -> Decision:
        """Decide on the pick, or on the advice if the pick may be worse or is not offered."""
        pick, advised = self._decided(choice, gain, final), self._decided(_advised(choice, advice_id), gain, final)
        advice = self._against(choice, advice_id, [*gain, *final])
        if not advised.is_disqualified and advice_is_preferable(pick, advice):
            advised, final = self._with_final_blocks(_advised(choice, advice_id), finalists, gain, final)
            pick = self._decided(choice, gain, final)
            advice = self._against(choice, advice_id, [*gain, *final])
            if advice_is_preferable(pick, advice) and advice_may_replace(advised, pick):
                log.info("the advice of %s replaces the pick", " and ".join(advice.titles))
                replaced = {"in_place_of": self._factors_of(choice.configuration_id), "pick_was_offered": pick.offered}
                return beside_advice(advised, advice.model_copy(update=replaced))
        return pick if advised.is_disqualified else beside_advice(pick, advice)

    def _measured(
        self, phase: Phase, configurations: list[Candidate], blocks: int, first_block: int = 0, race: Race | None = None
    ) -> list[Repetition]:
        planned = plan_blocks(
            configurations,
            blocks,
            order="blocks",
            phase=phase,
            case=self._case,
            seed=self._study.seed,
            first_block=first_block,
        )
        found = self._measurer.measure(MeasurementPhase(planned, self._store, race))
        self.repetitions += len(found)
        return found

    def _decided(self, choice: Choice, gain: Sequence[Repetition], final: Sequence[Repetition] = ()) -> Decision:
        return decide(
            self._study,
            self._case,
            choice,
            self.candidates,
            choice_repetitions=self.choice_repetitions,
            gain_repetitions=gain,
            final_repetitions=final,
            found=self._found,
            discarded=self._campaign.read_repetitions(self._campaign.keys.confirmation(self._case, "set_aside/")),
        )

    def _against(self, choice: Choice, advice_id: str, repetitions: Sequence[Repetition]) -> AgainstAdvice:
        advice = advice_id, self._factors_of(advice_id), self._advised[advice_id]
        return against_advice(self._study, choice.configuration_id, *advice, repetitions)

    def _factors_of(self, configuration_id: str) -> dict[str, FactorValue]:
        in_play = [*self._always, *self._others]
        return next(each.configuration for each in in_play if each.configuration_id == configuration_id)


def _advised(choice: Choice, advice_id: str) -> Choice:
    return choice.model_copy(update={"configuration_id": advice_id})


def _blocks_in(repetitions: Sequence[Repetition]) -> int:
    return len({(each.phase, each.block) for each in repetitions})


def _find_active_settings(campaign: Campaign, case: str) -> FoundActiveSettings:
    """Return the active settings as found by an earlier try, else the current ones."""
    key = campaign.keys.confirmation(case, "in_force.json")
    try:
        return campaign.read_record(key, FoundActiveSettings)
    except MissingArtifactError:
        begun = campaign.store.keys(campaign.keys.confirmation(case, "repetitions/"))
        found = FoundActiveSettings(newest_version=None) if begun else find_active_settings(campaign, case)
        campaign.write_record(key, found)
    if found.settings:
        log.info("active version %d is measured alongside the baseline", found.settings.version)
    elif found.left_out:
        log.info("active version %d is not comparable: %s", found.newest_version, "; ".join(found.left_out))
    return found


def _candidates(campaign: Campaign, case: str, found: FoundActiveSettings) -> pd.DataFrame:
    """Return the points selected by an earlier try, else newly selected ones."""
    key = campaign.keys.confirmation(case, "candidates.parquet")
    try:
        return campaign.read_table(key, CANDIDATE_INTERVAL_COLUMNS)
    except MissingArtifactError:
        last_round = campaign.last_round()
        front = campaign.read_table(campaign.keys.front(case, last_round), FRONT_INTERVAL_COLUMNS)
        trials = campaign.read_table(campaign.keys.trials(last_round), TRIAL_COLUMNS)
        if found.settings:  # already in every block
            front, trials = (each[each.configuration_id != found.settings.configuration_id] for each in (front, trials))
        own = trials[trials.case == case]
        candidates = select_candidates(
            without_losses(front, own),
            own,
            campaign.tune,
            campaign.tune.confirmation.points,
            followed_advice(campaign).titles(case),
        )
        candidates = _with_intervals(candidates, front, campaign.tune)
        campaign.write_table(key, candidates, CANDIDATE_INTERVAL_COLUMNS)
        return candidates


def without_losses(front: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a case's front whose configuration has not lost or duplicated records in its trials."""
    return front[~front.configuration_id.isin(trials[trials.repetitions_lost_records > 0].configuration_id)]


def _with_intervals(candidates: pd.DataFrame, front: pd.DataFrame, study: Tune) -> pd.DataFrame:
    """Add the ends of the front's intervals; NaN for a candidate without an estimate."""
    ends = [f"estimated_{mean}_{end}" for mean in study.means for end in ("low", "high")]
    table = candidates.merge(front[["configuration_id", *ends]], on="configuration_id", how="left")
    for name in ends:
        table[name] = table[name].where(table[name.rpartition("_")[0]].notna())
    return table
