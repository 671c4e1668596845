"""A comparison on its own brokers: they start with a part, have its levels' settings, and end with it."""

from __future__ import annotations

import csv
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.testbed import open_testbed
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.settings import load_settings
from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

BLOCKS = 3
BURST = {"kind": "cold_burst", "records": 1000, "repetitions": BLOCKS, "order": "blocks"}
LINGER = {"tables": [{"factor": "linger.ms", "levels": [5, 50]}]}
THREADS = {"tables": [{"factor": "num.io.threads", "levels": [1, 8]}]}
BROKER, LOAD = "kafka.Kafka", "ProducerPerformance"


@pytest.fixture
def steps(tmp_path: Path) -> StepRunner:
    return StepRunner(tmp_path)


def write_comparison(steps: StepRunner, **content: Any) -> None:
    """Writes the study `tiny`: one broker of its own, one replica."""
    whole = {
        "schema_version": 1,
        "kind": "compare",
        "name": "tiny",
        "description": "Two levels on one broker; the numbers mean nothing.",
        "testbed": {"brokers": 1, "heap_mib": 256},
        "workload": {"topic_partitions": 1, "replication_factor": 1, "min_insync_replicas": 1},
        "protocol": BURST,
    }
    (steps.studies / "tiny.yaml").write_text(yaml.safe_dump(whole | content))


def until(condition: Callable[[], bool], deadline_s: float = 90) -> None:
    retry(retry=retry_if_result(lambda met: not met), stop=stop_after_delay(deadline_s), wait=wait_fixed(0.05))(
        condition
    )()


def runs_program(process: psutil.Process, program: str) -> bool:
    try:
        return any(program in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def started_by(pid: int, program: str) -> list[psutil.Process]:
    return [each for each in psutil.Process(pid).children(recursive=True) if runs_program(each, program)]


@pytest.mark.long
def test_a_comparison_on_its_own_broker_ends_with_tables_whose_numbers_name_their_repetitions(
    steps: StepRunner,
) -> None:
    generator = {"kind": "steady", "load_tool": "load_generator", "jvm": "warm"}
    seconds = {"seconds": 0.5, "warmup_seconds": 0.25, "cool_down_s": 0.0, "repetitions": BLOCKS}
    paced = {"paced": {"rate_fraction": 0.5, "warmup_seconds": 0.25, "seconds": 0.5}}
    # On a busy machine a repetition that cannot be believed is no reason to stop: the numbers mean nothing here.
    tolerant = {"validation": {"tolerated_rejected_fraction": 0.4}}
    write_comparison(steps, **LINGER, **tolerant, protocol=generator | seconds | paced)

    designed = steps.manifest("design", "tiny")
    assert designed["cases"] == ["linger_ms"]
    assert designed["counts"] == {"levels": 2, "repetitions_planned": 2 * BLOCKS}
    measured = steps.manifest("measure", "tiny", "--case", "linger_ms")
    assert measured["counts"]["repetitions"] == 2 * BLOCKS
    steps.manifest("validate", "tiny")
    assert steps.manifest("compare", "tiny")["counts"] == {"parts": 1, "levels": 2}
    reported = steps.run("report", "tiny")
    assert reported.returncode == 0, reported.stdout + reported.stderr

    campaign = steps.campaign("tiny")
    keys, found = campaign.keys, campaign.store.keys(campaign.keys.prefix)
    tables = campaign.store.get(keys.report("tables.txt")).decode()
    assert tables in reported.stdout
    assert {keys.report("report.html"), keys.validation("data_docs/index.html"), keys.comparison("linger_ms")} <= set(
        found
    )
    stored = {each.repetition_id: each for each in campaign.read_measurements(["linger_ms"], [0])}
    of_csv = csv.DictReader(io.StringIO(campaign.store.get(keys.report("tables/linger_ms.csv")).decode()))
    rows = [row for row in of_csv if row["quantity"] == "throughput_records_s"]
    assert [row["factor linger.ms"] for row in rows] == ["5", "50"]
    for row in rows:
        named = [stored[name].number("throughput_records_s") or 0.0 for name in row["repetition_ids"].split()]
        assert float(row["mean"]) == pytest.approx(sum(named) / len(named))
    part = campaign.read_record(keys.comparison("linger_ms"), PartComparison)
    assert part.reference_level.values == {"linger.ms": 5}
    # Only whoever has the brokers can count what they used.
    assert any(name.startswith("broker") for name in part.reference_level.estimates)


@pytest.mark.long
def test_kill_9_of_a_part_leaves_no_broker_and_no_load_and_its_retry_measures_only_the_missing_repetitions(
    steps: StepRunner,
) -> None:
    slow = BURST | {"records": 2000, "throughput_limit_mib_s": 1.0}  # two seconds a repetition
    write_comparison(steps, **LINGER, protocol=slow)
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    prefix = campaign.keys.measurements("linger_ms")

    first_try = steps.start("measure", "tiny", "--case", "linger_ms")
    until(lambda: len(campaign.store.keys(prefix)) >= 2)
    until(lambda: bool(started_by(first_try.pid, LOAD)))
    begun = psutil.Process(first_try.pid).children(recursive=True)
    assert any(runs_program(each, BROKER) for each in begun)
    os.kill(first_try.pid, signal.SIGKILL)
    first_try.communicate()
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in begun), 10)
    stored = {key: campaign.store.get(key) for key in campaign.store.keys(prefix)}

    steps.manifest("measure", "tiny", "--case", "linger_ms")

    after = {key: campaign.store.get(key) for key in campaign.store.keys(prefix)}
    assert 2 <= len(stored) < len(after) == 2 * BLOCKS
    assert all(after[key] == content for key, content in stored.items())


