"""Measuring on real brokers, and what becomes of it when things die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.cluster_mark import MARK_TOPIC
from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_TEMPORARY
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.settings import load_settings
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

ONE_BROKER = {"replication_factor": 1, "min_insync_replicas": 1}


@pytest.fixture
def steps(tmp_path: Path, single_broker: RunningBrokers) -> StepRunner:
    return StepRunner(tmp_path, single_broker)


def until(condition: Callable[[], bool], deadline_s: float = 240) -> None:
    retry(retry=retry_if_result(lambda met: not met), stop=stop_after_delay(deadline_s), wait=wait_fixed(0.05))(
        condition
    )()


def load_processes(topic: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if topic in (p.info["cmdline"] or [])]


def test_design_and_measure_leave_one_valid_object_per_planned_repetition(steps: StepRunner) -> None:
    steps.write_study("tiny", record_sizes_bytes=[1024], workload=ONE_BROKER, design={"configurations": 1})
    designed = steps.manifest("design", "tiny")
    measured = steps.manifest("measure", "tiny", "--case", "1024")

    campaign = steps.campaign("tiny")
    repetitions = campaign.read_repetitions(campaign.keys.measurements("1024"))
    assert designed["counts"]["configurations"] == 1
    assert measured["counts"]["repetitions_valid"] == len(repetitions) == 2 * 2
    assert all(r.number("records_sent") == r.number("end_offset_growth") == 1000 for r in repetitions)
    assert all(r.number("throughput_mib_s") and r.wall_s > 0.2 and r.client_cpu_s > 0.2 for r in repetitions)


def test_a_step_killed_while_records_are_sent_ends_its_load_and_its_retry_measures_only_the_missing_repetitions(
    steps: StepRunner, single_broker: RunningBrokers
) -> None:
    slow = {"records": 2000, "throughput_limit_mib_s": 1.0}  # two seconds a repetition
    steps.write_study(
        "tiny", record_sizes_bytes=[1024], workload=ONE_BROKER, design={"configurations": 1}, protocol=slow
    )
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    prefix, topic = campaign.keys.measurements("1024"), topic_name(campaign.keys, "1024")

    first_try = steps.start("measure", "tiny", "--case", "1024")
    until(lambda: len(campaign.store.keys(prefix)) >= 2)
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        before = cluster.end_offset(topic)
        until(lambda: bool(load_processes(topic)) and cluster.end_offset(topic) > before)
    os.kill(first_try.pid, signal.SIGKILL)
    first_try.wait()
    until(lambda: not load_processes(topic), deadline_s=15)
    stored = {key: campaign.store.get(key) for key in campaign.store.keys(prefix)}

    steps.manifest("measure", "tiny", "--case", "1024")

    after = {key: campaign.store.get(key) for key in campaign.store.keys(prefix)}
    assert 2 <= len(stored) < len(after) == 4
    assert all(after[key] == content for key, content in stored.items())
    outcomes = [json.loads(content)["outcome"] for content in after.values()]
    assert outcomes == ["valid"] * 4
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        until(lambda: cluster.topics(topic) == [])  # the retry has deleted what the killed step had left


@pytest.mark.long
def test_two_concurrent_campaigns_load_the_cluster_in_turn_and_do_not_mix(
    tmp_path: Path, steps: StepRunner, single_broker: RunningBrokers
) -> None:
    other = StepRunner(tmp_path, single_broker)
    steps.write_study(
        "tiny",
        record_sizes_bytes=[1024],
        workload=ONE_BROKER,
        design={"configurations": 1},
        protocol={"repetitions": 2},
    )
    both = (steps, other)
    for each in both:
        each.manifest("design", "tiny")
    processes = [each.start("measure", "tiny", "--case", "1024") for each in both]
    for process in processes:
        output, errors = process.communicate(timeout=200)
        assert process.returncode == 0, output + errors

    measured = [
        each.campaign("tiny").read_repetitions(each.campaign("tiny").keys.measurements("1024")) for each in both
    ]
    assert [[r.outcome for r in repetitions] for repetitions in measured] == [["valid"] * 4] * 2
    first, second = sorted([sorted(r.started_at for r in repetitions) for repetitions in measured])
    assert first[-1] < second[0], "the loads took turns by repetition, or ran at once"


@pytest.mark.long
def test_term_ends_a_step_with_its_load_deletes_its_topic_and_returns_the_lease(
    steps: StepRunner, single_broker: RunningBrokers
) -> None:
    slow = {"records": 20000, "throughput_limit_mib_s": 1.0}
    steps.write_study("tiny", record_sizes_bytes=[1024], workload=ONE_BROKER, protocol=slow)
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    topic = topic_name(campaign.keys, "1024")

    process = steps.start("measure", "tiny", "--case", "1024")
    until(lambda: bool(load_processes(topic)))
    assert campaign.store.keys("leases/")
    process.terminate()
    output, errors = process.communicate(timeout=20)

    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in output + errors
    assert not load_processes(topic)
    [lease] = campaign.store.keys("leases/")
    assert b'"returned"' in campaign.store.get(lease)
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        until(lambda: not any(map(cluster.topics, (topic, MARK_TOPIC))))


@pytest.mark.long
def test_a_broker_that_dies_is_waited_for_and_the_block_is_measured_again(
    tmp_path: Path, three_brokers: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, three_brokers)
    slow = {"records": 2500, "throughput_limit_mib_s": 1.0, "repetitions": 2}
    steps.write_study("tiny", record_sizes_bytes=[1024], design={"configurations": 1}, protocol=slow)
    steps.manifest("design", "tiny")
    campaign = steps.campaign("tiny")
    prefix, aside = campaign.keys.measurements("1024"), campaign.keys.discarded("1024")
    topic = topic_name(campaign.keys, "1024")

    process = steps.start("measure", "tiny", "--case", "1024")
    until(lambda: len(campaign.store.keys(prefix)) >= 1)
    until(lambda: bool(load_processes(topic)))
    three_brokers.kill("kafka-2")
    try:
        until(lambda: bool(campaign.store.keys(aside)))
    finally:
        three_brokers.start("kafka-2")
    output, errors = process.communicate(timeout=200)

    assert process.returncode == 0, output + errors
    assert "with a replica out of sync" in output
    repetitions, discarded = campaign.read_repetitions(prefix), campaign.read_repetitions(aside)
    assert [r.outcome for r in repetitions] == ["valid"] * 4
    assert all(r.number("records_sent") == r.number("end_offset_growth") == 2500 for r in repetitions)
    (disturbed,) = [r for r in discarded if r.outcome == "failed"]
    of_that_block = [r for r in repetitions if r.block == disturbed.block]
    assert {r.block for r in discarded} == {disturbed.block}
    assert all(r.started_at > disturbed.started_at for r in of_that_block)


def failed(done: subprocess.CompletedProcess[str]) -> str:
    """The one line a failed step says; nothing else may be on stderr."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def test_brokers_that_cannot_be_reached_are_one_clear_error(tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    steps.environment |= {
        "KAFKA_PARETO_BOOTSTRAP_SERVERS": f"127.0.0.1:{free_ports(1)[0]}",
        "KAFKA_PARETO_OWN_CLUSTER_ID": "nobody-can-tell",
    }
    steps.write_study("tiny")
    done = steps.run("design", "tiny")

    assert done.returncode == EXIT_TEMPORARY
    assert steps.environment["KAFKA_PARETO_BOOTSTRAP_SERVERS"] in failed(done)


