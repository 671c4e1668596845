"""Run the step `design`: freeze the study, compute the campaign's cost, and draw the design."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.settings import load_settings
from kafka_pareto.steps.begin import begin
from kafka_pareto.study.options import DesignOptions
from tasks.common import CampaignOption, StudyOption, run_command


def main(study: StudyOption, campaign: CampaignOption, options: DesignOptions) -> Manifest:
    """Start a campaign, or resume one that was started with the same study."""
    return begin(study, campaign, options, load_settings())


if __name__ == "__main__":
    run_command(main)
