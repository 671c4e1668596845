"""Run the step `optimize`: searches the surrogates of one case with NSGA-III."""

from __future__ import annotations

from kafka_pareto.steps import optimize
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
    """Search one record size for the configurations that no other beats on all objectives."""
    run_step(lambda: optimize.run(open_campaign(study, campaign), case, round_number), manifest)


if __name__ == "__main__":
    run_command(main)
