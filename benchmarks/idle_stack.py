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

from kafka_pareto_embedded.lifecycle.lifecycle import running
from kafka_pareto_embedded.lifecycle.supervision import Supervisor

KIB_IN_MIB = 1024


def main() -> None:
    """Print processes and PSS of each program, and the total.

    Raises:
        StackError: If the stack is down.
    """
    programs = Supervisor(running().state).processes()
    families = {each.name: _family(each.pid) for each in programs if each.pid is not None}
    manager = next(iter(families.values()))[0].parent()
    if manager is not None:
        families["supervisord"] = [manager]
    used_mib = {name: sum(map(_pss_mib, family)) for name, family in families.items()}
    print("| program | processes | MiB |\n|---|---|---|")
    for name, mib in used_mib.items():
        print(f"| {name} | {len(families[name])} | {mib:.0f} |")
    print(f"| total | {sum(map(len, families.values()))} | {sum(used_mib.values()):.0f} |")


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _pss_mib(process: psutil.Process) -> float:
    with suppress(OSError):  # it has ended since
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        if found := re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE):
            return int(found.group(1)) / KIB_IN_MIB
    return 0.0


if __name__ == "__main__":
    typer.run(main)
