"""Run the step `measure`: measure every configuration of the design for one case, on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import measure
from tasks.common import CampaignOption, CaseOption, RoundOption, StudyOption, on_system, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption, case: CaseOption, round_number: RoundOption = 0) -> Manifest:
    """Measure the repetitions that the store does not have yet."""
    return on_system(measure.run, open_campaign(study, campaign), case, round_number)


if __name__ == "__main__":
    run_command(main)
