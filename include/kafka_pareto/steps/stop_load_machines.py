"""Step `stop_load_machines`: stop the load machines of a campaign or a check."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest


def run(campaign: Campaign, session: str) -> Manifest:
    """Stop the session's machines, including those that start later."""
    key = campaign.write(campaign.keys.load_machines_stopped(session), b"")
    return campaign.manifest("stop_load_machines", [key], {}, [])
