"""Run the step `propose`: decides which cases go on with another round, and what it measures there."""

from __future__ import annotations

from typing import Annotated

import typer

from kafka_pareto.steps import propose
from tasks.common import CampaignOption, ManifestOption, StudyOption, open_campaign, run_command, run_step

RoundOption = Annotated[int, typer.Option("--round", min=1, help="the round to propose for")]


def main(
    study: StudyOption, campaign: CampaignOption, round_number: RoundOption, manifest: ManifestOption = None
) -> None:
    """Proposes what the surrogates expect most of, where the round before was worth it."""
    run_step(lambda: propose.run(open_campaign(study, campaign), round_number), manifest)


if __name__ == "__main__":
    run_command(main)
