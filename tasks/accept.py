"""Run the step `accept`: activate a campaign's recommendations, or a picked configuration."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import accept
from kafka_pareto.study.options import Wanted
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, options: Wanted) -> Manifest:
    """Activate the recommendations, or the picked configuration, as a new version."""
    return accept.run(wanted=options, campaign=open_campaign(study, campaign))


if __name__ == "__main__":
    run_command(main)
