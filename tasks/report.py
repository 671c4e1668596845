"""Run the step `report`: write cards and settings, or the tables of a comparison, with figures and an HTML page."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import report, report_comparison
from kafka_pareto.study.compare import Compare
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command


def main(study: StudyOption, campaign: CampaignOption) -> Manifest:
    """Turn a confirmed campaign into decision cards and a report, or a comparison into tables and a report."""
    opened = open_campaign(study, campaign)
    return report_comparison.run(opened) if isinstance(opened.study, Compare) else report.run(opened)


if __name__ == "__main__":
    run_command(main)
