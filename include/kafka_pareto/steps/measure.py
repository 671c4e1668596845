"""Step `measure`: the A/A test of the baseline, then every configuration of a round's design, for one case."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import get_args

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Outcome, Repetition
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.measurement.blocks import grouped, plan_blocks
from kafka_pareto.measurement.driver_runtime import RepetitionRunner
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore

log = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, runner: RepetitionRunner, round_number: int = 0) -> Manifest:
    """Measure those repetitions of the case's plan that the store does not have yet."""
    keys = campaign.keys
    design = campaign.read_table(keys.design(round_number), DESIGN_COLUMNS)
    candidates = candidates_of(design[design.case == case], campaign.study)
    measurer = Measurer(campaign.study, runner)
    noise_keys = _measure_noise(campaign, case, measurer) if round_number == 0 else []
    repetitions = measurer.measure(_round(campaign, case, candidates, round_number))

    implausible = sum(bool(repetition.broken_rules) for repetition in repetitions)
    if implausible:
        log.warning("%d of %d repetitions failed because of implausible values", implausible, len(repetitions))
    outcomes = Counter(repetition.outcome for repetition in repetitions)
    counts = {
        "repetitions": len(repetitions),
        "noise_repetitions": len(campaign.store.keys(keys.noise_repetitions(case))),
        **{f"repetitions_{outcome}": outcomes[outcome] for outcome in get_args(Outcome)},
    }
    return campaign.manifest("measure", [*noise_keys, keys.measurements(case, round_number)], counts, [case])


def _measure_noise(campaign: Campaign, case: str, measurer: Measurer) -> list[str]:
    """Run the baseline's A/A test first; return the written keys."""
    study, keys = campaign.study, campaign.keys
    if not study.protocol.noise_repetitions:
        return []
    from kafka_pareto.analysis.noise_study import noise_lines, noise_report  # noqa: PLC0415 (SciPy takes half of the step's start-up time)

    prefix = keys.noise_repetitions(case)
    planned = plan_blocks(
        [baseline_candidate(campaign, case)],
        study.protocol.noise_repetitions,
        order="blocks",
        phase="noise",
        case=case,
        seed=study.seed,
    )
    measured = measurer.measure(MeasurementPhase(planned, RepetitionStore(campaign, prefix)))
    report = noise_report(campaign.tune, case, measured)
    for line in noise_lines(report, study.protocol.variability):
        log.info("%s", line)
    return [prefix, campaign.write_record(keys.noise(case), report)]


def _round(campaign: Campaign, case: str, candidates: Sequence[Candidate], round_number: int) -> MeasurementPhase:
    """Plan the round; with adaptive repetitions its candidates race from block to block."""
    study = campaign.study
    planned = plan_blocks(
        candidates,
        study.protocol.repetitions,
        order=study.protocol.order,
        phase="design",
        case=case,
        seed=study.seed,
        round_number=round_number,
    )
    if study.protocol.order == "blocks":
        planned = grouped(planned, study.group_in_block)
    store = RepetitionStore(campaign, campaign.keys.measurements(case, round_number))
    if study.protocol.adaptive is None:
        return MeasurementPhase(planned, store)
    from kafka_pareto.measurement.racing import active_candidates  # noqa: PLC0415 (as above)

    def race(block: Block, before: list[Repetition]) -> Block:
        active = {candidate.configuration_id for candidate in active_candidates(candidates, before, study)}
        others = len(active - {study.baseline_id()})
        log.info("block %d: %d of %d configurations continue", block[0].block, others, len(candidates) - 1)
        return [each for each in block if each.candidate.configuration_id in active] if others else []

    return MeasurementPhase(planned, store, race)
