"""Run the step `design`: freeze the study, compute what the campaign will cost, and draw the design."""

from __future__ import annotations

from collections.abc import Callable

from kafka_pareto.settings import load_settings
from kafka_pareto.steps.begin import begin
from kafka_pareto.study.options import DesignOptions
from tasks.common import CampaignOption, ManifestOption, StudyOption, run_command, run_step, with_options


@with_options(DesignOptions)
def main(
    study: StudyOption,
    campaign: CampaignOption,
    options: Callable[[], DesignOptions],
    manifest: ManifestOption = None,
) -> None:
    """Start a campaign, or resume one that was started with the same study."""
    run_step(lambda: begin(study, campaign, options(), load_settings()), manifest)


if __name__ == "__main__":
    run_command(main)