@pytest.mark.long
def test_each_level_of_a_brokers_setting_is_measured_by_a_broker_that_has_it(steps: StepRunner) -> None:
    write_comparison(steps, **THREADS)
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    case = "num_io_threads"
    with open_testbed(campaign, case, load_settings()) as testbed:
        assert testbed.brokers is not None
        before = testbed.brokers.pids
        runner = ProducerRunner(campaign, case, testbed)
        for planned in block_of(campaign, case):
            runner.begin(None, planned)
            wanted = planned.candidate.configuration["num.io.threads"]
            (running,) = testbed.cluster.broker_configs(["num.io.threads"]).values()
            assert running["num.io.threads"] == str(wanted)
            assert testbed.brokers.pids != before, "the broker is not the one of the level before"
            before = testbed.brokers.pids
            assert runner.attempt(planned).outcome == "valid"


@pytest.mark.long
def test_each_level_of_the_topic_s_partitions_is_measured_on_a_topic_that_has_them(steps: StepRunner) -> None:
    write_comparison(steps, tables=[{"factor": "topic_partitions", "levels": [1, 4]}])
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    case = "topic_partitions"
    with open_testbed(campaign, case, load_settings()) as testbed:
        runner, found = ProducerRunner(campaign, case, testbed), []
        first, second = block_of(campaign, case)
        for planned in (first, second, first):
            runner.begin(None, planned)
            found.append(len(testbed.cluster.topic_health(testbed.topic).partitions))
            attempt = runner.attempt(planned)
            assert (attempt.outcome, attempt.reason) == ("valid", "")
            assert attempt.quantities["end_offset_growth"] == 1000
        runner.end()
    wanted = [each.candidate.configuration["topic_partitions"] for each in (first, second, first)]
    assert found == wanted


def test_more_memory_than_the_machine_has_is_refused_before_anything_starts(steps: StepRunner) -> None:
    write_comparison(steps, **LINGER, testbed={"brokers": 1, "heap_mib": 10_000_000})
    done = steps.run("design", "tiny")
    assert done.returncode == EXIT_BAD_INPUT
    assert "1 broker with 10000000 MiB of heap and the load generator need about 10,000,906 MiB" in done.stderr
    assert not (steps.store_folder / "tiny").exists()


def block_of(campaign: Campaign, case: str) -> list[Any]:
    """Returns the first block of a part."""
    design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    candidates = candidates_of(design[design.case == case], campaign.study)
    return [
        each
        for each in plan_blocks(candidates, 1, order="blocks", phase="design", case=case, seed=campaign.study.seed)
        if each.block == 0
    ]
