"""Runs the step `measure`: measures every configuration of the design for one case, on the real cluster."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import measure
from tasks.common import (
    CampaignOption,
    CaseOption,
    ManifestOption,
    RoundOption,
    StudyOption,
    open_campaign,
    run_command,
    run_step,
)


def main(
    study: StudyOption,
    campaign: CampaignOption,
    case: CaseOption,
    round_number: RoundOption = 0,
    manifest: ManifestOption = None,
) -> None:
    """Measures what the store does not hold yet."""

    def step() -> Manifest:
        opened = open_campaign(study, campaign)
        with runtime_of(opened.study).runner(opened, case, load_settings()) as runner:
            return measure.run(opened, case, runner, round_number)

    run_step(step, manifest)


if __name__ == "__main__":
    run_command(main)
