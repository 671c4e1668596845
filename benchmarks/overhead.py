"""Measure the pipeline's overhead over the load generator's time: `python -m benchmarks.overhead`.

A measure task of cold bursts without pauses runs on brokers of its own. Half of the same commands run in a plain shell
loop before it, half after it. So a machine that becomes slower or faster favours neither.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import yaml

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.records import Sizing
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.drivers.common.jvm_process import java_argv
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.producer_performance import MAIN_CLASS, perf_test_options
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.drivers.producer.attempt import request_for
from kafka_pareto.drivers.producer.cost import bytes_of_a_repetition, bytes_on_disk
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.measurement.own_topics import topic_configs, topic_name
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.steps import design
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study_file import parse_study
from kafka_pareto.study.tune import tune_study

ROOT = Path(__file__).parent.parent
CONFIGURATIONS = 11  # and the baseline
TASK_TIMEOUT_S = 3600


def main(
    brokers: Annotated[int, typer.Option(help="how many brokers to start: 1 or 3")] = 3,
    repetitions: Annotated[int, typer.Option(help="of each of the 12 configurations")] = 10,
    record_size: Annotated[int, typer.Option(help="in bytes")] = 1024,
) -> None:
    """Measure the overhead and print it next to a plain shell loop."""
    settings = load_settings()
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-overhead-") as name:
        folder = Path(name)
        with Brokers(brokers, settings, jmx_configuration=None, gc_log=False) as running:
            bootstrap_servers = running.bootstrap_servers
            with Cluster(bootstrap_servers, None, settings) as cluster:
                campaign = begin_campaign(folder, cluster, brokers, repetitions, str(record_size))
                requests = planned_requests(campaign, str(record_size), cluster)
            half = len(requests) // 2
            loop_s = shell_loop_s(folder / "first", requests[:half], bootstrap_servers, settings)
            task_s = measure_task_s(folder, campaign, str(record_size), running)
            loop_s += shell_loop_s(folder / "second", requests[half:], bootstrap_servers, settings)
        measured = campaign.read_repetitions(campaign.keys.measurements(str(record_size)))
    tool_s = sum(repetition.wall_s for repetition in measured)
    print(f"brokers {brokers}, cold bursts of 1,000 records of {record_size} B, {len(measured)} repetitions")
    print(f"outcomes                            {', '.join(sorted({r.outcome for r in measured}))}")
    print(f"measure task, wall                  {task_s:8.1f} s")
    print(f"sum of the load generator's times   {tool_s:8.1f} s")
    print(f"task over tool                      {task_s / tool_s:8.3f}")
    print(f"plain shell loop, same commands     {loop_s:8.1f} s")
    print(f"task over shell loop                {task_s / loop_s:8.3f}")


def begin_campaign(folder: Path, cluster: Cluster, brokers: int, repetitions: int, case: str) -> Campaign:
    """Return a campaign of cold bursts without pauses, with its design."""
    content = yaml.safe_load((ROOT / "include" / "studies" / "quick.yaml").read_text(encoding="utf-8"))
    content |= {"record_sizes_bytes": [int(case)], "design": {"configurations": CONFIGURATIONS}}
    content["workload"] |= {"replication_factor": brokers, "min_insync_replicas": (brokers + 1) // 2}
    content["protocol"] |= {"repetitions": repetitions}
    study = tune_study(parse_study(yaml.safe_dump(content), "quick, without pauses"))
    store = FolderStore(folder / "store")
    design.run(store, study, "overhead", ClusterSystem(cluster))
    return Campaign.open(store, study.name, "overhead")


def planned_requests(campaign: Campaign, case: str, cluster: Cluster) -> list[LoadRequest]:
    """Return the requests that the measure task will make, for the shell loop's own topic."""
    study = ProducerStudy.of(campaign.study)
    table = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    planned = plan_blocks(
        candidates_of(table, study),
        study.protocol.repetitions,
        order=study.protocol.order,
        phase="design",
        case=case,
        seed=study.seed,
    )
    sizing = Sizing(records=study.protocol.records or 0, warmup_records=0, throughput_limit_records_s=None)
    topic = topic_name(replace(campaign.keys, campaign="shell"), case)
    workload = study.workload
    configs = topic_configs(workload, bytes_on_disk(bytes_of_a_repetition(study, case)))
    cluster.create_topic(topic, workload.topic_partitions, workload.replication_factor, configs)
    return [request_for(each.case, each.candidate.configuration, study, sizing, topic) for each in planned]


def measure_task_s(folder: Path, campaign: Campaign, case: str, brokers: Brokers) -> float:
    """Return the wall time of `python -m tasks.measure`, from its start to its end."""
    environment = {
        **{
            name: os.environ[name]
            for name in ("PATH", "HOME", "JAVA_HOME", "KAFKA_PARETO_KAFKA_JARS")
            if name in os.environ
        },
        "PYTHONPATH": f"{ROOT / 'include'}:{ROOT}",
        "KAFKA_PARETO_STORE_FOLDER": str(folder / "store"),
        "KAFKA_PARETO_BOOTSTRAP_SERVERS": brokers.bootstrap_servers,
        "KAFKA_PARETO_OWN_CLUSTER_ID": brokers.cluster_id,
    }
    argv = [sys.executable, "-m", "tasks.measure", "--study", campaign.study.name, "--campaign", "overhead"]
    started = time.monotonic()
    with (folder / "measure.log").open("wb") as log:
        subprocess.run(
            [*argv, "--case", case],
            cwd=ROOT,
            env=environment,
            stdout=log,
            timeout=TASK_TIMEOUT_S,
            check=True,
        )
    return time.monotonic() - started


def shell_loop_s(folder: Path, requests: Sequence[LoadRequest], bootstrap_servers: str, settings: Settings) -> float:
    """Return the wall time of a bash script that runs the requests one after another and does nothing else."""
    folder.mkdir()
    lines = ["set -e"]
    for number, request in enumerate(requests):
        properties = folder / f"{number}.properties"
        texts = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in request.properties.items()
        }
        texts["bootstrap.servers"] = bootstrap_servers
        properties.write_text("".join(f"{name}={text}\n" for name, text in texts.items()), encoding="utf-8")
        argv = [*java_argv(settings, request, MAIN_CLASS), *perf_test_options(request)]
        lines.append(f"{shlex.join([*argv, '--command-config', str(properties)])} > {folder}/{number}.txt 2>&1")
    script = folder / "loop.sh"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    started = time.monotonic()
    subprocess.run(["bash", str(script)], env=environment, timeout=TASK_TIMEOUT_S, check=True)
    return time.monotonic() - started


if __name__ == "__main__":
    typer.run(main)
