"""Requests followed from nginx to Hive through all parts, also where one of them is killed, stopped or slow."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.log_pipeline.attempt import follow, wanted_of
from kafka_pareto.drivers.log_pipeline.figures import quantities_of_run
from kafka_pareto.drivers.log_pipeline.programs import find_programs
from kafka_pareto.drivers.log_pipeline.replayed import Replayed
from kafka_pareto.drivers.log_pipeline.stages import STAGES, latencies_ms
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed
from kafka_pareto.drivers.log_pipeline.web_server import WebServer
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.compare_log_pipeline import CompareLogPipeline
from kafka_pareto.study.study_file import parse_study

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

RATE_S = 30.0
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


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineTestbed]:
    settings = load_settings()
    try:
        programs = find_programs(settings, "sqlite")
    except BadInputError as error:
        pytest.skip(str(error))
    study = parse_study(yaml.safe_dump(STUDY), "tiny.yaml")
    assert isinstance(study, CompareLogPipeline)
    folder = tmp_path_factory.mktemp("w")
    with (
        Brokers(1, settings, heap_mib=256) as brokers,
        Cluster(brokers.bootstrap_servers, None, settings) as cluster,
        WebServer(folder, programs.python, "sqlite", 1) as web,
    ):
        campaign = cast("Campaign", SimpleNamespace())
        lease = cast("ClusterLease", SimpleNamespace())
        yield PipelineTestbed(study, campaign, lease, programs, brokers, cluster, web)


def followed(testbed: PipelineTestbed, meanwhile: Callable[[OpenPipeline], None] | None = None, **level: Any) -> Any:
    """Runs the requests of a level, does something four seconds after they began, and returns what came of them."""
    wanted = wanted_of(level, testbed.study, RATE_S, 0)
    # Children are tied to the thread that starts them, so this one, which outlives them, starts and breaks.
    with OpenPipeline(testbed, level) as opened, ThreadPoolExecutor(1) as following:
        result = following.submit(follow, opened, wanted, testbed.study.protocol)
        if meanwhile:
            time.sleep(7.0)
            meanwhile(opened)
        answered, watched, reconciled = result.result()
    return reconciled, quantities_of_run(answered, watched, reconciled, wanted, testbed.study.protocol)


@pytest.mark.parametrize("log_lines", ["multi", "single"])
def test_every_request_comes_to_hive_once_and_its_stages_add_up(testbed: PipelineTestbed, log_lines: str) -> None:
    reconciled, found = followed(testbed, log_lines=log_lines)

    assert reconciled.fault == ""
    assert reconciled.unstamped == 0
    assert found.events_committed == found.requests_logged > 200
    assert (reconciled.events[list(STAGES)].sum(axis=1) == latencies_ms(reconciled.events)).all()
    assert found.refused == 0
    assert found.latency is not None
    assert found.stages is not None
    means = [getattr(found.stages, f"{name}_ms") for name in STAGES]
    assert sum(means) == pytest.approx(found.latency.latency_mean_ms)
    assert found.cost.packets_s is not None
    assert found.cost.packets_s > 100
    assert found.cost.spark_cores is not None
    assert found.cost.spark_cores > 0.01


def test_a_longer_flush_shows_in_filebeat_and_in_no_other_stage(testbed: PipelineTestbed) -> None:
    _, quick = followed(testbed, flush_min_events=1, flush_timeout_ms=0)
    _, slow = followed(testbed, flush_min_events=2048, flush_timeout_ms=2000)
    grown = {name: getattr(slow.stages, f"{name}_ms") - getattr(quick.stages, f"{name}_ms") for name in STAGES}

    assert max(grown, key=grown.__getitem__) == "filebeat"
    assert grown["filebeat"] > 500


def _stopped(pid: int, seconds: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("part", ["filebeat", "aggregator", "spark"])
def test_a_part_that_is_killed_and_started_again_loses_nothing(testbed: PipelineTestbed, part: str) -> None:
    def kill(opened: OpenPipeline) -> None:
        opened.pipeline.kill(part)
        opened.pipeline.start(part)

    reconciled, _ = followed(testbed, kill)

    assert list(reconciled.lost) == []
    assert reconciled.unknown == 0


@pytest.mark.parametrize("part", ["filebeat", "aggregator", "kafka-1"])
def test_a_part_that_hangs_loses_nothing(testbed: PipelineTestbed, part: str) -> None:
    reconciled, _ = followed(testbed, lambda opened: _stopped(opened.roots()[part], 5.0))

    assert list(reconciled.lost) == []


def test_a_log_is_replayed_and_each_of_its_requests_comes_to_hive(testbed: PipelineTestbed, tmp_path: Path) -> None:
    log = tmp_path / "due.json"
    log.write_text(json.dumps([[number / 20, f"/page/{number}?b=%2F"] for number in range(240)]))
    content = {**STUDY, "reference": {**QUICK, "workload": "replay"}, "replay": {"file": "my.log"}}
    study = parse_study(yaml.safe_dump(content), "tiny.yaml")
    assert isinstance(study, CompareLogPipeline)
    campaign, lease = cast("Campaign", SimpleNamespace()), cast("ClusterLease", SimpleNamespace())
    parts = (testbed.programs, testbed.brokers, testbed.cluster, testbed.web)
    replaying = PipelineTestbed(study, campaign, lease, *parts, replayed=Replayed(log, 20.0))
    reconciled, found = followed(replaying)

    assert reconciled.fault == ""
    assert found.requests_due == found.requests_logged == found.events_committed == 200
    assert found.refused == 0
    assert reconciled.logged == 260  # with three seconds that warm up
    gaps_ms = reconciled.requests.t0.tail(200).diff().dropna()
    assert gaps_ms.mean() == pytest.approx(50, abs=1)
