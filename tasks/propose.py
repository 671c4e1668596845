"""Run the step `propose`: decide which cases continue with another round, and what it measures there."""

from __future__ import annotations

from typing import Annotated

import typer

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import propose
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command

RoundOption = Annotated[int, typer.Option("--round", min=1, help="the round to propose for")]


def main(study: StudyOption, campaign: CampaignOption, round_number: RoundOption) -> Manifest:
    """Propose what the surrogates expect most of, where the round before was worth it."""
    return propose.run(open_campaign(study, campaign), round_number)


if __name__ == "__main__":
    run_command(main)
