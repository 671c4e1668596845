"""Runs the step `check_measure`: measures the settings in force and the baseline for one case, on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import check_measure
from tasks.common import CaseOption, CheckOption, ManifestOption, StudyOption, open_check, run_command, run_step


def main(study: StudyOption, campaign: CheckOption, case: CaseOption, manifest: ManifestOption = None) -> None:
    """Measures what the store does not hold yet."""

    def step() -> Manifest:
        opened = open_check(study, campaign)
        with runtime_of(opened.study).runner(opened, case, load_settings()) as runner:
            return check_measure.run(opened, case, runner)

    run_step(step, manifest)


if __name__ == "__main__":
    run_command(main)
