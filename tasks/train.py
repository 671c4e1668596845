"""Run the step `train`: train surrogate models of the study's objectives, tracked in MLflow."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import train
from tasks.common import CampaignOption, RoundOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, round_number: RoundOption = 0) -> Manifest:
    """Train one surrogate per objective on all trials so far."""
    return train.run(open_campaign(study, campaign), round_number)


if __name__ == "__main__":
    run_command(main)
