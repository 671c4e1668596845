"""The machine's ceilings for a comparison: measured once, and never at the price of the comparison."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.producer.ceilings import keep_ceilings
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study import Study
from tests.compared import comparison
from tests.fakes import fake_testbed
from tests.recorded import paper_study

pytestmark = pytest.mark.fast

KEPT = Ceilings(
    record_size_bytes=1,
    batch_size_bytes=1,
    loopback_mib_s=1.0,
    disk_write_mib_s=None,
    generator_records_s=1.0,
)
TRIED = "without Kafka, up to 15 s"


def kept(folder: Path, study: Study, *, here: bool = True, before: Ceilings | None = None) -> Ceilings | None:
    """Measure a campaign's ceilings on a machine without Java, and return what is stored."""
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    case = study.cases[0]
    with fake_testbed(campaign, case) as testbed:
        found = campaign.read_record(campaign.keys.fingerprint(case), Fingerprint)
        shared = found.model_copy(update={"load_and_brokers_share_a_machine": here})
        campaign.write_record(campaign.keys.fingerprint(case), shared)
        if before:
            campaign.write_record(campaign.keys.ceilings(), before)
        keep_ceilings(campaign, case, testbed, Settings(java=str(folder / "no-java"), kafka_jars=folder))
    key = campaign.keys.ceilings()
    return campaign.read_record(key, Ceilings) if campaign.store.tag(key) else None


def test_a_comparison_continues_without_ceilings_that_cannot_be_measured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert kept(tmp_path, comparison()) is None
    assert TRIED in caplog.text
    assert "the machine's ceilings could not be measured" in caplog.text


@pytest.mark.parametrize(
    ("study", "here", "before"),
    [(comparison, True, KEPT), (comparison, False, None), (paper_study, True, None)],
    ids=["a campaign that has them", "brokers elsewhere", "a tuning campaign"],
)
def test_nothing_is_measured_for(
    study: Callable[[], Study], here: bool, before: Ceilings | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert kept(tmp_path, study(), here=here, before=before) == before
    assert TRIED not in caplog.text
