"""A reported campaign, made once for all tests that read or copy it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reported_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a reported campaign, to be read or copied."""
    # Only here: drawing libraries would slow down every start of pytest.
    from kafka_pareto.steps import report
    from tests.tasks.report_campaign import small_study, write_confirmed_campaign

    folder = tmp_path_factory.mktemp("reported")
    campaign = write_confirmed_campaign(folder, small_study())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)
        report.run(campaign)
    return folder
