"""Step `measure`: the baseline against itself, then every configuration of a round's design, at one record size."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate, candidates_of
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.progress_log import PhaseProgress
from kafka_pareto.measurement.sizing import sizing_of
from kafka_pareto.measurement.testbed import Testbed

log = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, testbed: Testbed, round_number: int = 0) -> Manifest:
    """Measures what the round plans for this record size and the store does not hold yet."""
    design = campaign.read_table(campaign.keys.design(round_number), DESIGN_COLUMNS)
    candidates = candidates_of(design[design.case == case], campaign.study)
    measurer = Measurer(campaign, testbed, sizing_of(campaign, case, testbed))
    noise_keys = _measure_noise(campaign, case, measurer) if round_number == 0 else []
    _measure_round(campaign, case, measurer, candidates, round_number)

    prefix = campaign.keys.measurements(case, round_number)
    repetitions = campaign.read_repetitions(prefix)
    noise_repetitions = campaign.store.keys(campaign.keys.noise_repetitions(case))
    counts = {"repetitions": len(repetitions), "noise_repetitions": len(noise_repetitions)}
    counts |= {f"repetitions_{name}": 0 for name in ("valid", "records_lost", "records_duplicated", "failed")}
    for repetition in repetitions:
        counts[f"repetitions_{repetition.outcome}"] += 1
    return campaign.manifest("measure", [*noise_keys, prefix], counts, [case])


def _measure_noise(campaign: Campaign, case: str, measurer: Measurer) -> list[str]:
    """The baseline against itself, before anything depends on it; returns the keys of what was written."""
    study, keys = campaign.study, campaign.keys
    if not study.protocol.noise_repetitions:
        return []
    from kafka_pareto.analysis.noise_study import noise_lines, noise_report  # noqa: PLC0415 (SciPy is half of the step's start)
    from kafka_pareto.validation.gate import with_nonsense_failed  # noqa: PLC0415 (as above)

    prefix = keys.noise_repetitions(case)
    planned = plan_blocks(
        [baseline_candidate(campaign)],
        study.protocol.noise_repetitions,
        order="blocks",
        phase="noise",
        case=case,
        seed=study.seed,
    )
    measurer.measure(planned, prefix)
    # One comparison for each objective at each record size: what the decision is corrected for.
    comparisons = len(study.objectives) * len(study.cases)
    usable = with_nonsense_failed(campaign.read_repetitions(prefix), study)
    report = noise_report(study, case, usable, comparisons)
    for line in noise_lines(report):
        log.info("%s", line)
    return [prefix, campaign.write_record(keys.noise(case), report)]


def _measure_round(
    campaign: Campaign, case: str, measurer: Measurer, candidates: Sequence[Candidate], round_number: int
) -> None:
    study, prefix = campaign.study, campaign.keys.measurements(case, round_number)
    planned = plan_blocks(
        candidates,
        study.protocol.repetitions,
        order=study.protocol.order,
        phase="design",
        case=case,
        seed=study.seed,
        round_number=round_number,
    )
    if study.protocol.adaptive is None:
        measurer.measure(planned, prefix)
        return
    from kafka_pareto.measurement.racing import active_candidates  # noqa: PLC0415 (as above)

    progress = PhaseProgress(planned, may_end_early=True)
    for block in range(study.protocol.repetitions):
        # Of the blocks before this one alone, so that a task which was killed in its midst decides the same again.
        before = [found for found in campaign.read_repetitions(prefix) if found.block < block]
        active = {candidate.configuration_id for candidate in active_candidates(candidates, before, study)}
        others = len(active - {study.baseline_id()})
        log.info("block %d: %d of %d configurations go on", block, others, len(candidates) - 1)
        if not others:
            return
        going_on = [each for each in planned if each.block == block and each.candidate.configuration_id in active]
        measurer.measure(going_on, prefix, progress)
