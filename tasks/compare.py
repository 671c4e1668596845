"""Run the step `compare`: set the measured levels of each part beside the reference."""

from __future__ import annotations

from kafka_pareto.steps import compare
from tasks.common import CampaignOption, ManifestOption, StudyOption, open_campaign, run_command, run_step


def main(study: StudyOption, campaign: CampaignOption, manifest: ManifestOption = None) -> None:
    """Compare what was measured and accepted."""
    run_step(lambda: compare.run(open_campaign(study, campaign)), manifest)


if __name__ == "__main__":
    run_command(main)
