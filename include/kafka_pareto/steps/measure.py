"""Step `measure`: every configuration of the design at one record size, on the real cluster."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto.artifacts import DESIGN_COLUMNS, Manifest, Sizing
from kafka_pareto.blocks import Candidate, plan_blocks
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import ClusterError, MissingArtifactError
from kafka_pareto.factors import configuration_id
from kafka_pareto.guard import ClusterGuard
from kafka_pareto.load import LoadRequest
from kafka_pareto.measurement import Measurer, sent_bytes
from kafka_pareto.planning import throughput_limit_mib_s
from kafka_pareto.testbed import Testbed

log = logging.getLogger(__name__)

_MIB = 1 << 20
_PILOT_RECORDS = 20_000
_PILOT_BYTES = 128 * _MIB


def run(campaign: Campaign, record_size_bytes: int, testbed: Testbed) -> Manifest:
    """Measures what the design plans for this record size and the store does not hold yet."""
    design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    candidates = candidates_of(campaign, design[design.record_size_bytes == record_size_bytes])
    study, prefix = campaign.study, campaign.keys.measurements(record_size_bytes)
    planned = plan_blocks(
        candidates,
        study.protocol.repetitions,
        order=study.protocol.order,
        phase="design",
        record_size_bytes=record_size_bytes,
        seed=study.seed,
    )
    sizing = sizing_of(campaign, record_size_bytes, testbed)
    Measurer(campaign, testbed, sizing).measure(planned, prefix)
    repetitions = campaign.read_repetitions(prefix)
    outcomes = {f"repetitions_{name}": 0 for name in ("valid", "records_lost", "records_duplicated", "failed")}
    for repetition in repetitions:
        outcomes[f"repetitions_{repetition.outcome}"] += 1
    return campaign.manifest("measure", [prefix], {"repetitions": len(repetitions), **outcomes}, [record_size_bytes])


def candidates_of(campaign: Campaign, configurations: pd.DataFrame) -> list[Candidate]:
    """The rows of a table with factor columns as candidates, in the table's order."""
    return [
        Candidate(
            configuration_id=row["configuration_id"],
            is_baseline=row["is_baseline"],
            configuration={name: row[name] for name in campaign.study.factors},
        )
        for row in configurations.to_dict("records")
    ]


def baseline_candidate(campaign: Campaign) -> Candidate:
    """The baseline as a candidate."""
    configuration = campaign.study.baseline_configuration()
    return Candidate(configuration_id(configuration), is_baseline=True, configuration=dict(configuration))


def sizing_of(campaign: Campaign, record_size_bytes: int, testbed: Testbed) -> Sizing:
    """How much a repetition sends: as the protocol says; for `steady`, from the baseline's pace, measured once."""
    key = campaign.keys.sizing(record_size_bytes)
    try:
        return campaign.read_record(key, Sizing)
    except MissingArtifactError:
        sizing = _new_sizing(campaign, record_size_bytes, testbed)
        campaign.write_record(key, sizing)
        return sizing


def _new_sizing(campaign: Campaign, record_size_bytes: int, testbed: Testbed) -> Sizing:
    protocol = campaign.study.protocol
    limit_mib_s = throughput_limit_mib_s(campaign.study)
    limit_records_s = None if limit_mib_s is None else limit_mib_s * _MIB / record_size_bytes
    if protocol.records is not None:
        return Sizing(records=protocol.records, warmup_records=0, throughput_limit_records_s=limit_records_s)
    pace_records_s = _baseline_pace(campaign, record_size_bytes, testbed, limit_records_s)
    log.info("the baseline's pace: %.0f records/s; repetitions are sized by it", pace_records_s)
    warmup_records = round(pace_records_s * protocol.warmup_seconds)
    measured_records = max(round(pace_records_s * (protocol.seconds or 0.0)), 1)
    return Sizing(
        records=warmup_records + measured_records,
        warmup_records=warmup_records,
        throughput_limit_records_s=limit_records_s,
    )


def _baseline_pace(
    campaign: Campaign, record_size_bytes: int, testbed: Testbed, limit_records_s: float | None
) -> float:
    """Records per second of the baseline, after a warm-up."""
    records = max(min(_PILOT_RECORDS, _PILOT_BYTES // record_size_bytes), 4)
    pilot = LoadRequest(
        topic=testbed.topic,
        records=records,
        record_size_bytes=record_size_bytes,
        properties=campaign.study.producer_properties(campaign.study.baseline_configuration()),
        timeout_s=campaign.study.protocol.timeout_s,
        warmup_records=records // 4,
        throughput_records_s=limit_records_s,
    )
    guard = ClusterGuard(campaign.study, testbed, sent_bytes(campaign))
    guard.wait_until_healthy()
    guard.allow(records * record_size_bytes)
    result = testbed.load_tool.run(pilot, guard.watch())
    guard.check_throttling(result)
    testbed.cluster.delete_records(testbed.topic)
    if result.figures is None:
        raise ClusterError(f"the baseline's pace could not be measured: {result.errors or 'no record was sent'}")
    return result.figures.throughput_records_s
