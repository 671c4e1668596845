"""Run the step `validate`: check measurements before learning, and write the Data Docs."""

from __future__ import annotations

from kafka_pareto.steps import validate
from tasks.common import CampaignOption, ManifestOption, RoundOption, StudyOption, open_campaign, run_command, run_step


def main(
    study: StudyOption, campaign: CampaignOption, round_number: RoundOption = 0, manifest: ManifestOption = None
) -> None:
    """Check all repetitions, set bad ones aside with a reason, and summarises the rest into trials."""
    run_step(lambda: validate.run(open_campaign(study, campaign), round_number), manifest)


if __name__ == "__main__":
    run_command(main)
