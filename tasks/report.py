"""Run the step `report`: write cards and settings, or the tables of a comparison, with figures and an HTML page."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import report, report_comparison
from kafka_pareto.study.compare import Compare
from tasks.common import CampaignOption, ManifestOption, StudyOption, open_campaign, run_command, run_step


def main(study: StudyOption, campaign: CampaignOption, manifest: ManifestOption = None) -> None:
    """Turn a confirmed campaign into decision cards and a report, or a comparison into tables and a report."""

    def step() -> Manifest:
        opened = open_campaign(study, campaign)
        return report_comparison.run(opened) if isinstance(opened.study, Compare) else report.run(opened)

    run_step(step, manifest)


if __name__ == "__main__":
    run_command(main)
