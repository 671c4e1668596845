"""The kept campaigns of `benchmarks/data/campaigns/` as stores that hold what a confirmation and its cards need.

Estimates were not kept. A candidate's are made up of what the choice blocks measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition, Sizing, TimedLoad
from kafka_pareto.campaign.tables import CANDIDATE_INTERVAL_COLUMNS, table_schema
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study_file import parse_study
from tests.past import fingerprint
from tests.recorded import RECORDED

CAMPAIGN = "kept"
# Columns of a repetition that `keep_campaign` omitted because they were the same or empty throughout.
_LEFT_OUT: dict[str, Any] = {
    "outcome": "valid",
    "attempts": 1,
    "window": "whole_run",
    "records_requested": 1000,
    "records_sent": 1000,
    "end_offset_growth": 1000,
    "produce_throttle_max_ms": 0.0,
}


def write_kept_campaign(folder: Path, name: str) -> Campaign:
    """Writes the kept campaign of a study into a folder."""
    text = (RECORDED / "campaigns" / name / "study.yaml").read_text()
    campaign = Campaign(parse_study(text, name), CampaignKeys(name, CAMPAIGN), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), text.encode())
    rows = pd.read_csv(RECORDED / "campaigns" / name / "repetitions.csv", keep_default_na=False, na_values=[""])
    rows = rows.rename(columns={"record_size_bytes": "case"}).astype({"case": str, "is_baseline": bool})
    # Kept with six digits, and the gate holds the two rates to one another more closely than that.
    rows["throughput_mib_s"] = rows.throughput_records_s * rows.case.astype(int) / (1 << 20)
    for row in rows.to_dict("records"):
        _write_repetition(campaign, {str(column): None if pd.isna(value) else value for column, value in row.items()})
    for case, of_case in rows.groupby("case"):
        campaign.write_record(campaign.keys.fingerprint(str(case)), fingerprint(campaign.study))
        campaign.write_record(campaign.keys.sizing(str(case)), _sizing(campaign, of_case))
        _write_candidates(campaign, str(case), of_case[of_case.phase == "choice"])
    return campaign


def _write_repetition(campaign: Campaign, row: dict[str, Any]) -> None:
    case, number = row["case"], row["round"]
    identity = f"{row['phase']}-r{number:02d}-{case}-b{row['block']:03d}-{row['configuration_id']}"
    configuration = {name: row.pop(name) for name in campaign.study.varied_factors}
    known = {**_LEFT_OUT, **row, "generator_bound": row.get("generator_bound") or ""}
    head = {name: known.pop(name) for name in list(known) if name in Repetition.model_fields}
    quantities = campaign.study.declaration.with_missing(known)
    repetition = Repetition(repetition_id=identity, configuration=configuration, quantities=quantities, **head)
    confirmation = campaign.keys.confirmation(case, "repetitions/")
    prefix = campaign.keys.measurements(case, number) if row["phase"] == "design" else confirmation
    campaign.write_record(f"{prefix}{identity}.json", repetition)


def _sizing(campaign: Campaign, rows: pd.DataFrame) -> Sizing:
    sizing = Sizing(records=1000, warmup_records=0, throughput_limit_records_s=None)
    protocol: Any = campaign.study.protocol
    if protocol.kind != "steady":
        return sizing
    rate_records_s = float(rows.paced_rate_asked_records_s.max())
    timed = TimedLoad(
        warmup_s=protocol.warmup_seconds,
        seconds=protocol.seconds,
        paced_warmup_s=protocol.paced.warmup_seconds,
        paced_seconds=protocol.paced.seconds,
        paced_rate_records_s=rate_records_s,
    )
    return sizing.model_copy(update={"capacity_records_s": rate_records_s * 2, "timed": timed})


def _write_candidates(campaign: Campaign, case: str, choice: pd.DataFrame) -> None:
    means = choice.groupby("configuration_id")[["latency_p95_ms", "throughput_mib_s"]].mean()
    front = choice[~choice.is_baseline].drop_duplicates("configuration_id").sort_values("configuration_id")
    facts = dict.fromkeys(("feasible", "durability_accepted", "on_joint_front", "limits_met_estimated"), True)
    front = front.assign(
        **facts,
        durability="acks_all_idempotent",
        estimated_p95_latency_ms=front.configuration_id.map(means.latency_p95_ms),
        estimated_throughput_mib_s=front.configuration_id.map(means.throughput_mib_s),
        estimated_latency_cv=0.1,
        estimated_throughput_cv=0.1,
        chosen_as=pd.Series([["measured_non_dominated"]] * len(front), index=front.index),
    )
    candidates = front.reindex(columns=table_schema(CANDIDATE_INTERVAL_COLUMNS, campaign.study).names)
    key = campaign.keys.confirmation(case, "candidates.parquet")
    campaign.write_table(key, candidates, CANDIDATE_INTERVAL_COLUMNS)
