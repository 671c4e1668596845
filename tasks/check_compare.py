"""Run the step `check_compare`: detect drift, and select the cases to tune again."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import check_compare
from tasks.common import CheckOption, StudyOption, open_check, run_command


def main(study: StudyOption, campaign: CheckOption) -> Manifest:
    """Compare a check's measurements with their reference."""
    return check_compare.run(open_check(study, campaign))


if __name__ == "__main__":
    run_command(main)
