"""The explorer's credentials allow only reading on a real MinIO."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.campaign.progress import campaign_progress
from kafka_pareto.errors import StoreError
from kafka_pareto.explorer.snapshot import read_snapshot
from kafka_pareto.explorer.view import case_view
from kafka_pareto.rollout.versions import versions
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.provision import PARETO_BUCKET
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.programs.preparation import prepare_object_store
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials
from kafka_pareto_embedded.stack.stack import Stack
from tests.contract.minio_fixture import RunningMinio
from tests.tasks.report_campaign import CAMPAIGN

pytestmark = pytest.mark.servers

CASE = "65636"


@pytest.fixture(scope="module")
def stores(
    minio_server: RunningMinio, reported_store: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Store, Store]:
    """The store as the steps have it, with a reported campaign in it, and as the explorer has it."""
    state = tmp_path_factory.mktemp("stack")
    stack = Stack(state, Ports(minio=urlsplit(minio_server.endpoint).port or 0))
    secret = Credentials(minio_root_user=minio_server.access_key, minio_root_password=minio_server.secret_key)
    write_credentials(stack.secrets_file, secret)
    prepare_object_store(stack)
    steps, explorer = (
        open_store(
            Settings(
                s3_endpoint=minio_server.endpoint, s3_access_key=user, s3_secret_key=password, s3_bucket=PARETO_BUCKET
            )
        )
        for user, password in (
            (secret.s3_pareto_access_key, secret.s3_pareto_secret_key),
            (secret.s3_explorer_access_key, secret.s3_explorer_secret_key),
        )
    )
    recorded = FolderStore(reported_store)
    for key in recorded.keys(""):
        steps.put(key, recorded.get(key))
    return steps, explorer


def test_it_sees_a_campaign_as_the_steps_wrote_it(stores: tuple[Store, Store]) -> None:
    steps, explorer = stores
    (entry,) = list_campaigns(explorer)
    assert (entry.campaign, entry.state) == (CAMPAIGN, "reported")
    snapshot, written = (read_snapshot(Campaign.open(store, "paper", CAMPAIGN), CASE) for store in (explorer, steps))
    assert case_view(snapshot) == case_view(written)
    assert campaign_progress(snapshot.campaign).finished
    assert versions(explorer, "paper", CASE) == []


def test_it_can_neither_write_nor_delete(stores: tuple[Store, Store]) -> None:
    steps, explorer = stores
    key = next(iter(steps.keys("paper/")))
    before = steps.get(key)
    for forbidden in (
        lambda: explorer.put("probe", b"x"),
        lambda: explorer.put(key, b"x"),
        lambda: explorer.put_if("_in_force/paper/65636/versions/00001.json", b"{}", None),
        lambda: explorer.delete(key),
    ):
        with pytest.raises(StoreError):
            forbidden()
    assert steps.get(key) == before
    assert steps.keys("_in_force/") == []
