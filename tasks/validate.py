"""Run the step `validate`: check measurements before learning, and write the Data Docs."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import validate
from tasks.common import CampaignOption, RoundOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, round_number: RoundOption = 0) -> Manifest:
    """Check all repetitions, reject bad ones with a reason, and summarize the others into trials."""
    return validate.run(open_campaign(study, campaign), round_number)


if __name__ == "__main__":
    run_command(main)
