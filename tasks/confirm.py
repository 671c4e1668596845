"""Run the step `confirm`: measure points of the front and the baseline again on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import confirm
from tasks.common import CampaignOption, CaseOption, StudyOption, on_system, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, case: CaseOption) -> Manifest:
    """Measure the chosen points in blocks with the baseline, and decide."""
    return on_system(confirm.run, open_campaign(study, campaign), case)


if __name__ == "__main__":
    run_command(main)
