"""Step `run_load_machine`: send loads from this machine for a campaign or a check, until its session is stopped."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import Settings


def run(campaign: Campaign, number: str, session: str, settings: Settings) -> Manifest:
    """Be the load machine of this number in the session.

    Raises:
        BadInputError: If the load machines' key or the cluster's login cannot be used.
        LoadStartError: If the cluster cannot be reached, or the machine fails.
    """
    runtime_of(campaign.study).run_load_machine(campaign, session, int(number), settings)
    return campaign.manifest("run_load_machine", [], {}, [number])
