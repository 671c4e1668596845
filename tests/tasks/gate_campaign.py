"""A small recorded campaign before the validation gate, as measured with either load generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition, ValidationSummary
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, rejected_columns, table_schema
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.drivers.producer.protocol import Paced
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.sections import Validation
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study
from tests.recorded import paper_study, recorded_repetitions

CASE = "8192"
Tool = Literal["kafka_perf_test", "load_generator"]
CONFIGURATIONS = 3
REPETITIONS = 4


GENERATOR = {
    "kind": "steady", "load_tool": "load_generator", "records": None, "seconds": 1.0,
    "paced": Paced(rate_fraction=0.5, seconds=1.0), "variability": "within_run",
}  # fmt: skip


def small_study(tolerated: float, tool: Tool = "kafka_perf_test") -> Study:
    study = with_overrides(paper_study(), cases=[CASE], repetitions=REPETITIONS)
    study = study.model_copy(update={"validation": Validation(tolerated_rejected_fraction=tolerated)})
    changes = GENERATOR if tool == "load_generator" else {}
    return study.model_copy(update={"protocol": study.protocol.model_copy(update=changes)})


def recorded(tool: Tool = "kafka_perf_test", configurations: int = CONFIGURATIONS) -> list[Repetition]:
    """Recorded with Kafka's tool; as the load generator's, they have what it measures besides."""
    rows = recorded_repetitions((CASE,), configurations=configurations, blocks=REPETITIONS)
    if tool == "load_generator":
        rows = [row.with_values(_of_generator(row)) for row in rows]
    return sorted(rows, key=lambda row: (row.is_baseline, row.repetition_id))


def _of_generator(row: Repetition) -> dict[str, Any]:
    return {
        "window": "steady_state", "printed_mib_s": None, "latency_p9999_ms": row.number("latency_max_ms"),
        "latency_from_send_p95_ms": row.number("latency_p95_ms"), "paced_rate_asked_records_s": 500.0,
        "paced_rate_records_s": 499.0, "latency_cv_in_run": 0.3, "throughput_cv_in_run": 0.1,
    }  # fmt: skip


def campaign_with(
    folder: Path, rows: list[Repetition], tolerated: float = 0.25, tool: Tool = "kafka_perf_test"
) -> Campaign:
    """A campaign whose design is the recording's, and whose store holds these rows."""
    study = small_study(tolerated, tool)
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    campaign.write_table(campaign.keys.design(), design_of(recorded(), study), DESIGN_COLUMNS)
    for number, row in enumerate(rows):
        campaign.write_record(f"{campaign.keys.measurements(CASE)}{number:03d}.json", row)
    return campaign


def design_of(rows: list[Repetition], study: Study) -> pd.DataFrame:
    """The design fully measured by these rows."""
    return pd.DataFrame(
        {row.configuration_id: _design_row(row, study) for row in rows}.values(),
        columns=table_schema(DESIGN_COLUMNS, study).names,
    )


def _design_row(row: Repetition, study: Study) -> dict[str, Any]:
    return {
        "case": row.case,
        "configuration_id": row.configuration_id,
        "is_baseline": row.is_baseline,
        "feasible": True,
        "durability": study.durability_of(row.configuration).name,
        **row.configuration,
    }


def summary_of(campaign: Campaign) -> ValidationSummary:
    return campaign.read_record(campaign.keys.validation("summary.json"), ValidationSummary)


def rejected_of(campaign: Campaign) -> pd.DataFrame:
    return campaign.read_table(campaign.keys.validation("rejected.parquet"), rejected_columns(PRODUCER))


Rows = list[Repetition]
Corruption = Callable[[Rows], Rows]


def changed(change: Callable[[Repetition], dict[str, Any]]) -> Corruption:
    """Corrupt the first row."""
    return lambda rows: [rows[0].with_values(change(rows[0])), *rows[1:]]


def set_to(**values: Any) -> Corruption:
    return changed(lambda _: values)
