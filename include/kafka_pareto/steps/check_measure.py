"""Step `check_measure`: measure the active settings and the baseline in fresh blocks, for one case."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate, baseline_candidate
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.drift.check_records import CheckPlan
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.driver_runtime import RepetitionRunner
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.rollout.versions import ActiveSettings


def run(check: Campaign, case: str, runner: RepetitionRunner) -> Manifest:
    """Measure the repetitions that the store does not have yet.

    Raises:
        BadInputError: If the check does not measure this case.
    """
    settings = _settings(check, case)
    active = Candidate(settings.configuration_id, is_baseline=False, configuration=settings.configuration)
    prefix = check.keys.confirmation(case, "repetitions/")
    planned = plan_blocks(
        [baseline_candidate(check, case), active],
        check.tune.retune.blocks,
        order="blocks",
        phase="gain",
        case=case,
        seed=check.study.seed,
    )
    measurer = Measurer(check.study, runner)
    measured = measurer.measure(MeasurementPhase(planned, RepetitionStore(check, prefix)))
    return check.manifest("check_measure", [prefix], {"repetitions": len(measured)}, [case])


def _settings(check: Campaign, case: str) -> ActiveSettings:
    for planned in check.read_record(check.keys.plan(), CheckPlan).cases:
        if planned.case == case and planned.outcome is None and planned.settings is not None:
            return planned.settings
    raise BadInputError(f"--case: {case}: check {check.keys.prefix} does not measure this case")
