"""The confirmation goes on with the candidates of an earlier try, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import ArtifactError
from kafka_pareto.steps import confirm
from tests.unit.measuring import CASE, measuring

pytestmark = pytest.mark.fast


def test_candidates_that_cannot_be_read_are_not_replaced_by_others(tmp_path: Path):
    with measuring(tmp_path) as m:
        key = m.campaign.keys.confirmation(CASE, "candidates.parquet")
        m.campaign.store.put(key, b"damaged")

        with pytest.raises(ArtifactError, match=r"candidates\.parquet"):
            confirm.run(m.campaign, CASE, ProducerRunner(m.campaign, CASE, m.testbed))
        assert m.campaign.store.get(key) == b"damaged"
        assert m.tool.requests == []
