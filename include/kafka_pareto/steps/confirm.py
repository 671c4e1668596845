"""Step `confirm`: points of the front on the real cluster, in blocks with what is in force and the baseline.

The choice is made on one set of blocks, the claim on fresh ones, and what the pick brings is stated from later ones, so
that no selection's luck is counted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.campaign.tables import CANDIDATE_INTERVAL_COLUMNS, FRONT_INTERVAL_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.decision.choice import choose
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.decision.decide import decide, further_blocks
from kafka_pareto.decision.decision import Decision
from kafka_pareto.decision.in_force import FoundInForce
from kafka_pareto.decision.stopping import is_answered
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase, Race
from kafka_pareto.measurement.repetition_runner import RepetitionRunner
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.rollout.found_in_force import found_in_force
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.tune import Tune

log = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, runner: RepetitionRunner) -> Manifest:
    """Measures the candidates beside what is in force, chooses one, measures it afresh, and decides."""
    study, keys = campaign.tune, campaign.keys
    found = _found_in_force(campaign, case)
    candidates = _candidates(campaign, case, found)
    always = [baseline_candidate(campaign), *_settings_in_force(found)]
    # Candidates that an earlier try has stored may hold what came into force since.
    always_ids = {each.configuration_id for each in always}
    in_play = [*always, *(each for each in candidates_of(candidates, study) if each.configuration_id not in always_ids)]
    measurer = Measurer(campaign.study, runner)
    prefix = keys.confirmation(case, "repetitions/")
    stored = RepetitionStore(campaign, prefix)

    def measured(
        phase: Phase, configurations: list[Candidate], blocks: int, first_block: int = 0, race: Race | None = None
    ) -> list[Repetition]:
        planned = plan_blocks(
            configurations,
            blocks,
            order="blocks",
            phase=phase,
            case=case,
            seed=study.seed,
            first_block=first_block,
        )
        return measurer.measure(MeasurementPhase(planned, stored, race))

    confirmation, in_force_id = study.confirmation, found.settings.configuration_id if found.settings else None
    choice_repetitions = measured("choice", in_play, confirmation.choice_blocks)
    choice = choose(study, candidates, choice_repetitions, in_force_id)
    chosen_id = choice.configuration_id
    log.info("chosen from %d blocks: %s", confirmation.choice_blocks, chosen_id)
    finalists = [*always, *(each for each in in_play[len(always) :] if each.configuration_id == chosen_id)]

    def decided(gain: Sequence[Repetition], final: Sequence[Repetition] = ()) -> Decision:
        return decide(
            study,
            case,
            choice,
            candidates,
            choice_repetitions=choice_repetitions,
            gain_repetitions=gain,
            final_repetitions=final,
            found=found,
            rng=np.random.default_rng([study.seed, case_seed(case)]),
        )

    def until_answered(block: Block, before: list[Repetition]) -> Block:
        if not is_answered(decided([each for each in before if each.phase == "gain"])):
            return block
        log.info("answered by %d blocks", block[0].block)
        return []

    gain: list[Repetition] = []
    if chosen_id != (in_force_id or study.baseline_id()):
        race = until_answered if confirmation.is_sequential else None
        gain = measured("gain", finalists, confirmation.gain_blocks, race=race)
    decision = decided(gain)
    final: list[Repetition] = []
    while blocks := further_blocks(decision, len({each.block for each in final}), confirmation):
        first = confirmation.gain_blocks + len({each.block for each in final})
        final += measured("final", finalists, blocks, first)
        decision = decided(gain, final)
    # Without the gain blocks: they would favour the one candidate that has them.
    trials_key = keys.confirmation(case, "trials.parquet")
    written = [
        keys.confirmation(case, "in_force.json"),
        keys.confirmation(case, "candidates.parquet"),
        campaign.write_table(trials_key, summarise_trials(choice_repetitions, study), TRIAL_COLUMNS),
        campaign.write_record(keys.confirmation(case, "decision.json"), decision),
    ]
    runner.clean_up()
    counts = {"candidates": len(candidates), "repetitions": len(choice_repetitions) + len(gain) + len(final)}
    return campaign.manifest("confirm", [prefix, *written], counts, [case])


def _found_in_force(campaign: Campaign, case: str) -> FoundInForce:
    """Returns what is in force: as an earlier try of this task has found it, else as it is now."""
    key = campaign.keys.confirmation(case, "in_force.json")
    try:
        return campaign.read_record(key, FoundInForce)
    except MissingArtifactError:
        begun = campaign.store.keys(campaign.keys.confirmation(case, "repetitions/"))
        found = FoundInForce(newest_version=None) if begun else found_in_force(campaign, case)
        campaign.write_record(key, found)
    if found.settings:
        log.info("version %d is in force; it is measured beside the baseline", found.settings.version)
    elif found.left_out:
        log.info("version %d is in force, and does not count: %s", found.newest_version, "; ".join(found.left_out))
    return found


def _settings_in_force(found: FoundInForce) -> list[Candidate]:
    """Returns the settings in force as a candidate; none where the baseline is the reference."""
    settings = found.settings
    return [Candidate(settings.configuration_id, False, settings.configuration)] if settings else []


def _candidates(campaign: Campaign, case: str, found: FoundInForce) -> pd.DataFrame:
    """Returns the points to be measured: those selected by an earlier try of this task, else newly selected ones."""
    key = campaign.keys.confirmation(case, "candidates.parquet")
    try:
        return campaign.read_table(key, CANDIDATE_INTERVAL_COLUMNS)
    except MissingArtifactError:
        last_round = campaign.last_round()
        front = campaign.read_table(campaign.keys.front(case, last_round), FRONT_INTERVAL_COLUMNS)
        trials = campaign.read_table(campaign.keys.trials(last_round), TRIAL_COLUMNS)
        if found.settings:  # measured in every block as it is
            front, trials = (each[each.configuration_id != found.settings.configuration_id] for each in (front, trials))
        candidates = select_candidates(
            front,
            trials[trials.case == case],
            campaign.tune,
            campaign.tune.confirmation.points,
        )
        candidates = _with_intervals(candidates, front, campaign.tune)
        campaign.write_table(key, candidates, CANDIDATE_INTERVAL_COLUMNS)
        return candidates


def _with_intervals(candidates: pd.DataFrame, front: pd.DataFrame, study: Tune) -> pd.DataFrame:
    """Returns the candidates with the ends of the front's intervals; NaN where a candidate has no estimate."""
    ends = [f"estimated_{mean}_{end}" for mean in study.means for end in ("low", "high")]
    table = candidates.merge(front[["configuration_id", *ends]], on="configuration_id", how="left")
    for name in ends:
        table[name] = table[name].where(table[name.rpartition("_")[0]].notna())
    return table
