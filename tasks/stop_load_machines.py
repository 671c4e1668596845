"""Run the step `stop_load_machines`: stop the load machines of a campaign or a check."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import stop_load_machines
from tasks.common import CampaignOption, CheckFlag, SessionOption, StudyOption, open_either, run_command


def main(study: StudyOption, campaign: CampaignOption, session: SessionOption, check: CheckFlag = False) -> Manifest:
    """Stop the session's load machines."""
    return stop_load_machines.run(open_either(study, campaign, check=check), session)


if __name__ == "__main__":
    run_command(main)
