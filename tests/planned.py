"""Which repetitions a campaign must have by its plan, and which it has."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.records import Phase
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, DESIGN_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.study.factors import configuration_id


def stored_ids(campaign: Campaign, prefix: str) -> list[str]:
    """The ids of the repetitions below a prefix of the store."""
    return sorted(repetition.repetition_id for repetition in campaign.read_repetitions(prefix))


def planned_design(campaign: Campaign, case: str) -> list[str]:
    """Those that the design of one case asks for."""
    design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    candidates = candidates_of(design[design.case == case], campaign.study)
    return sorted(_planned(campaign, candidates, campaign.study.protocol.repetitions, "design", case))


def planned_confirmation(campaign: Campaign, case: str) -> list[str]:
    """Those that its confirmation asks for, by what it has chosen."""
    keys, confirmation = campaign.keys, campaign.study.confirmation
    selected = candidates_of(
        campaign.read_table(keys.confirmation(case, "candidates.parquet"), CANDIDATE_COLUMNS), campaign.study
    )
    baseline = baseline_candidate(campaign, case)
    planned = _planned(campaign, [baseline, *selected], confirmation.choice_blocks, "choice", case)
    decision = campaign.read_record(keys.confirmation(case, "decision.json"), Decision)
    if decision.pick_configuration_id is None:
        return sorted(planned)
    finalist_ids = {decision.pick_configuration_id}
    if decision.advice is not None:
        finalist_ids.add(decision.advice.configuration_id)
        if decision.advice.in_place_of is not None:
            finalist_ids.add(configuration_id(decision.advice.in_place_of))
    finalists = [baseline, *(each for each in selected if each.configuration_id in finalist_ids)]
    # Sequential blocks end once they have answered; none of them may be missing before.
    gain_blocks = decision.blocks_used - decision.final_blocks
    blocks = gain_blocks if confirmation.is_sequential else confirmation.gain_blocks
    planned += _planned(campaign, finalists, blocks, "gain", case)
    planned += _planned(campaign, finalists, decision.final_blocks, "final", case, confirmation.gain_blocks)
    return sorted(planned)


def _planned(
    campaign: Campaign, candidates: list[Candidate], blocks: int, phase: Phase, case: str, first_block: int = 0
) -> list[str]:
    planned = plan_blocks(
        candidates, blocks, order="blocks", phase=phase, case=case, seed=campaign.study.seed, first_block=first_block
    )
    return [repetition.repetition_id for repetition in planned]
