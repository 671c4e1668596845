"""Testbed of log pipelines: a broker, a shop behind nginx, and the load generator."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.own_folder import own_folder
from kafka_pareto.brokers.processes import Opened
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.sent_text import sent_text
from kafka_pareto.drivers.common.cluster_access import LEASE_WAIT_S, machine_lease
from kafka_pareto.drivers.common.systems import fingerprint_of_own
from kafka_pareto.drivers.log_pipeline.collector_pair import CollectorPair, CollectorSettings
from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings, FilebeatPair
from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile
from kafka_pareto.drivers.log_pipeline.pipeline import PartEndedError, Pipeline, Shipping
from kafka_pareto.drivers.log_pipeline.programs import Programs, find_programs
from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import due_requests, read_log
from kafka_pareto.drivers.log_pipeline.stages import read_access_log, requests_in
from kafka_pareto.drivers.log_pipeline.study import LogPipelineStudy
from kafka_pareto.drivers.log_pipeline.warehouse import Warehouse
from kafka_pareto.drivers.log_pipeline.web_load import WebLoad
from kafka_pareto.drivers.log_pipeline.web_server import WebServer
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError, MissingArtifactError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.storage.record import Record
from kafka_pareto.study.factors import Configuration

log = logging.getLogger(__name__)

_CAPACITY = "web-server"
_LOGGED_S = 10.0
_LOOK_S = 0.2
_TOPIC_CONFIGS = {"message.timestamp.type": "LogAppendTime", "min.insync.replicas": "1"}


PARENTS = ("nginx", "shop", "spark")
"""Parts that work in child processes: workers of nginx and gunicorn, Spark's JVM."""


class WebCapacity(Record):
    """The highest rate that the web server sustained; loads in percent refer to it."""

    requests_s: float


class OpenPipeline(Opened):
    """Context in which a level's pipeline follows a new log, and requests can be sent to nginx.

    With `keeps_running` it serves one window after another, each ended by `end_requests` and `end_window`.
    """

    def __init__(self, testbed: PipelineTestbed, configuration: Configuration) -> None:
        self._testbed = testbed
        self._settings = testbed.study.effective(configuration)
        self.keeps_running = testbed.study.protocol.keeps_running
        self.is_new = True
        self.log_file = Path()
        self.load: WebLoad
        self.pipeline: Pipeline

    def _open(self, opened: ExitStack) -> None:
        testbed = self._testbed
        folder = opened.enter_context(own_folder())
        self.log_file = folder / "access.log"
        self._log = GrowingFile(self.log_file)
        topic = f"logs-{secrets.token_hex(4)}"
        testbed.cluster.create_topic(topic, 1, 1, _TOPIC_CONFIGS)
        opened.callback(testbed.cluster.delete_topic, topic)
        url = testbed.web.start_nginx(self.log_file, str(self._settings["log_lines"]))
        opened.callback(testbed.web.stop_nginx)
        parts = folder / "parts"
        parts.mkdir()
        programs, trigger_ms = testbed.programs, int(self._settings["trigger_ms"])
        broker = testbed.brokers.bootstrap_servers
        warehouse = Warehouse(parts / "warehouse", programs.python, programs.spark_jars, broker, topic, trigger_ms)
        self.pipeline = opened.enter_context(Pipeline(self.shipping(parts, topic), warehouse))
        replayed = testbed.replayed.file if testbed.replayed else None
        self.load = opened.enter_context(WebLoad(url, testbed.study.senders, replayed))
        self._started_s = time.monotonic()

    def shipping(self, folder: Path, topic: str) -> Shipping:
        """Return the level's shipper and aggregator."""
        programs = self._testbed.programs
        if self._settings["shipper"] == "otel":
            return CollectorPair(folder, programs.collector, self.log_file, self.collector_settings(topic))
        return FilebeatPair(folder, programs, self.log_file, self._settings, self.aggregator_settings(topic))

    def collector_settings(self, topic: str) -> CollectorSettings:
        """Return the settings of the level's Collectors."""
        return CollectorSettings(self._testbed.brokers.bootstrap_servers, topic, self._settings)

    def aggregator_settings(self, topic: str) -> AggregatorSettings:
        """Return the settings of the level's aggregator."""
        found = self._settings
        return AggregatorSettings(
            self._testbed.brokers.bootstrap_servers,
            topic,
            batch_size=int(found["aggregator_batch_size"]),
            batch_delay_ms=int(found["aggregator_batch_delay_ms"]),
            workers=int(found["aggregator_workers"]),
            linger_ms=int(found["linger_ms"]),
            acks=str(found["acks"]),
            acknowledge=str(found["aggregator_acknowledges"]),
        )

    def require_running(self) -> None:
        """Check the pipeline's parts, nginx and the shop.

        Raises:
            PartEndedError: If a part has ended; with `keeps_running` also for nginx and the shop.
            LoadToolError: If nginx or the shop has ended.
        """
        try:
            self._testbed.web.require_running()
        except LoadToolError as error:
            if not self.keeps_running:
                raise
            raise PartEndedError(str(error)) from error
        self.pipeline.require_running()

    @property
    def running_s(self) -> float:
        """Return the time since nginx and the pipeline's parts had started; broker and shop may be older."""
        return time.monotonic() - self._started_s

    def logged(self) -> pd.DataFrame:
        """Return the requests logged so far, with `keeps_running` those of the window."""
        if self.keeps_running:
            return requests_in({f"{self.log_file.name} after byte {self._log.from_byte}": self._log.text()})
        return read_access_log(self.log_file)

    def end_requests(self, answered_ids: Collection[str]) -> pd.DataFrame:
        """Return the logged requests once the log is complete, since nginx logs a request when it has ended.

        Stop nginx, or if it must keep running, wait until all answered requests are logged and no more are.
        """
        if not self.keeps_running:
            self._testbed.web.stop_nginx()
            return self.logged()
        answered, deadline, known = set(answered_ids), time.monotonic() + _LOGGED_S, -1
        while True:
            logged = self.logged()
            is_complete = len(logged) == known and answered <= set(logged.request_id)
            if is_complete or time.monotonic() > deadline:
                return logged
            known = len(logged)
            time.sleep(_LOOK_S)

    def end_window(self) -> tuple[pd.DataFrame, Mapping[int, int]]:
        """Return the window's rows in Hive and each batch's commit time; begin a window of the log and of Hive."""
        found = self.pipeline.end_window()
        self._log.begin_window()
        self.is_new = False
        return found

    def roots(self) -> dict[str, int]:
        """Map each running part to its process id."""
        senders = {f"load {number}": pid for number, pid in enumerate(self.load.pids)}
        return {**self._testbed.web.pids, **self.pipeline.pids, **self._testbed.brokers.pids, **senders}


