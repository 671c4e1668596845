"""Prepares the log that a campaign replays, as the load's processes read it."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import due_requests, read_log
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Replayed:
    """Names the file with the times and paths of all requests, and says how many a run sends in each second."""

    file: Path
    requests_s: float


def replayed_log(campaign: Campaign, study: LogPipelineStudy, file: Path) -> Replayed | None:
    """Writes when each request of the campaign's log is due; returns None where the study replays none."""
    if study.replay is None:
        return None
    found = read_log(campaign.store.get(campaign.keys.payload()).decode())
    due = due_requests(found, study.replay.times)
    seconds = study.protocol.seconds
    sent = sum(due_s < seconds for due_s, _ in due)
    log.info(
        "%s: a run sends %d of %d requests, %g times as fast as logged; %d entries name no path and are not sent",
        *(study.replay.file, sent, len(due), study.replay.times, found.skipped),
    )
    file.write_text(json.dumps(due), encoding="utf-8")
    return Replayed(file, sent / seconds)
