"""Run the step `train`: trains surrogate models of the study's objectives, tracked in MLflow."""

from __future__ import annotations

from kafka_pareto.steps import train
from tasks.common import CampaignOption, ManifestOption, RoundOption, StudyOption, open_campaign, run_command, run_step


def main(
    study: StudyOption, campaign: CampaignOption, round_number: RoundOption = 0, manifest: ManifestOption = None
) -> None:
    """Trains one surrogate per objective on all trials so far."""
    run_step(lambda: train.run(open_campaign(study, campaign), round_number), manifest)


if __name__ == "__main__":
    run_command(main)
