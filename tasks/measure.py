"""Run the step `measure`: measure every configuration of the design for one case, on the real cluster."""

from __future__ import annotations

from kafka_pareto.steps import measure
from tasks.common import (
    CampaignOption,
    CaseOption,
    ManifestOption,
    RoundOption,
    StudyOption,
    on_system,
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
    """Measure what the store does not hold yet."""
    run_step(lambda: on_system(measure.run, open_campaign(study, campaign), case, round_number), manifest)


if __name__ == "__main__":
    run_command(main)
