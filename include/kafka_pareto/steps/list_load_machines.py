"""Step `list_load_machines`: list the load machines that a campaign or a check needs."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import Settings


def run(campaign: Campaign, settings: Settings) -> Manifest:
    """List their numbers, from 1; none if the study needs none, or Airflow does not run them.

    Stops the machines of earlier sessions, which would hold the task slots that the new ones need.
    """
    for session in campaign.store.folders(campaign.keys.load_machines()):
        campaign.write(campaign.keys.load_machines_stopped(session), b"")
    needed = runtime_of(campaign.study).load_machine_count(campaign.study)
    count = needed if settings.airflow_runs_load_machines else 0
    numbers = [str(number) for number in range(1, count + 1)]
    return campaign.manifest("list_load_machines", [], {"load_machines": count}, numbers)