@dataclass
class PipelineTestbed:
    """Resources shared by all runs of a case; the lease covers this machine, whose cores are measured."""

    study: LogPipelineStudy
    campaign: Campaign
    lease: ClusterLease
    programs: Programs
    brokers: Brokers
    cluster: Cluster
    web: WebServer
    replayed: Replayed | None = None
    _kept: OpenPipeline | None = field(default=None, init=False)
    _keeping: ExitStack = field(default_factory=ExitStack, init=False)

    @contextmanager
    def opened(self, configuration: Configuration) -> Iterator[OpenPipeline]:
        """Open a level's pipeline; with `keeps_running`, the one of the previous window, or a new one that is kept."""
        if not self.study.protocol.keeps_running:
            with OpenPipeline(self, configuration) as opened:
                yield opened
            return
        if self._kept is None:
            self._kept = self._keeping.enter_context(OpenPipeline(self, configuration))
        yield self._kept

    def end_kept(self) -> None:
        """End the kept pipeline, if any."""
        self._kept = None
        try:
            self._keeping.close()
        except ClusterError as error:  # must not replace what the window found
            log.warning("the topic of the pipeline's parts was not deleted: %s", error)

    def require_running(self) -> None:
        """Check broker, shop and database, and the nginx of a kept pipeline, which ends if one of them has.

        Raises:
            ClusterError: If one has ended.
        """
        if not self.brokers.pids:
            raise ClusterError("the log pipeline's broker has ended unexpectedly")
        try:
            self.web.require_running()
        except LoadToolError as error:
            self.end_kept()
            raise ClusterError(str(error)) from error

    def requests_s(self, configuration: Configuration, search: Callable[[], float]) -> float:
        """Return a level's request rate (the mean of a replayed log); the capacity is measured once per campaign."""
        if self.replayed and self.study.is_replayed(configuration):
            return self.replayed.requests_s
        asked = self.study.rate_of(configuration)
        if asked.requests_s is not None:
            return asked.requests_s
        key = self.campaign.keys.sizing(_CAPACITY)
        try:
            capacity = self.campaign.read_record(key, WebCapacity).requests_s
        except MissingArtifactError:
            capacity = search()
            log.info("capacity of the web server: %.0f requests/s", capacity)
            self.campaign.write_record(key, WebCapacity(requests_s=capacity))
        return (asked.capacity_fraction or 0.0) * capacity


@contextmanager
def open_pipeline_testbed(
    campaign: Campaign, study: LogPipelineStudy, case: str, settings: Settings
) -> Iterator[PipelineTestbed]:
    """Take the machine's lease and start broker and shop.

    Raises:
        ClusterError: If the broker or the shop does not start.
    """
    programs = find_programs(settings, study.database)
    with ClusterLease(campaign.store, machine_lease(), LEASE_WAIT_S) as lease, ExitStack() as opened:
        brokers = opened.enter_context(Brokers(1, settings, heap_mib=study.heap_mib))
        cluster = opened.enter_context(Cluster(brokers.bootstrap_servers, None, settings))
        folder = opened.enter_context(own_folder())
        replayed = replayed_log(campaign, study, folder / "replayed.json")
        try:
            web = opened.enter_context(WebServer(folder, programs.python, study.database, study.seed))
        except (LoadStartError, LoadToolError) as error:
            raise ClusterError(str(error)) from error
        keep_fingerprint(campaign, case, fingerprint_of_own(cluster, study.heap_mib))
        testbed = PipelineTestbed(study, campaign, lease, programs, brokers, cluster, web, replayed)
        opened.callback(testbed.end_kept)
        yield testbed


@dataclass(frozen=True)
class Replayed:
    """File with due time and path of each request, and the mean request rate of a run."""

    file: Path
    requests_s: float


def replayed_log(campaign: Campaign, study: LogPipelineStudy, file: Path) -> Replayed | None:
    """Write the due times of the campaign's log; return None if the study replays no log."""
    if study.replay is None:
        return None
    found = read_log(sent_text(campaign))
    due = due_requests(found, study.replay.times)
    seconds = study.protocol.seconds
    sent = sum(due_s < seconds for due_s, _ in due)
    log.info(
        "%s: each run sends %d of %d requests, at %g times the logged speed; entries skipped for lack of a path: %d",
        *(study.replay.file, sent, len(due), study.replay.times, found.skipped),
    )
    file.write_text(json.dumps(due), encoding="utf-8")
    return Replayed(file, sent / seconds)
