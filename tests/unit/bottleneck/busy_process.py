"""A process of this machine that uses a core, in the place of a broker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.brokers.jmx import JmxAgent
from kafka_pareto.brokers.nodes import Node, nodes_in

_PAUSE = "[{at}][1.0s][info][gc          ] GC(1) Pause Full (G1 Compaction Pause) 71M->55M(72M) {ms}ms\n"


class BusyProcess:
    """A stand-in for a broker: a process that uses a core, and a folder with a log of collections."""

    def __init__(self, folder: Path, pid: int) -> None:
        (node,) = nodes_in(folder, [(1, 2)])
        node.data_folder.mkdir(parents=True)
        self.nodes: dict[str, Node] = {node.name: node}
        self.pid = pid
        self.jmx: dict[str, JmxAgent] = {}

    @property
    def pids(self) -> dict[str, int]:
        return {"kafka-1": self.pid}

    def gc_logs(self, name: str) -> list[Path]:
        return sorted(self.nodes[name].folder.glob("gc-*.log"))

    def log_pause(self, ms: float) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"  # one look: a second may end between two
        with (self.nodes["kafka-1"].folder / "gc-0001.log").open("a") as log:
            log.write(_PAUSE.format(at=at, ms=ms))


@contextmanager
def busy_process(folder: Path) -> Iterator[BusyProcess]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield BusyProcess(folder, process.pid)
    finally:
        process.kill()
        process.wait()
