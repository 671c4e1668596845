"""Earlier campaigns that a study starts from, in its file and on the command line."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator

from kafka_pareto.study.identifiers import CAMPAIGN_ID
from kafka_pareto.study.section import Section

Campaigns: TypeAlias = Literal["latest"] | list[str]


class WarmStart(Section):
    """Lets the rounds learn from earlier campaigns of the same study.

    `campaigns` are their IDs, or `latest`: the newest with usable trials. Repetitions lose half their weight every
    `half_life_days`.
    """

    campaigns: Campaigns
    half_life_days: Annotated[float, Field(gt=0)] = 30.0

    @field_validator("campaigns", mode="before")
    @classmethod
    def _campaigns_are_named(cls, given: Any) -> Any:
        ids = given if isinstance(given, list) else []
        named = {each for each in ids if isinstance(each, str) and re.fullmatch(CAMPAIGN_ID, each)}
        if given != "latest" and not 0 < len(ids) == len(named):
            raise ValueError("must be latest, or a list of different campaign ids (letters, digits, '-' or '_')")
        return given


def campaigns_from(text: str) -> Campaigns:
    """Parse an option: `latest`, or ids like `20261121T120000,20261122T120000`; the study validates them."""
    return "latest" if text == "latest" else text.split(",")


def campaigns_text(campaigns: Campaigns) -> str:
    """Return the option for `campaigns_from`."""
    return campaigns if isinstance(campaigns, str) else ",".join(campaigns)
