"""What the tests of the steps and of the explorer share."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.steps import report
from tests.tasks.report_campaign import small_study, write_confirmed_campaign


@pytest.fixture(scope="session")
def reported_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a reported campaign, to be read or copied."""
    folder = tmp_path_factory.mktemp("reported")
    campaign = write_confirmed_campaign(folder, small_study())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)
        report.run(campaign)
    return folder