@pytest.mark.long
def test_a_topic_that_may_not_be_created_is_one_clear_error(steps: StepRunner) -> None:
    steps.write_study("tiny", record_sizes_bytes=[1024])  # three replicas on one broker
    steps.manifest("design", "tiny")
    done = steps.run("measure", "tiny", "--case", "1024")

    assert done.returncode == EXIT_TEMPORARY
    assert "replication factor" in failed(done).lower()


def test_a_foreign_cluster_needs_ceilings_and_consent_and_shows_its_plan_first(
    steps: StepRunner, single_broker: RunningBrokers
) -> None:
    steps.write_study("tiny", record_sizes_bytes=[1024], workload=ONE_BROKER)
    foreign = ("--bootstrap-servers", single_broker.bootstrap_servers)

    without_ceiling = steps.run("design", "tiny", *foreign)
    assert without_ceiling.returncode == EXIT_BAD_INPUT
    assert "CEILING_MIB_S and CEILING_GIB" in failed(without_ceiling)

    too_low = steps.run("design", "tiny", *foreign, "--ceiling-mib-s", "5", "--ceiling-gib", "0.001", "--consent")
    assert "above the ceiling of 0.001 GiB" in failed(too_low)

    without_consent = steps.run("design", "tiny", *foreign, "--ceiling-mib-s", "5", "--ceiling-gib", "9")
    assert "consent" in failed(without_consent)
    assert "plan: 20 to 34 repetitions" in without_consent.stdout

    steps.manifest("design", "tiny", *foreign, "--ceiling-mib-s", "5", "--ceiling-gib", "9", "--consent")


