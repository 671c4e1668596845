"""One load at a time on a cluster, whichever installation or command it comes from: by a mark on the cluster itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.cluster_mark import MARK_TOPIC, ClusterMark, exclusive_load
from kafka_pareto.errors import ConsentError, LeaseHeldError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.requests import IngestRequest, RemoveTopicsRequest
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.runs.ingest import ingest
from kafka_pareto_embedded.runs.remove_topics import remove_topics
from tests.fakes import FakeLease
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT

pytestmark = pytest.mark.brokers

# Takes the mark, says so, and waits to be killed.
HOLDER = """
import sys, time
from kafka_pareto.drivers.common.cluster_mark import ClusterMark
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings
from tests.fakes import FakeLease
with Cluster(sys.argv[1], None, load_settings()) as cluster, ClusterMark(cluster, FakeLease(), 1, "killed", 5.0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def cluster(single_broker: RunningBrokers) -> Iterator[Cluster]:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as opened:
        yield opened


def killed_holder(brokers: RunningBrokers) -> None:
    """Leaves the mark of a process that was killed while it had it."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'include'}"}
    argv = [sys.executable, "-c", HOLDER, brokers.bootstrap_servers]
    with subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)


def test_two_installations_load_one_cluster_in_turn(cluster: Cluster, tmp_path: Path) -> None:
    mine, theirs = FolderStore(tmp_path / "mine"), FolderStore(tmp_path / "theirs")
    with exclusive_load(mine, cluster, cluster.describe(), 1.0) as lease:
        assert lease.is_held()
        assert lease.renew()
        with (
            pytest.raises(
                LeaseHeldError, match=rf"another installation is using this cluster \(.* pid {os.getpid()} since"
            ),
            exclusive_load(theirs, cluster, cluster.describe(), 2.0),
        ):
            pass
        assert lease.renew()
    wait_until("brokers know that the mark is gone", lambda: cluster.topics(MARK_TOPIC) == [], 30)
    with exclusive_load(theirs, cluster, cluster.describe(), 1.0) as lease:
        assert lease.is_held()


def test_the_mark_of_a_killed_process_lapses_after_a_term_and_its_own_installation_need_not_wait(
    cluster: Cluster, single_broker: RunningBrokers
) -> None:
    killed_holder(single_broker)
    with (
        pytest.raises(LeaseHeldError, match="another installation"),
        ClusterMark(cluster, FakeLease(), 1, "other", 2.0, term_s=60.0),
    ):
        pass
    with ClusterMark(cluster, FakeLease(), 1, "other", 30.0, term_s=2.0) as mark:
        assert mark.is_held()

    killed_holder(single_broker)
    with ClusterMark(cluster, FakeLease(), 1, "killed", 10.0, term_s=60.0) as mark:
        assert mark.is_held()


def test_a_holder_whose_mark_was_taken_knows_and_leaves_the_next_ones_alone(cluster: Cluster) -> None:
    with ClusterMark(cluster, FakeLease(), 1, "mine", 1.0, term_s=3600.0) as mine:
        cluster.delete_topic(MARK_TOPIC)
        with ClusterMark(cluster, FakeLease(), 1, "theirs", 5.0, term_s=60.0) as theirs:
            assert not mine.renew()
            assert not mine.is_held()
            mine.__exit__(None, None, None)
            assert theirs.renew()


def test_after_losing_the_lease_the_mark_is_left_to_the_next_of_its_installation(cluster: Cluster) -> None:
    lease = FakeLease()
    with ClusterMark(cluster, lease, 1, "one", 1.0, term_s=3600.0) as stalled:
        lease.held = False
        with ClusterMark(cluster, FakeLease(), 1, "one", 5.0, term_s=3600.0) as successor:
            mark = cluster.mark(MARK_TOPIC).topic_id()
            assert not stalled.is_held()
            stalled.__exit__(None, None, None)
            assert cluster.mark(MARK_TOPIC).make(1, {}) is None, "the mark is still there"
            assert cluster.mark(MARK_TOPIC).topic_id() == mark
            assert successor.renew()


def test_a_deleted_mark_is_made_again_while_the_load_continues(cluster: Cluster) -> None:
    with ClusterMark(cluster, FakeLease(), 1, "one", 1.0, term_s=3600.0) as mark:
        before = cluster.mark(MARK_TOPIC).topic_id()
        cluster.delete_topic(MARK_TOPIC)

        def is_another() -> bool:
            assert mark.renew()
            return cluster.mark(MARK_TOPIC).topic_id() not in (before, None)

        wait_until("the mark is made again", is_another, 30)
    wait_until("brokers know that the mark is gone", lambda: cluster.topics(MARK_TOPIC) == [], 30)


def test_a_file_is_sent_to_a_cluster_by_address_only_while_nothing_else_loads_it(
    cluster: Cluster, single_broker: RunningBrokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "state"))
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n")
    request = IngestRequest(
        file=rows, topic="alone", kafka=single_broker.bootstrap_servers, ceiling_mib_s=1, ceiling_gib=1, consent=True
    )
    campaigns = FolderStore(tmp_path / "campaigns")
    with (
        exclusive_load(campaigns, cluster, cluster.describe(), 1.0),
        pytest.raises(LeaseHeldError, match="another installation is using this cluster"),
    ):
        ingest(request, single_broker.settings, wait_s=2.0)
    same_store = FolderStore(tmp_path / "state" / "ingestions")
    with (
        ClusterLease(same_store, cluster.describe().cluster_id, 1.0),
        pytest.raises(LeaseHeldError, match="another load is running on this cluster"),
    ):
        ingest(request, single_broker.settings, wait_s=1.0)
    assert cluster.topics("alone") == []


def test_topics_that_were_left_are_listed_and_removed_with_consent_while_nothing_loads_the_cluster(
    cluster: Cluster,
    single_broker: RunningBrokers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "state"))
    left, others = "kafka-pareto.tiny.killed.1024", "kafka-pareto-books"
    for topic in (left, others):
        cluster.create_topic(topic, 1, 1)
    request = RemoveTopicsRequest(kafka=single_broker.bootstrap_servers)
    with pytest.raises(ConsentError, match="CONSENT=yes"):
        remove_topics(request, single_broker.settings)
    assert left in capsys.readouterr().out

    agreed = request.model_copy(update={"consent": True})
    with (
        exclusive_load(FolderStore(tmp_path / "campaigns"), cluster, cluster.describe(), 1.0),
        pytest.raises(LeaseHeldError),
    ):
        remove_topics(agreed, single_broker.settings, wait_s=2.0)
    assert left in cluster.topics("kafka-pareto")

    removed = remove_topics(agreed, single_broker.settings)
    assert removed.fields == {"cluster": single_broker.bootstrap_servers, "topics": {left: "deleted"}}
    wait_until("brokers know that the topic is gone", lambda: left not in cluster.topics("kafka-pareto"), 30)
    assert others in cluster.topics("kafka-pareto")
    cluster.delete_topic(others)

    held = exclusive_load(FolderStore(tmp_path / "campaigns"), cluster, cluster.describe(), 1.0)
    with held:  # a list without a topic is printed, whoever loads the cluster, and nothing is made there
        assert remove_topics(request, single_broker.settings, wait_s=0.0).fields["topics"] == {}
    assert "0 topics of campaigns" in capsys.readouterr().out
