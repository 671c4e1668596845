"""The cluster door on a broker with SASL and ACLs, reached with a user's `client.properties`."""

from __future__ import annotations

import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from kafka_pareto.campaign.candidates import baseline_candidate, candidates_of
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.drivers.common.cluster_mark import MARK_TOPIC, ClusterMark
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.common.systems import missing_safeguards
from kafka_pareto.drivers.producer.payload import PayloadFiles
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import BadInputError, ClusterError, SafetyStop
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.requests import IngestRequest
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.runs.ingest import ingest
from tests.fakes import FakeLease
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT
from tests.unit.measuring import quick, started

pytestmark = pytest.mark.brokers

_PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOOKING = ["Describe", "DescribeConfigs"]


@dataclass(frozen=True)
class SecuredBroker:
    brokers: RunningBrokers
    folder: Path
    passwords: dict[str, str]

    def as_user(self, user: str) -> Cluster:
        return self.with_config(write_client_config(self.folder, user, self.passwords[user]))

    def with_config(self, client_config: Path) -> Cluster:
        return Cluster(self.brokers.bootstrap_servers, client_config, self.brokers.settings)


def write_client_config(folder: Path, user: str, password: str) -> Path:
    """Writes the `client.properties` of this user."""
    file = folder / f"{user}.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={_PLAIN_LOGIN} username="{user}" password="{password}";\n'
    )
    return file


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker that asks for a password; `admin` may do all, `guest` nothing, the others what `grant` lets."""
    passwords = {user: secrets.token_urlsafe(12) for user in ("admin", "guest", "reader", "watcher", "tuner")}
    users = " ".join(f'user_{user}="{password}"' for user, password in passwords.items())
    login = f'{_PLAIN_LOGIN} username="admin" password="{passwords["admin"]}" {users};'
    secure = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",  # the first is a mere name
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": login,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",  # the controller's own listener knows no names
    }

    folder = tmp_path_factory.mktemp("secured-clients")
    admin = write_client_config(folder, "admin", passwords["admin"])
    with RunningBrokers(1, load_settings(), properties=secure, client_config=admin) as brokers:
        yield SecuredBroker(brokers, folder, passwords)


def test_user_of_the_client_properties_is_let_in(secured: SecuredBroker) -> None:
    with secured.as_user("admin") as cluster:
        assert cluster.create_topic("mine", 1, 1) == "created"
        assert cluster.end_offset("mine") == 0


def test_wrong_password_is_refused_without_being_shown(secured: SecuredBroker, tmp_path: Path) -> None:
    config = write_client_config(tmp_path, "admin", "not-the-password")

    with (
        secured.with_config(config) as cluster,
        pytest.raises(ClusterError) as refused,
    ):
        cluster.describe()

    assert refused.value.kafka_error == "SaslAuthenticationException"
    assert "fix the credentials" in str(refused.value)
    assert "not-the-password" not in str(refused.value)


def test_topic_that_may_not_be_created_says_which_rights_to_ask_for(secured: SecuredBroker) -> None:
    with secured.as_user("guest") as cluster, pytest.raises(ClusterError) as refused:
        cluster.create_topic("not-mine", 1, 1)

    assert refused.value.kafka_error == "TopicAuthorizationException"
    for part in (secured.brokers.bootstrap_servers, "create_topic", "not-mine", "the user needs Create"):
        assert part in str(refused.value)


def test_user_without_rights_on_the_cluster_still_gets_its_description(secured: SecuredBroker) -> None:
    with secured.as_user("guest") as cluster:
        described = cluster.describe()

    assert (described.controller_id, described.kafka_version) == (None, "4.3")


def test_broken_jaas_line_is_refused_without_showing_its_password(secured: SecuredBroker, tmp_path: Path) -> None:
    config = write_client_config(tmp_path, "admin", 'half" hidden-half "of-it')

    with (
        pytest.raises(ClusterError, match=r"fix the client\.properties") as refused,
        secured.with_config(config),
    ):
        pass

    assert "[hidden]" in str(refused.value)
    assert "hidden-half" not in str(refused.value)


def test_missing_client_properties_is_named(secured: SecuredBroker, tmp_path: Path) -> None:
    config = tmp_path / "nowhere.properties"

    with (
        pytest.raises(BadInputError, match=r"nowhere\.properties: cannot be read"),
        secured.with_config(config),
    ):
        pass


def test_password_is_in_no_command_line(secured: SecuredBroker) -> None:
    with secured.as_user("admin") as cluster:
        cluster.describe()
        shown = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]

    assert any("io.kafkapareto.ClusterAdmin" in line for line in shown)
    assert not [line for line in shown if secured.passwords["admin"] in line]


def grant(secured: SecuredBroker, user: str, operations: list[str], *at: str) -> None:
    """Lets the user do so on what is named, as `AclCommand` names it."""
    settings = secured.brokers.settings
    subprocess.run(
        [
            *(settings.java, "-Xmx128m", "-cp", f"{settings.kafka_jars}/*", "org.apache.kafka.tools.AclCommand"),
            *("--bootstrap-server", secured.brokers.bootstrap_servers),
            *("--command-config", str(secured.folder / "admin.properties")),
            *("--add", "--allow-principal", f"User:{user}"),
            *(word for operation in operations for word in ("--operation", operation)),
            *at,
        ],
        env=java_environment(),
        capture_output=True,
        timeout=60,
        check=True,
    )


def rights_of_the_page() -> list[tuple[str, list[str]]]:
    """Returns what docs/existing-clusters.md says that a user needs: on what, and which operations."""
    page = (ROOT / "docs/existing-clusters.md").read_text(encoding="utf-8")
    rows = page.partition("| on | operations | for |\n")[2].partition("\n\n")[0].splitlines()[1:]
    cells = [row.strip("|").split("|") for row in rows]
    return [(on.strip().strip("`"), re.findall(r"`(\w+)`", operations)) for on, operations, _ in cells]


def test_the_rights_that_the_page_names_are_enough_to_measure_and_to_send_a_file(
    secured: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights = rights_of_the_page()
    assert len(rights) == 4
    for on, operations in rights:
        grant(secured, "tuner", operations, *shlex.split(on))
    client_config = write_client_config(secured.folder, "tuner", secured.passwords["tuner"])
    cluster = {"bootstrap_servers": secured.brokers.bootstrap_servers, "client_config": client_config.name}
    ceilings: dict[str, Any] = {"ceiling_mib_s": 5.0, "ceiling_gib": 1.0, "consent": True}
    workload = {"replication_factor": 1, "min_insync_replicas": 1}
    study = quick(record_sizes_bytes=[1024], protocol={"records": 200}, workload=workload, cluster=cluster | ceilings)
    case, campaign = "1024", started(tmp_path, study)
    settings = secured.brokers.settings.model_copy(update={"client_configs": secured.folder})
    planned = plan_blocks([baseline_candidate(campaign, case)], 2, order="blocks", phase="choice", case=case, seed=1)
    phase = MeasurementPhase(planned, RepetitionStore(campaign, campaign.keys.confirmation(case, "repetitions/")))

    with ProducerRuntime().runner(campaign, case, settings) as runner:
        with secured.as_user("tuner") as tuner:
            assert tuner.topics(MARK_TOPIC) == [MARK_TOPIC]
            assert missing_safeguards(tuner, tuner.describe()) == []
        measured = Measurer(study, runner).measure(phase)
    assert [each.outcome for each in measured] == ["valid", "valid"]
    with secured.as_user("tuner") as tuner:
        topics = (MARK_TOPIC, topic_name(campaign.keys, case))
        wait_until("brokers know that mark and topic are gone", lambda: not any(map(tuner.topics, topics)), 30)

    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "state"))
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    request = {"file": file, "topic": "books", "kafka": cluster["bootstrap_servers"], "kafka_config": client_config}
    ingest(IngestRequest(**request, **ceilings), settings)
    with secured.as_user("tuner") as tuner:
        assert tuner.end_offset("books") == 1


def test_checks_prevented_by_a_users_rights_are_listed(secured: SecuredBroker) -> None:
    with secured.as_user("admin") as admin:
        admin.create_topic("somebodys", 1, 1)
        everything = admin.all_topics_health().topics
        assert missing_safeguards(admin, admin.describe()) == []
        assert admin.topics(MARK_TOPIC) == [], "the plan asks, and makes nothing"
    grant(secured, "watcher", LOOKING, "--cluster")
    with secured.as_user("watcher") as watcher:
        no_mark, hidden = missing_safeguards(watcher, watcher.describe())
        with ClusterMark(watcher, FakeLease(), 1, "an installation", 1.0) as mark:
            assert mark.is_held()
            assert mark.renew()
    assert "may not create topic kafka-pareto.lock" in no_mark
    assert "AuthorizationException" in no_mark
    assert hidden.startswith(f"not watched: {everything} topic")


def test_a_user_who_may_look_but_not_write_stops_the_campaign_at_the_first_load(
    secured: SecuredBroker, tmp_path: Path
) -> None:
    study, case = quick(record_sizes_bytes=[1024], workload={"replication_factor": 1, "min_insync_replicas": 1}), "1024"
    campaign = started(tmp_path, study)
    topic = topic_name(campaign.keys, case)
    with secured.as_user("admin") as admin:
        admin.create_topic(topic, study.workload.topic_partitions, 1)
    client_config = write_client_config(secured.folder, "reader", secured.passwords["reader"])
    grant(secured, "reader", LOOKING, "--topic", "*", "--cluster")
    candidates = candidates_of(campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS), campaign.study)
    planned = plan_blocks(candidates, 1, order="blocks", phase="design", case=case, seed=1)

    with secured.as_user("reader") as cluster, ClusterLease(campaign.store, "secured", wait_s=1.0) as lease:
        tool = ProducerPerformance(secured.brokers.bootstrap_servers, client_config, secured.brokers.settings)
        payloads = PayloadFiles(campaign, tmp_path)
        measurer = Measurer(study, ProducerRunner(campaign, case, Testbed(cluster, tool, lease, topic, payloads)))
        phase = MeasurementPhase(planned, RepetitionStore(campaign, campaign.keys.measurements(case)))
        with pytest.raises(SafetyStop, match=r"the cluster denied access.*needs .* Write on topic"):
            measurer.measure(phase)

    assert campaign.read_repetitions(campaign.keys.measurements(case)) == []
    assert len(campaign.read_repetitions(campaign.keys.discarded(case))) == 1
