"""Run the step `accept`: put a campaign's recommendations, or a picked configuration, in force."""

from __future__ import annotations

from collections.abc import Callable

from kafka_pareto.steps import accept
from kafka_pareto.study.options import Wanted
from tasks.common import CampaignOption, ManifestOption, StudyOption, open_campaign, run_command, run_step, with_options


@with_options(Wanted)
def main(
    study: StudyOption, campaign: CampaignOption, options: Callable[[], Wanted], manifest: ManifestOption = None
) -> None:
    """Put what is recommended, or what was picked, in force as a new version."""
    run_step(lambda: accept.run(wanted=options(), campaign=open_campaign(study, campaign)), manifest)


if __name__ == "__main__":
    run_command(main)
