"""`make active` and `make rollback`, as far as they go without a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_pareto.audit.verification import Rollout
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.messages import moved_text
from kafka_pareto.rollout.versions import ActiveSettings, add_version, way_back, write_files
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.requests import ActiveRequest, RollBackRequest, VerifyRequest
from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.runs.rollout import roll_back, roll_back_here, show_active
from kafka_pareto_embedded.runs.verified_settings import rollout_of
from kafka_pareto_embedded.stack.stack import Stack

pytestmark = pytest.mark.fast


@dataclass(frozen=True)
class FolderStack(Stack):
    """A stack whose store is a folder."""

    folder: Path

    def settings(self) -> Settings:
        return Settings(store_folder=self.folder)


@pytest.fixture
def stack(tmp_path: Path) -> FolderStack:
    return FolderStack(tmp_path, Ports(), tmp_path / "store")


def activate(store: FolderStore, study: str, case: str, **changes: object) -> ActiveSettings:
    """A first version for this record size, picked by a user."""
    fingerprint = Fingerprint(
        system={
            "kafka_version": "4.3.1",
            "cluster_id": "x",
            "brokers": ["a:1"],
            "topic": "t",
            "topic_partitions": 3,
            "replication_factor": 3,
            "min_insync_replicas": 2,
        },
        client_host="h",
        client_cpu="c",
        client_cores=2,
        client_kernel="k",
        load_and_brokers_share_a_machine=True,
    )
    settings = ActiveSettings(
        study=study,
        case=case,
        version=1,
        previous_version=None,
        came_by="picked",
        configuration_id="c1",
        is_baseline=False,
        configuration={"linger.ms": 20},
        properties={"linger.ms": 20, "enable.idempotence": True},
        previous_properties={"linger.ms": 5},
        durability="acks_all_idempotent",
        driver="producer",
        campaign="20261122T010203",
        cluster="",
        gains=[],
        fingerprint=fingerprint,
        accepted_by="ann",
        reason="an SLA of 50 ms",
        at="2026-11-22T01:02:03+00:00",
    ).model_copy(update=changes)
    add_version(store, settings)
    write_files(store, study, case)
    return settings


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / "store")
    activate(store, "steady", "8192")
    return store


@pytest.mark.usefixtures("store")
def test_active_settings_are_shown_with_their_history_and_their_files_are_copied(
    stack: FolderStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_active(ActiveRequest(study="steady", folder=tmp_path / "files"), stack.settings())
    copies = tmp_path / "files" / "steady" / "8192"
    assert capsys.readouterr().out.splitlines() == [
        "8,192 B: version 1 since 2026-11-22T01:02:03+00:00",
        "  picked from campaign 20261122T010203, accepted by ann: an SLA of 50 ms",
        "  enable.idempotence=true",
        "  linger.ms=20",
        f"  copied to {copies}",
    ]
    assert {path.name for path in copies.iterdir()} == {
        "producer.properties",
        "application.yaml",
        "librdkafka.properties",
    }
    assert parse_properties((copies / "producer.properties").read_text())["linger.ms"] == "20"


def test_files_of_an_older_version_are_rewritten_when_the_active_settings_are_shown(
    store: FolderStore, stack: FolderStack, tmp_path: Path
) -> None:
    key = InForceKeys("steady", "8192").file("producer.properties")
    newest = store.get(key)
    store.put(key, b"linger.ms=5\n")
    show_active(ActiveRequest(study="steady", folder=tmp_path / "files"), stack.settings())
    assert store.get(key) == newest
    assert (tmp_path / "files" / "steady" / "8192" / "producer.properties").read_bytes() == newest


@pytest.mark.usefixtures("store")
def test_a_rollback_from_nothing_is_refused_before_anything_is_triggered(stack: FolderStack) -> None:
    with pytest.raises(
        BadInputError,
        match=r"RECORD_SIZE=1024: no settings are active in study steady; it has active settings for 8192",
    ):
        roll_back(RollBackRequest(study="steady", case="1024"), stack)
    with pytest.raises(BadInputError, match=r"STUDY=quick: no settings are active yet; `make run STUDY=quick`"):
        roll_back(RollBackRequest(study="quick", case="1024"), stack)


@pytest.mark.usefixtures("store")
def test_a_folder_of_results_goes_back_without_a_stack(stack: FolderStack, capsys: pytest.CaptureFixture[str]) -> None:
    roll_back_here(RollBackRequest(study="steady", case="8192", reason="no SLA any more"), stack.settings())
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("8,192 B: version 2 since ")
    assert said[1].endswith(": no SLA any more")
    assert said[1].startswith("  the baseline; ")
    with pytest.raises(BadInputError, match="--case: 1024: it has no active settings"):
        roll_back_here(RollBackRequest(study="steady", case="1024"), stack.settings())


def test_a_change_from_an_unset_setting_shows_the_default_of_the_drivers_program(stack: FolderStack) -> None:
    given = {"properties": {"linger.ms": 50, "batch.size": 2_000_000}, "previous_properties": {"linger.ms": 5}}
    for driver, default in (("producer", "16,384"), ("librdkafka", "1,000,000")):
        settings = activate(FolderStore(stack.folder), driver, "1024b", driver=driver, **given)
        assert f"  Changed: batch.size {default} -> 2,000,000, linger.ms 5 -> 50." in moved_text([settings])


def test_active_settings_of_librdkafka_are_verified_by_what_batches_show(stack: FolderStack) -> None:
    settings, request = stack.settings(), VerifyRequest(topic="orders", active="librdkafka")
    activate(
        FolderStore(stack.folder),
        "librdkafka",
        "1024b",
        driver="librdkafka",
        properties={"acks": "all", "compression.type": "zstd", "batch.num.messages": 100},
        previous_properties={"linger.ms": 50, "enable.idempotence": True},
    )
    unset = {"batch.size": 1_000_000, "compression.type": "none", "enable.idempotence": False}
    assert rollout_of(request, settings) == Rollout(
        "study librdkafka, version 1",
        {**unset, "compression.type": "zstd", "linger.ms": 5},
        {**unset, "enable.idempotence": True, "linger.ms": 50},
        why_unpredicted="the prediction assumes the default of batch.num.messages",
        client="librdkafka",
    )
    activate(FolderStore(stack.folder), "ingest", "1m", driver="ingestion")
    with pytest.raises(BadInputError, match="study ingest has driver ingestion, expected producer or librdkafka"):
        rollout_of(request.model_copy(update={"active": "ingest"}), settings)


def test_producers_that_have_not_restarted_use_the_last_other_settings(stack: FolderStack) -> None:
    store, request = FolderStore(stack.folder), VerifyRequest(topic="orders", active="steady")
    baseline, first, second = {"linger.ms": 5}, {"linger.ms": 20}, {"linger.ms": 50}

    def settings_of_the_rollout() -> tuple[object, object]:
        found = rollout_of(request, stack.settings())
        return found.expected, found.previous

    kept = [activate(store, "steady", "8192", properties=first)]
    assert settings_of_the_rollout() == (first, baseline)
    after_it = {"version": 2, "previous_version": 1, "properties": second, "previous_properties": first}
    kept.append(activate(store, "steady", "8192", **after_it))
    assert settings_of_the_rollout() == (second, first)
    kept.append(way_back(kept, by="ann", reason="", request=""))
    add_version(store, kept[-1])
    assert kept[-1].previous_properties == baseline
    assert settings_of_the_rollout() == (first, second)
    activate(store, "steady", "8192", version=4, cluster="berlin", properties=second)
    assert settings_of_the_rollout() == (second, baseline), "the other versions are of another cluster"


def test_a_file_of_librdkafka_has_its_defaults(stack: FolderStack) -> None:
    new, old = stack.folder.parent / "new.conf", stack.folder.parent / "old.conf"
    new.write_text("queue.buffering.max.ms=20\ncompression.codec=lz4\n")
    old.write_text("linger.ms=7\ncompression.type=gzip\n")
    unset = {"batch.size": 1_000_000, "enable.idempotence": False}
    request = VerifyRequest(topic="orders", settings=new, previous=old)
    found = rollout_of(request, stack.settings())
    assert found.expected == {**unset, "linger.ms": 20, "compression.type": "lz4"}
    assert found.previous == {**unset, "linger.ms": 7, "compression.type": "gzip"}
    assert (found.not_compared, found.why_unpredicted) == (frozenset(), "")


def test_settings_that_both_clients_know_are_those_of_the_named_one(stack: FolderStack) -> None:
    file = stack.folder.parent / "python.conf"
    file.write_text("linger.ms=20\ncompression.type=lz4\n")
    request = VerifyRequest(topic="orders", settings=file)
    stated = {"linger.ms": 20, "compression.type": "lz4"}
    assert rollout_of(request, stack.settings()).expected == stated  # with Java's defaults
    named = rollout_of(request.model_copy(update={"client": "librdkafka"}), stack.settings())
    assert named.expected == {**stated, "batch.size": 1_000_000, "enable.idempotence": False}
    file.write_text("delivery.timeout.ms=5000\n")
    with pytest.raises(BadInputError, match="otherwise Kafka's producer does not start"):
        rollout_of(request, stack.settings())
    assert rollout_of(request.model_copy(update={"client": "librdkafka"}), stack.settings()).client == "librdkafka"
    only_librdkafkas = stack.folder.parent / "native.conf"
    only_librdkafkas.write_text("queue.buffering.max.ms=20\n")
    with pytest.raises(BadInputError, match=r"--settings: .*native\.conf: has names that only librdkafka knows; omit"):
        rollout_of(request.model_copy(update={"settings": only_librdkafkas, "client": "java"}), stack.settings())
    with pytest.raises(BadInputError, match="--client: needs --settings; a study knows its client"):
        rollout_of(VerifyRequest(topic="orders", active="steady", client="java"), stack.settings())
