"""Step `confirm`: points of the front on the real cluster, in blocks with the baseline.

The choice is made on one set of blocks; what it gains is stated from fresh ones, so that the winner's luck is not
counted.
"""

from __future__ import annotations

import logging
from typing import Literal

import numpy as np
import pandas as pd

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, FRONT_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.decision.choice import choose
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.decision.decide import decide
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_runner import RepetitionRunner
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.study.cases import case_seed

log = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, runner: RepetitionRunner) -> Manifest:
    """Measures the candidates, chooses one, measures it afresh beside the baseline, and decides."""
    study, keys = campaign.tune, campaign.keys
    candidates = _candidates(campaign, case)
    in_play = [baseline_candidate(campaign), *candidates_of(candidates, study)]
    measurer = Measurer(campaign.study, runner)
    prefix = keys.confirmation(case, "repetitions/")
    stored = RepetitionStore(campaign, prefix)

    def measured(phase: Literal["choice", "gain"], configurations: list[Candidate], blocks: int) -> list[Repetition]:
        planned = plan_blocks(
            configurations,
            blocks,
            order="blocks",
            phase=phase,
            case=case,
            seed=study.seed,
        )
        return measurer.measure(MeasurementPhase(planned, stored))

    choice_repetitions = measured("choice", in_play, study.confirmation.choice_blocks)
    choice = choose(study, candidates, choice_repetitions)
    chosen_id = choice.configuration_id
    log.info("chosen from %d blocks: %s", study.confirmation.choice_blocks, chosen_id)
    gain: list[Repetition] = []
    if chosen_id != study.baseline_id():
        finalists = [
            candidate for candidate in in_play if candidate.is_baseline or candidate.configuration_id == chosen_id
        ]
        gain = measured("gain", finalists, study.confirmation.gain_blocks)
    decision = decide(
        study,
        case,
        choice,
        candidates,
        choice_repetitions=choice_repetitions,
        gain_repetitions=gain,
        rng=np.random.default_rng([study.seed, case_seed(case)]),
    )
    # Without the gain blocks: they would favour the one candidate that has them.
    trials_key = keys.confirmation(case, "trials.parquet")
    written = [
        keys.confirmation(case, "candidates.parquet"),
        campaign.write_table(trials_key, summarise_trials(choice_repetitions, study), TRIAL_COLUMNS),
        campaign.write_record(keys.confirmation(case, "decision.json"), decision),
    ]
    runner.clean_up()
    counts = {"candidates": len(candidates), "repetitions": len(choice_repetitions) + len(gain)}
    return campaign.manifest("confirm", [prefix, *written], counts, [case])


def _candidates(campaign: Campaign, case: str) -> pd.DataFrame:
    """The points to be measured: those selected by an earlier try of this task, else newly selected ones."""
    key = campaign.keys.confirmation(case, "candidates.parquet")
    try:
        return campaign.read_table(key, CANDIDATE_COLUMNS)
    except MissingArtifactError:
        last_round = campaign.last_round()
        front = campaign.read_table(campaign.keys.front(case, last_round), FRONT_COLUMNS)
        trials = campaign.read_table(campaign.keys.trials(last_round), TRIAL_COLUMNS)
        candidates = select_candidates(
            front,
            trials[trials.case == case],
            campaign.tune,
            campaign.tune.confirmation.points,
        )
        campaign.write_table(key, candidates, CANDIDATE_COLUMNS)
        return candidates
