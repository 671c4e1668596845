"""Compare the throughput of three load machines with that of one: `python -m benchmarks.load_machines`.

The machines are processes here, each limited to 0.3 core by a control group (needs root), with one producer each; one
broker has the rest. In each block both groups send once, unthrottled, in random order. Each block is appended to the
CSV when it ends.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import psutil
import typer

from benchmarks.on_cluster import DATA, clear_errors, ratio_text
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.load_machines import LoadMachines, create_key
from kafka_pareto.drivers.services.cpu_limits import limited_cores
from kafka_pareto.errors import LoadMachineError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings

FILE = DATA / "load_machines.csv"
GROUPS = (1, 3)
CORES = 0.3
_INCLUDE = Path(__file__).parents[1] / "include"
_TOPIC = "machines"
_READY_S = 60
_WARM_BLOCKS = 3
_ATTEMPTS = 5
_LOAD = TimedLoad(warmup_s=1.0, seconds=5.0, paced_warmup_s=0, paced_seconds=0, paced_rate_records_s=0)


@dataclass
class RunningMachine:
    """A load machine: the command and its JVM, in a process group of their own."""

    address: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """Kill the command and its JVM, if they still run."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def pids(self) -> list[int]:
        """List its processes."""
        command = psutil.Process(self.process.pid)
        return [command.pid, *(each.pid for each in command.children(recursive=True))]


@contextmanager
def running_machine(
    brokers: Brokers, credentials: Path, *, address: str = "", heap_mib: int = 400, prefix: tuple[str, ...] = ()
) -> Iterator[RunningMachine]:
    """Run a load machine that sends to these brokers.

    Args:
        brokers: The cluster.
        credentials: The load machines' key.
        address: To listen on; by default a free port on loopback.
        heap_mib: The JVM's heap, in MiB.
        prefix: A command that runs it, such as `unshare`.

    Raises:
        LoadToolError: If it is not ready within a minute.
    """
    address = address or f"127.0.0.1:{free_ports(1)[0]}"
    argv = [*prefix, sys.executable, "-m", "kafka_pareto_cli", "load-machine", "--kafka", brokers.bootstrap_servers]
    argv += ["--listen", address, "--credentials", str(credentials), "--heap-mib", str(heap_mib)]
    environment = {**os.environ, "PYTHONPATH": str(_INCLUDE)}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    machine = RunningMachine(address, process)
    try:
        out = process.stdout
        said = out.readline().decode() if out is not None and select.select([out], [], [], _READY_S)[0] else ""
        if address not in said:
            raise LoadToolError(f"load machine {address} is not ready")
        yield machine
    finally:
        machine.kill()


def main(
    blocks: Annotated[int, typer.Option(help="in the CSV at the end", min=3)] = 6,
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing blocks, and print the ratio."""
    with clear_errors():
        if not only_table:
            _measure(blocks, file)
        print(report(pd.read_csv(file)))


def report(measured: pd.DataFrame) -> str:
    """Return the ratio of throughputs with its 95 % interval over blocks."""
    paces = measured.pivot_table(index="block", columns="machines", values="records_s")
    one, three = (paces[machines] for machines in GROUPS)
    return (
        f"{len(paces)} blocks, machines of {CORES} core: one sends {one.median():,.0f} records/s, three send "
        f"{ratio_text(three / one)} times as much"
    )


def _measure(blocks: int, file: Path) -> None:
    settings = load_settings()
    begun = int(pd.read_csv(file).block.max()) + 1 if file.exists() else 0
    if begun >= blocks:
        return
    order = np.random.default_rng(begun)
    with ExitStack() as opened:
        brokers = opened.enter_context(Brokers(1, settings, jmx_configuration=None, gc_log=False))
        cluster = opened.enter_context(Cluster(brokers.bootstrap_servers, None, settings))
        credentials = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="kafka-pareto-"))) / "load.pem"
        create_key(credentials)
        machines = [opened.enter_context(running_machine(brokers, credentials)) for _ in range(max(GROUPS))]
        generators = {
            count: opened.enter_context(
                LoadGenerator(
                    brokers.bootstrap_servers,
                    None,
                    settings,
                    keeps_jvm=True,
                    machines=LoadMachines(tuple(each.address for each in machines[:count]), credentials),
                    cluster_id=brokers.cluster_id,
                )
            )
            for count in GROUPS
        }
        cluster.create_topic(_TOPIC, 3, 1)
        for machine in machines:
            opened.enter_context(limited_cores(CORES, machine.pids()))
        for block in range(begun - _WARM_BLOCKS, blocks):  # the first blocks do not count: JVMs at 0.3 core warm slowly
            found = []
            for machines_count in map(int, order.permutation(GROUPS)):
                records_s = _sent_records_s(generators[machines_count], machines_count)
                found.append({"block": block, "machines": machines_count, "records_s": records_s})
                cluster.delete_records(_TOPIC)
            if block >= begun:
                pd.DataFrame(found).to_csv(file, mode="a", index=False, header=not file.exists())
            print(f"{block + 1} of {blocks}", flush=True)


def _sent_records_s(generator: LoadGenerator, machines: int) -> float:
    request = LoadRequest(_TOPIC, 100, {"linger.ms": 5}, timeout_s=120.0, timed=_LOAD, producers=machines)
    for attempt in range(_ATTEMPTS):
        try:
            result = generator.run(request)
            break
        except LoadMachineError:  # a machine at its limit starts late
            if attempt == _ATTEMPTS - 1:
                raise
    if result.figures is None:
        raise LoadToolError(result.errors)
    return result.figures.throughput_records_s


if __name__ == "__main__":
    typer.run(main)
