"""Run the step `accept`: put a campaign's recommendations, or a picked configuration, in force."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import accept
from kafka_pareto.study.options import Wanted
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, options: Wanted) -> Manifest:
    """Put what is recommended, or what was picked, in force as a new version."""
    return accept.run(wanted=options, campaign=open_campaign(study, campaign))


if __name__ == "__main__":
    run_command(main)
