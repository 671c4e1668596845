"""Says which texts the explorer's addresses may hold; any other is refused before it reaches the store."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import CAMPAIGN_ID, CONFIGURATION_ID, STUDY_NAME

StudyName = Annotated[str, Path(pattern=f"^{STUDY_NAME}$")]
CampaignId = Annotated[str, Path(pattern=f"^{CAMPAIGN_ID}$")]
Case = Annotated[str, Path(pattern=f"^{CASE}$")]
ConfigurationId = Annotated[str, Path(pattern=f"^{CONFIGURATION_ID}$")]
ArtifactName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_=][A-Za-z0-9_=.,-]*(/[A-Za-z0-9_=][A-Za-z0-9_=.,-]*)*$")]
Bound = Annotated[float | None, Query(gt=0, allow_inf_nan=False)]
