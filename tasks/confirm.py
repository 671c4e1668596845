"""Run the step `confirm`: measure points of the front and the baseline again on the real cluster."""

from __future__ import annotations

from kafka_pareto.steps import confirm
from tasks.common import (
    CampaignOption,
    CaseOption,
    ManifestOption,
    StudyOption,
    on_system,
    open_campaign,
    run_command,
    run_step,
)


def main(study: StudyOption, campaign: CampaignOption, case: CaseOption, manifest: ManifestOption = None) -> None:
    """Measure the chosen points in blocks with the baseline, and decides."""
    run_step(lambda: on_system(confirm.run, open_campaign(study, campaign), case), manifest)


if __name__ == "__main__":
    run_command(main)
