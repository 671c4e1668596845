"""Run the step `optimize`: search the surrogates of one case with NSGA-III."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import optimize
from tasks.common import CampaignOption, CaseOption, RoundOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, case: CaseOption, round_number: RoundOption = 0) -> Manifest:
    """Search one case for the non-dominated configurations."""
    return optimize.run(open_campaign(study, campaign), case, round_number)


if __name__ == "__main__":
    run_command(main)
