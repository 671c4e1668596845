"""Define the valid parameters in the explorer's URLs; others are refused before they reach the store."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request

from kafka_pareto.study.cases import CASE
from kafka_pareto.study.declarations import all_objectives
from kafka_pareto.study.identifiers import CAMPAIGN_ID, CONFIGURATION_ID, STUDY_NAME

StudyName = Annotated[str, Path(pattern=f"^{STUDY_NAME}$")]
CampaignId = Annotated[str, Path(pattern=f"^{CAMPAIGN_ID}$")]
Case = Annotated[str, Path(pattern=f"^{CASE}$")]
ConfigurationId = Annotated[str, Path(pattern=f"^{CONFIGURATION_ID}$")]
ArtifactName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_=][A-Za-z0-9_=.,-]*(/[A-Za-z0-9_=][A-Za-z0-9_=.,-]*)*$")]
FileName = Annotated[str, Path(pattern="^[a-z]{1,20}[.](properties|ya?ml)$")]


def _bounds(request: Request) -> dict[str, float]:
    """Read the bounds of objectives from a query: finite, above zero, in the order of the objectives."""
    given = request.query_params
    found = {each.name: _number(given[each.name]) for each in all_objectives() if each.name in given}
    if bad := [name for name, bound in found.items() if not (math.isfinite(bound) and bound > 0)]:
        raise HTTPException(404, f"invalid: {', '.join(bad)}")
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


Bounds = Annotated[dict[str, float], Depends(_bounds)]