def test_an_installations_servers_that_its_stack_has_not_started_need_ceilings_and_consent_as_well(
    steps: StepRunner,
) -> None:
    steps.write_study("tiny", record_sizes_bytes=[1024], workload=ONE_BROKER)
    started_here = steps.environment.pop("KAFKA_PARETO_OWN_CLUSTER_ID")
    assert started_here
    without_ceiling = steps.run("design", "tiny")
    assert without_ceiling.returncode == EXIT_BAD_INPUT
    assert "CEILING_MIB_S and CEILING_GIB" in failed(without_ceiling)
    ceilings = ("--ceiling-mib-s", "5", "--ceiling-gib", "9")
    assert steps.run("design", "tiny", *ceilings).returncode == EXIT_NO_CONSENT
    steps.manifest("design", "tiny", *ceilings, "--consent")
    cluster = steps.campaign("tiny").study.cluster
    assert cluster is not None
    assert cluster.bootstrap_servers == steps.environment["KAFKA_PARETO_BOOTSTRAP_SERVERS"]


@pytest.mark.long
def test_a_pause_and_a_baseline_of_one_campaign_are_frozen_with_it_and_named_in_its_plan(steps: StepRunner) -> None:
    steps.write_study(
        "tiny",
        record_sizes_bytes=[1024],
        workload=ONE_BROKER,
        design={"configurations": 1},
        protocol={"cool_down_s": 5.0, "repetitions": 2},
    )
    overrides = ("--cool-down-s=0", "--baseline=linger.ms=20\nbatch.size=32768\n")
    done = steps.run("design", "tiny", *overrides)
    changed = ["baseline linger.ms=20, batch.size=32768 (file: none)", "protocol.cool_down_s 0 (file: 5)"]
    named = f"overrides of the study file: {'; '.join(changed)}"
    assert (done.returncode, done.stdout.count(named)) == (0, 1), done.stdout + done.stderr
    campaign = steps.campaign("tiny")
    assert campaign.study.protocol.cool_down_s == 0
    assert campaign.study.baseline == {"linger.ms": 20, "batch.size": 32768}
    assert [str(each) for each in campaign.read_record(campaign.keys.plan(), Plan).overrides] == changed

    assert "was started with other values" in failed(steps.run("design", "tiny", "--cool-down-s=0"))
    steps.manifest("measure", "tiny", "--case", "1024")
    assert steps.run("design", "tiny", *overrides).returncode == 0
    measured = campaign.read_repetitions(campaign.keys.measurements("1024"))
    assert {r.configuration["linger.ms"] for r in measured if r.is_baseline} == {20}

    secret = steps.run("design", "tiny", "--baseline=ssl.key.password=hidden")
    assert (secret.returncode, "hidden" in secret.stdout + secret.stderr) == (EXIT_BAD_INPUT, False)
    assert "baseline: ssl.key.password: may hold a secret" in failed(secret)


def test_a_campaign_that_does_not_fit_the_brokers_disk_is_refused_before_anything_is_sent(
    small_volume: Path, tmp_path: Path
) -> None:
    with Brokers(1, load_settings(), folder=small_volume / "broker") as brokers:
        steps = StepRunner(tmp_path, brokers)
        steps.write_study("tiny", record_sizes_bytes=[65636], workload=ONE_BROKER)
        done = steps.run("design", "tiny")

    assert done.returncode == EXIT_BAD_INPUT
    assert "GiB free" in failed(done)
    assert not (steps.store_folder / "tiny").exists()


@pytest.mark.long
def test_a_full_store_is_one_clear_error_and_loses_nothing_stored_before(
    small_volume: Path, tmp_path: Path, single_broker: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    steps.environment["KAFKA_PARETO_STORE_FOLDER"] = str(small_volume)
    steps.write_study("tiny", record_sizes_bytes=[1024], workload=ONE_BROKER, design={"configurations": 1})
    steps.manifest("design", "tiny")
    filled = subprocess.run(
        ["dd", "if=/dev/zero", f"of={small_volume / 'filler'}"], capture_output=True, check=False, timeout=30
    )
    assert b"No space left" in filled.stderr
    done = steps.run("measure", "tiny", "--case", "1024")

    assert done.returncode == EXIT_TEMPORARY
    assert "No space left on device" in failed(done)
    (small_volume / "filler").unlink()
    assert steps.manifest("measure", "tiny", "--case", "1024")["counts"]["repetitions_valid"] == 4
