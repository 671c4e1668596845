"""Step `gate`: measure reference and candidate in blocks until every condition is decided."""

from __future__ import annotations

import logging

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import baseline_candidate
from kafka_pareto.campaign.keys import GateKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.sent_text import delete_unless_kept
from kafka_pareto.gate.gate_study import candidate_of
from kafka_pareto.gate.judgement import JudgedCase, judge
from kafka_pareto.gate.result import ChangedSetting, GateResult, verdict_of
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.cost import describe_plan, plan_gate, require_consent
from kafka_pareto.measurement.driver_runtime import RepetitionRunner, runtime_of
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import Settings
from kafka_pareto.steps.freezing import freeze, is_frozen, restore_text
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.tune import Tune

log = logging.getLogger(__name__)


def run(
    study: Tune, gate_id: str, settings: Settings, *, reference: str, candidate: str, corpus: str | None
) -> GateResult:
    """Measure a study made by `gate_study`, or resume its measurement, and store the result.

    `reference` and `candidate` say where the settings are from; `corpus` is the text or the records to send.

    Raises:
        PlanError: If it may not run as planned.
        ClusterError: If the cluster cannot be reached.
        BadInputError: If the ID is known and was started with other settings.
    """
    keys = GateKeys(study.name, gate_id)
    gate, driver = Campaign(study, keys, open_store(settings)), runtime_of(study)
    is_known = is_frozen(gate.store, keys, study, corpus)
    plan = plan_gate(study, driver)
    log.info("%s", describe_plan(plan))
    with driver.system(study, settings) as system:
        system.require_fit(plan, gate, study.cases[0])
    require_consent(plan, study)
    if is_known:
        restore_text(gate, corpus)
    else:
        freeze(gate, corpus)
    cases = []
    for case in study.cases:
        with driver.runner(gate, case, settings) as runner:
            cases.append(_measured(gate, case, runner))
        log.info("%s: %s after %s", case_label(case), cases[-1].verdict, counted(cases[-1].blocks, "block"))
    before, after = study.baseline_configuration(), candidate_of(study).configuration
    result = GateResult(
        study=study.name,
        gate=gate_id,
        reference=reference,
        candidate=candidate,
        changed=[ChangedSetting(name=name, reference=before[name], candidate=after[name]) for name in after],
        verdict=verdict_of(cases),
        cases=cases,
    )
    gate.write_record(keys.result(), result)
    delete_unless_kept(gate)
    return result


def _measured(gate: Campaign, case: str, runner: RepetitionRunner) -> JudgedCase:
    study = gate.tune

    def judge_so_far(repetitions: list[Repetition]) -> JudgedCase:
        return judge(study, case, repetitions, gate.read_repetitions(gate.keys.confirmation(case, "set_aside/")))

    def until_decided(block: Block, before: list[Repetition]) -> Block:
        if not before:
            return block
        judged = judge_so_far(before)
        return block if judged.verdict == "undecided" and judged.may_be_decided else []

    planned = plan_blocks(
        [baseline_candidate(gate, case), candidate_of(study)],
        study.gate.blocks,
        order="blocks",
        phase="gain",
        case=case,
        seed=study.seed,
    )
    store = RepetitionStore(gate, gate.keys.confirmation(case, "repetitions/"))
    measured = Measurer(study, runner).measure(MeasurementPhase(planned, store, until_decided))
    return judge_so_far(sorted(measured, key=lambda each: each.block))
