"""Requests followed from nginx to Hive through all parts, also where one of them is killed, stopped or slow.

A run takes most of a minute, so that what goes well together is one run: three parts are killed in it, not one in each
of three.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import psutil
import pytest
import yaml

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.drivers.log_pipeline.attempt import follow, judge, require_logged, wanted_of
from kafka_pareto.drivers.log_pipeline.collector_pair import CollectorSettings
from kafka_pareto.drivers.log_pipeline.compare import CompareLogPipeline
from kafka_pareto.drivers.log_pipeline.figures import quantities_of_run
from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings
from kafka_pareto.drivers.log_pipeline.programs import Programs, find_programs
from kafka_pareto.drivers.log_pipeline.quantities import LogPipelineQuantities
from kafka_pareto.drivers.log_pipeline.runner import PipelineRunner
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed, Replayed
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.drivers.log_pipeline.web_server import WebServer
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.study_file import parse_study
from tests.processes import command_lines, left_after
from tests.required import is_required

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

RATE_S = 30.0
BROKEN_AFTER_S = 2.0
HANGS_S = 2.5
# Filebeat looks again at the latest a tenth of a second after an entry, so that a test need not wait for it.
QUICK = {"scan_frequency_ms": 100, "backoff_ms": 100, "max_backoff_ms": 100, "bulk_max_size": 50}
STUDY: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "log_pipeline",
    "name": "tiny",
    "description": "The numbers mean nothing.",
    "database": "sqlite",
    "senders": 2,
    "reference": {**QUICK, "load": "30/s"},
    "tables": [{"factor": "log_lines", "levels": ["multi", "single"]}],
    "protocol": {"repetitions": 3, "seconds": 10, "warmup_s": 3, "steady_from_s": 2, "drain_s": 60},
}


# Nothing waits for long, and no part waits for the next one: a delay shows only in its own part.
UNHINDERED: dict[str, Any] = {
    "log_lines": "single",
    "flush_min_events": 1,
    "flush_timeout_ms": 0,
    "pipelining": 50,
    "aggregator_workers": 16,
}


SPARKS_STAGES = ("kafka_to_spark", "spark_to_hive")


class Followed(NamedTuple):
    """Holds what came of a run."""

    reconciled: Reconciled
    quantities: LogPipelineQuantities

    @property
    def stages_ms(self) -> dict[str, float]:
        """Returns the mean of each stage."""
        return {name: getattr(self.quantities.stages, f"{name}_ms") for name in STAGES}

    def grown_ms(self, before: Followed) -> dict[str, float]:
        """Returns by how much the mean of each stage up to Kafka is longer than before.

        Spark's two are left out: beside other tests its batches take as long as the machine lets them.
        """
        stages = [name for name in STAGES if name not in SPARKS_STAGES]
        return {name: self.stages_ms[name] - before.stages_ms[name] for name in stages}


@pytest.fixture(scope="module")
def programs() -> Programs:
    try:
        return find_programs(load_settings(), "sqlite")
    except BadInputError as error:
        if is_required():
            raise
        pytest.skip(str(error))


@contextmanager
def open_testbed(folder: Path, programs: Programs) -> Iterator[PipelineTestbed]:
    settings = load_settings()
    study = parse_study(yaml.safe_dump(STUDY), "tiny.yaml")
    assert isinstance(study, CompareLogPipeline)
    with (
        Brokers(1, settings, heap_mib=256) as brokers,
        Cluster(brokers.bootstrap_servers, None, settings) as cluster,
        WebServer(folder, programs.python, "sqlite", 1) as web,
    ):
        campaign = cast("Campaign", SimpleNamespace())
        lease = cast("ClusterLease", SimpleNamespace())
        yield PipelineTestbed(study, campaign, lease, programs, brokers, cluster, web)


@pytest.fixture(scope="module")
def testbed(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineTestbed]:
    with open_testbed(tmp_path_factory.mktemp("w"), programs) as opened:
        yield opened


def followed(
    testbed: PipelineTestbed,
    meanwhile: Callable[[OpenPipeline], None] | None = None,
    opened_as: type[OpenPipeline] = OpenPipeline,
    drain_s: float = 60.0,
    warmup_s: float = 3.0,
    **level: Any,
) -> Followed:
    """Runs the requests of a level, does something soon after they began, and returns what came of them."""
    wanted = wanted_of(level, testbed.study, RATE_S, 0)
    protocol = testbed.study.protocol.model_copy(update={"drain_s": drain_s, "warmup_s": warmup_s})
    # Children are tied to the thread that starts them, so this one, which outlives them, starts and breaks.
    with opened_as(testbed, level) as opened, ThreadPoolExecutor(1) as following:
        has_begun, is_over, send = Event(), Event(), opened.load.send

        def tell_and_send(asked: Wanted) -> Answered:
            if asked is not wanted:  # those that warm up
                return send(asked)
            has_begun.set()
            answered = send(asked)
            assert is_over.wait(120)  # until then a killed part would pass for one that ended by itself
            return answered

        setattr(opened.load, "send", tell_and_send)  # noqa: B010 (a method)
        result = following.submit(follow, opened, wanted, protocol)
        try:
            if meanwhile:
                assert has_begun.wait(60)
                time.sleep(BROKEN_AFTER_S)
                meanwhile(opened)
        finally:
            is_over.set()
        answered, watched, reconciled, is_warm, _ = result.result()
    assert is_warm or not warmup_s
    require_logged(answered, reconciled)
    assert len(answered.answered_ids) == answered.due
    return Followed(reconciled, quantities_of_run(answered, watched, reconciled, wanted, protocol))


@pytest.fixture(scope="module")
def unhindered(testbed: PipelineTestbed) -> Followed:
    return followed(testbed, **UNHINDERED)


def test_every_request_reaches_hive_once_and_its_stages_add_up(unhindered: Followed) -> None:
    reconciled, found = unhindered

    assert reconciled.fault == ""
    assert reconciled.unstamped == 0
    assert found.events_committed == found.requests_logged > 200
    assert (reconciled.events[list(STAGES)].sum(axis=1) == latencies_ms(reconciled.events)).all()
    assert found.refused == 0
    assert found.latency is not None
    assert sum(unhindered.stages_ms.values()) == pytest.approx(found.latency.latency_mean_ms)
    assert found.cost.packets_s is not None
    assert found.cost.packets_s > 100
    assert found.cost.spark_cores is not None
    assert found.cost.spark_cores > 0.01


@pytest.mark.long
def test_entries_of_several_lines_come_to_hive_once_also_from_a_log_that_is_rotated(testbed: PipelineTestbed) -> None:
    def rotate(opened: OpenPipeline) -> None:
        opened.log_file.rename(opened.log_file.with_name("access.log.1"))
        os.kill(opened.roots()["nginx"], signal.SIGUSR1)  # to reopen its log

    reconciled, found = followed(testbed, rotate, log_lines="multi")

    assert reconciled.fault == ""  # none is lost, and none is unknown
    assert found.events_committed == found.requests_logged > 200


@pytest.mark.long
def test_a_longer_flush_shows_in_filebeat_and_in_no_other_stage_up_to_kafka(
    testbed: PipelineTestbed, unhindered: Followed
) -> None:
    slow = followed(testbed, **UNHINDERED | {"flush_min_events": 2048, "flush_timeout_ms": 2000})
    grown_ms = slow.grown_ms(unhindered)

    assert grown_ms.pop("filebeat") > 700
    assert max(grown_ms.values()) < 500


class Delayed(OpenPipeline):
    """A pipeline whose aggregator has each batch wait for a second before it sends it."""

    def aggregator_settings(self, topic: str) -> AggregatorSettings:
        return replace(super().aggregator_settings(topic), planted_delay_ms=1000, planted_at="send")


@pytest.mark.long
def test_a_planted_delay_is_found_in_its_stage_and_in_no_other_up_to_kafka(
    testbed: PipelineTestbed, unhindered: Followed
) -> None:
    grown_ms = followed(testbed, opened_as=Delayed, **UNHINDERED).grown_ms(unhindered)

    assert grown_ms.pop("aggregator_to_kafka") > 900
    assert max(grown_ms.values()) < 500


class DelayedCollectors(OpenPipeline):
    """A pipeline whose gateway has each batch wait for a second before it stamps it."""

    def collector_settings(self, topic: str) -> CollectorSettings:
        return replace(super().collector_settings(topic), planted_delay_ms=1000, planted_at="t4")


@pytest.mark.long
def test_collectors_bring_each_request_to_hive_once_and_a_delay_is_found_in_its_stage(testbed: PipelineTestbed) -> None:
    slow = followed(testbed, opened_as=DelayedCollectors, shipper="otel", log_lines="single")
    reconciled, found = slow

    assert reconciled.fault == ""
    assert reconciled.unstamped == 0
    assert found.events_committed == found.requests_logged > 200
    assert (reconciled.events[list(STAGES)].sum(axis=1) == latencies_ms(reconciled.events)).all()
    stages_ms = {name: ms for name, ms in slow.stages_ms.items() if name not in SPARKS_STAGES}
    assert stages_ms.pop("aggregator") > 900
    assert max(stages_ms.values()) < 500


@pytest.mark.long
def test_killed_collectors_resume_and_only_events_in_the_gateway_are_lost(
    testbed: PipelineTestbed,
) -> None:
    killed_ms: list[float] = []

    def break_both(opened: OpenPipeline) -> None:
        killed_ms.append(time.time() * 1000)
        opened.pipeline.kill("filebeat")  # the agent
        time.sleep(1.0)
        opened.log_file.rename(opened.log_file.with_name("access.log.1"))  # with what the agent has not read
        os.kill(opened.roots()["nginx"], signal.SIGUSR1)
        opened.pipeline.start("filebeat")
        time.sleep(1.0)
        killed_ms.append(time.time() * 1000)
        opened.pipeline.kill("aggregator")  # the gateway
        opened.pipeline.start("aggregator")

    reconciled = followed(testbed, break_both, drain_s=45.0, shipper="otel", log_lines="multi").reconciled
    lost = reconciled.requests[reconciled.requests.request_id.isin(reconciled.lost)]

    assert (reconciled.unknown, reconciled.pending.empty) == (0, True)
    # What was logged before the agent was killed had passed the gateway when that was: the agent would have lost it.
    assert lost.t0.between(*killed_ms).all()
    # An agent that had forgotten how far it was would send all of it again.
    assert len(reconciled.doubled) <= RATE_S


@pytest.mark.long
def test_parts_that_are_killed_and_started_again_one_after_the_other_lose_nothing(testbed: PipelineTestbed) -> None:
    def kill(opened: OpenPipeline) -> None:
        for part in ("spark", "filebeat", "aggregator"):
            opened.pipeline.kill(part)
            opened.pipeline.start(part)
            time.sleep(1.0)

    # A restarted Spark is slow during other tests; without a commit, unread events count as lost.
    reconciled = followed(testbed, kill, drain_s=150.0, log_lines="single").reconciled

    assert (list(reconciled.lost), reconciled.unknown, reconciled.pending.empty) == ([], 0, True)
    waited_ms = latencies_ms(reconciled.events)
    assert waited_ms.max() > 4000  # for the parts to be there again
    assert waited_ms.iloc[-1] < waited_ms.max()


@pytest.mark.long
def test_parts_that_hang_one_after_the_other_lose_nothing(testbed: PipelineTestbed) -> None:
    def hang(opened: OpenPipeline) -> None:
        for part in ("filebeat", "aggregator", "kafka-1"):
            pid = opened.roots()[part]
            os.kill(pid, signal.SIGSTOP)
            time.sleep(HANGS_S)
            os.kill(pid, signal.SIGCONT)

    reconciled = followed(testbed, hang, log_lines="single").reconciled

    assert (list(reconciled.lost), reconciled.unknown, reconciled.pending.empty) == ([], 0, True)
    assert latencies_ms(reconciled.events).max() > HANGS_S * 1000


@pytest.mark.long
def test_acknowledged_unsent_events_of_a_killed_aggregator_are_found_lost(testbed: PipelineTestbed) -> None:
    killed_ms: list[float] = []

    def kill(opened: OpenPipeline) -> None:
        opened.pipeline.kill("aggregator")
        killed_ms.append(time.time() * 1000)
        opened.pipeline.start("aggregator")

    # A batch is sent when no event has come for three seconds: none is while requests are sent.
    held = {"aggregator_batch_size": 10_000, "aggregator_batch_delay_ms": 3000}
    reconciled = followed(
        testbed, kill, drain_s=45.0, warmup_s=0.0, log_lines="single", aggregator_acknowledges="received", **held
    ).reconciled
    lost = reconciled.requests[reconciled.requests.request_id.isin(reconciled.lost)]

    assert judge(reconciled, 0)[0] == "records_lost"
    assert 0 < len(lost) < reconciled.logged
    assert lost.t0.max() < killed_ms[0]


def send_until_killed(folder: Path) -> None:
    """Sends requests through its own pipeline, in the process killed by the test below."""
    with (
        open_testbed(folder, find_programs(load_settings(), "sqlite")) as testbed,
        OpenPipeline(testbed, {}) as opened,
    ):
        print("ready", flush=True)
        opened.load.send(replace(wanted_of({}, testbed.study, RATE_S, 0), seconds=60.0))


@pytest.mark.usefixtures("programs")
def test_nothing_is_left_of_a_step_that_is_killed(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("k")
    code = (
        "import pathlib, sys\n"
        "from tests.system.test_log_pipeline import send_until_killed\n"
        "send_until_killed(pathlib.Path(sys.argv[1]))\n"
    )
    argv = [sys.executable, "-c", code, str(folder)]
    environment = {**os.environ, "TMPDIR": str(folder)}  # pytest removes what it leaves there
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as step:
        assert step.stdout
        assert step.stdout.readline() == "ready\n"
        time.sleep(1.0)  # and requests are under way
        children = psutil.Process(step.pid).children(recursive=True)
        running = command_lines(children)
        step.kill()
    of_web = ("nginx: master", "nginx: worker", "gunicorn", "shoppers.load")
    of_pipeline = ("/filebeat -c", "aggregator.Aggregator", "warehouse.to_hive", "SparkSubmit", "kafka.Kafka")
    for part in (*of_web, *of_pipeline):
        assert any(part in line for line in running), part
    assert left_after(children, 15) == []


@pytest.mark.long
def test_a_log_is_replayed_and_each_of_its_requests_reaches_hive(testbed: PipelineTestbed, tmp_path: Path) -> None:
    log = tmp_path / "due.json"
    log.write_text(json.dumps([[number / 20, f"/page/{number}?b=%2F"] for number in range(240)]))
    content = {**STUDY, "reference": {**QUICK, "workload": "replay"}, "replay": {"file": "my.log"}}
    study = parse_study(yaml.safe_dump(content), "tiny.yaml")
    assert isinstance(study, CompareLogPipeline)
    reconciled, found = followed(replace(testbed, study=study, replayed=Replayed(log, 20.0)))

    assert reconciled.fault == ""
    assert found.requests_due == found.requests_logged == found.events_committed == 200
    assert found.refused == 0
    assert reconciled.logged >= 260  # with three seconds that warm up, and the few that follow
    gaps_ms = reconciled.requests.t0.tail(200).diff().dropna()
    assert gaps_ms.mean() == pytest.approx(50, abs=1)


@contextmanager
def soaking(testbed: PipelineTestbed) -> Iterator[tuple[PipelineTestbed, Callable[[int], Attempt]]]:
    """Opens a soak test on this testbed, and what runs its window of a number."""
    content = {
        **STUDY,
        "reference": {**QUICK, "load": "30/s", "log_lines": "single"},
        "tables": [],
        "variants": [{"name": "soak", "variants": {"all": {}}}],
        "protocol": {**STUDY["protocol"], "keeps_running": True},
    }
    study = parse_study(yaml.safe_dump(content), "tiny.yaml")
    assert isinstance(study, CompareLogPipeline)
    soaked = replace(testbed, study=study)
    runner = PipelineRunner(soaked)
    baseline = Candidate("baseline", is_baseline=True, configuration=study.baseline_configuration("soak"))

    def run(number: int) -> Attempt:
        planned = PlannedRepetition("design", 0, "soak", baseline, number, 0)
        runner.begin(None, planned)
        return runner.attempt(planned)

    try:
        yield soaked, run
    finally:
        soaked.end_kept()


def require_whole(window: Attempt) -> None:
    """Every request of the window is in Hive, once."""
    found = window.quantities
    assert (window.outcome, found["events_pending"]) == ("valid", 0), window.reason
    assert found["events_committed"] == found["requests_logged"] == found["requests_due"]
    assert int(found["requests_due"] or 0) > 200


def test_windows_have_the_same_parts_until_one_is_killed_which_fails_its_window_alone(testbed: PipelineTestbed) -> None:
    with soaking(testbed) as (soaked, run):
        windows, pids = [], []
        for number in range(2):
            windows.append(run(number))
            require_whole(windows[-1])
            with soaked.opened({}) as opened:
                pids.append(opened.roots())
        assert pids[0] == pids[1]
        ages_s = [float(each.quantities["running_s"] or 0) for each in windows]
        assert ages_s[1] - ages_s[0] >= 10
        for part in ("nginx", "shop", "filebeat", "aggregator", "broker", "spark"):
            for measure, least in (("memory_mib", 5), ("open_files", 5), ("threads", 1)):
                assert float(windows[-1].quantities[f"{part}_{measure}"] or 0) >= least, part

        killer = Timer(5.0, os.kill, (pids[0]["aggregator"], signal.SIGKILL))
        killer.start()
        killed = run(2)
        killer.join()
        assert (killed.outcome, killed.is_excused) == ("failed", False)
        assert "the aggregator has ended" in killed.reason

        require_whole(anew := run(3))
        with soaked.opened({}) as opened:
            assert {"nginx", "filebeat", "aggregator", "spark"} <= {
                name for name, pid in opened.roots().items() if pid != pids[0][name]
            }
        assert float(anew.quantities["running_s"] or 0) < ages_s[1]
