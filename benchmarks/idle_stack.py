"""Print the memory of the running embedded stack by program: `python -m benchmarks.idle_stack`.

Run it two minutes after `make up`. A page that several processes share counts in equal parts (PSS), so that the parts
add up to the memory the stack takes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import psutil
import typer

from benchmarks.on_cluster import clear_errors
from kafka_pareto_embedded.lifecycle.lifecycle import running
from kafka_pareto_embedded.lifecycle.supervision import Supervisor

KIB_IN_MIB = 1024


def main() -> None:
    """Print processes and PSS of each program, and the total."""
    with clear_errors():
        programs = Supervisor(running().state).processes()
    found = {each.name: family(each.pid) for each in programs if each.pid is not None}
    families = {name: processes for name, processes in found.items() if processes}
    if manager := _manager([leader for leader, *_ in families.values()]):
        families["supervisord"] = [manager]
    used_mib = {name: sum(map(pss_mib, processes)) for name, processes in families.items()}
    print("| program | processes | MiB |\n|---|---|---|")
    for name, mib in used_mib.items():
        print(f"| {name} | {len(families[name])} | {mib:.0f} |")
    print(f"| total | {sum(map(len, families.values()))} | {sum(used_mib.values()):.0f} |")


def family(pid: int) -> list[psutil.Process]:
    """Return a process, then its descendants; nothing if it has ended."""
    with suppress(psutil.NoSuchProcess):
        leader = psutil.Process(pid)
        return [leader, *leader.children(recursive=True)]
    return []


def pss_mib(process: psutil.Process) -> float:
    """Return the process's share of memory, 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        if found := re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE):
            return int(found.group(1)) / KIB_IN_MIB
    return 0.0


def _manager(leaders: list[psutil.Process]) -> psutil.Process | None:
    for leader in leaders:
        with suppress(psutil.NoSuchProcess):
            return leader.parent()
    return None


if __name__ == "__main__":
    typer.run(main)
