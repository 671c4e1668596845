"""Run the step `list_load_machines`: list the load machines that a campaign or a check needs."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import list_load_machines
from tasks.common import CampaignOption, CheckFlag, StudyOption, open_either, run_command


def main(study: StudyOption, campaign: CampaignOption, check: CheckFlag = False) -> Manifest:
    """List their numbers, from 1."""
    return list_load_machines.run(open_either(study, campaign, check=check), load_settings())


if __name__ == "__main__":
    run_command(main)
