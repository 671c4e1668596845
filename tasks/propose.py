"""Run the step `propose`: decide which cases get another round, and its configurations."""

from __future__ import annotations

from typing import Annotated

import typer

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.steps import propose
from tasks.common import CampaignOption, StudyOption, open_campaign, run_command

RoundOption = Annotated[int, typer.Option("--round", min=1, help="the round to propose")]


def main(study: StudyOption, campaign: CampaignOption, round_number: RoundOption) -> Manifest:
    """Propose the surrogates' best configurations for cases whose previous round paid off."""
    return propose.run(open_campaign(study, campaign), round_number)


if __name__ == "__main__":
    run_command(main)
