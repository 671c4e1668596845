"""A reported campaign, made once for all tests that read or copy it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reported_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a reported campaign, to be read or copied: the first process that asks makes it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "reported"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = tmp_path_factory.mktemp("reported")
            _write(part)
            part.rename(folder)
    return folder


def _write(folder: Path) -> None:
    # Only here: drawing libraries would slow down every start of pytest.
    from kafka_pareto.steps import report
    from tests.tasks.report_campaign import small_study, write_confirmed_campaign

    campaign = write_confirmed_campaign(folder, small_study())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)
        report.run(campaign)
