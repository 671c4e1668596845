"""Runs the step `report`: writes decision cards, `producer.properties`, tables, figures and one HTML page."""

from __future__ import annotations

from kafka_pareto.steps import report
from tasks.common import CampaignOption, ManifestOption, StudyOption, open_campaign, run_command, run_step


def main(study: StudyOption, campaign: CampaignOption, manifest: ManifestOption = None) -> None:
    """Turns a confirmed campaign into decision cards and a report."""
    run_step(lambda: report.run(open_campaign(study, campaign)), manifest)


if __name__ == "__main__":
    run_command(main)
