"""A campaign on the seeded fake about to confirm one candidate, and its measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Sizing
from kafka_pareto.campaign.tables import CANDIDATE_INTERVAL_COLUMNS, table_schema
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.study.tune import Tune
from tests.unit.checking import confirmed
from tests.unit.measuring import CASE

CONFIRMATION = {"choice_blocks": 2, "gain_blocks": 12, "minimum_blocks": 3, "final_blocks": 3, "stopping": "sequential"}
Change = Callable[[LoadResult], LoadResult]


def campaign_in(folder: Path, study: Tune, *candidates: Configuration) -> Campaign:
    """A second campaign of the study, which is about to confirm these candidates."""
    campaign = Campaign(study, CampaignKeys(study.name, "c2"), confirmed(folder).store)
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    sizing = Sizing(records=1000, warmup_records=0, throughput_limit_records_s=None)
    campaign.write_record(campaign.keys.sizing(CASE), sizing)
    rows = []
    for candidate in candidates:
        row = dict.fromkeys(table_schema(CANDIDATE_INTERVAL_COLUMNS, study).names, float("nan")) | dict(candidate)
        row |= {"case": CASE, "configuration_id": configuration_id(candidate), "is_baseline": False, "feasible": True}
        row |= {"durability": "acks_all_idempotent", "durability_accepted": True, "chosen_as": ["knee"]}
        rows.append(row | {"on_joint_front": True, "limits_met_estimated": True})
    key = campaign.keys.confirmation(CASE, "candidates.parquet")
    campaign.write_table(key, pd.DataFrame(rows), CANDIDATE_INTERVAL_COLUMNS)
    return campaign


def measured(campaign: Campaign, phase: str) -> dict[str, int]:
    """The number of blocks of the phase each configuration is in."""
    found = campaign.read_repetitions(campaign.keys.confirmation(CASE, "repetitions/"))
    ids = [each.configuration_id for each in found if each.phase == phase]
    return {name: ids.count(name) for name in ids}


def with_p95(p95_ms: Callable[[], float]) -> Change:
    """The fake's throughput, and this p95 latency on both sides."""

    def changed(result: LoadResult) -> LoadResult:
        assert result.figures is not None
        value = p95_ms() + result.figures.throughput_records_s * 1e-9
        tail = dict.fromkeys(("latency_p99_ms", "latency_p999_ms", "latency_max_ms"), value + 1)
        body = dict.fromkeys(("latency_p50_ms", "latency_avg_ms", "latency_from_send_p95_ms"), value / 2)
        return replace(result, figures=replace(result.figures, latency_p95_ms=value, **tail, **body))

    return changed
