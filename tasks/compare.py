"""Run the step `compare`: compare the measured levels of each part with the reference."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import compare
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption) -> Manifest:
    """Compare the accepted measurements."""
    return compare.run(open_campaign(study, campaign))


if __name__ == "__main__":
    run_command(main)
