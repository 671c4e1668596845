"""The campaign that most tests of accepting begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka_pareto.campaign.campaign import Campaign


@pytest.fixture
def campaign(reported_store: Path, tmp_path: Path) -> Campaign:
    """It recommends a configuration as durable as the baseline at one of its two record sizes."""
    from tests.tasks.accepting import accepting_campaign, durable_id, recommend

    found = accepting_campaign(reported_store, tmp_path)
    recommend(found, durable_id(found))
    return found
