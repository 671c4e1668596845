"""Run the step `check_measure`: measure the active settings and the baseline for one case, on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import check_measure
from tasks.common import CaseOption, CheckOption, StudyOption, on_system, open_check, run_command


def main(study: StudyOption, campaign: CheckOption, case: CaseOption) -> Manifest:
    """Measure the repetitions that the store does not have yet."""
    return on_system(check_measure.run, open_check(study, campaign), case)


if __name__ == "__main__":
    run_command(main)
