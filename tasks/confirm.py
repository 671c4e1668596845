"""Runs the step `confirm`: measures points of the front and the baseline again on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import confirm
from tasks.common import (
    CampaignOption,
    CaseOption,
    ManifestOption,
    StudyOption,
    open_campaign,
    run_command,
    run_step,
)


def main(study: StudyOption, campaign: CampaignOption, case: CaseOption, manifest: ManifestOption = None) -> None:
    """Measures the chosen points in blocks with the baseline, and decides."""

    def step() -> Manifest:
        opened = open_campaign(study, campaign)
        with runtime_of(opened.study).runner(opened, case, load_settings()) as runner:
            return confirm.run(opened, case, runner)

    run_step(step, manifest)


if __name__ == "__main__":
    run_command(main)
