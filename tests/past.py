"""Campaigns of the past in a folder, as a warm start finds them, and the study that begins with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import parse_study
from tests.fakes import FakeCluster
from tests.recorded import STUDIES, recorded_repetitions
from tests.trained_campaign import recorded_campaign

CASES = ["1024", "8192"]
MEASURED_AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def study_in_rounds(**changes: Any) -> Study:
    """The paper's factors at the baseline's durability, in rounds, one repetition of each configuration."""
    content = yaml.safe_load((STUDIES / "paper.yaml").read_text())
    del content["durability"]
    content |= {"name": "in_rounds", "record_sizes_bytes": [int(case) for case in CASES], "strategy": "rounds"}
    content |= {"rounds": {"maximum": 2, "configurations": 3}, "design": {"configurations": 8, "feasible": True}}
    content["protocol"] |= {"repetitions": 1, "minimum_valid_repetitions": 3}
    for name in [name for name in changes if isinstance(changes[name], dict) and name in ("protocol", "workload")]:
        content[name] |= changes.pop(name)
    return parse_study(yaml.safe_dump(content | changes), "in_rounds")


def fingerprint(study: Study) -> Fingerprint:
    """The fake cluster, and this machine."""
    return fingerprint_of(FakeCluster().describe(), study, "a-topic")


def past_campaign(
    folder: Path,
    campaign_id: str = "c0",
    *,
    study: Study | None = None,
    days_later: float = 0.0,
    configurations: int = 30,
    block: int = 0,
) -> Campaign:
    """A campaign that was measured `days_later` than `MEASURED_AT`: one recorded repetition of each configuration."""
    study = study or study_in_rounds()
    started_at = (MEASURED_AT + timedelta(days=days_later)).isoformat()
    recorded = recorded_repetitions(tuple(study.cases), configurations)
    repetitions = [each.model_copy(update={"started_at": started_at}) for each in recorded if each.block == block]
    campaign = recorded_campaign(folder, study, repetitions, campaign_id)
    for size in study.cases:
        campaign.write_record(campaign.keys.fingerprint(size), fingerprint(study))
    return campaign
