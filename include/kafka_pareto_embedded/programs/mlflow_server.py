"""End the leftovers of a killed MLflow tracking server, then start a new one.

The actual server is a child of `mlflow server` that outlives it and keeps the port. supervisord sets a program's
name in its environment and makes it the leader of a process group. A process with the same home and name whose group
has no leader is therefore a leftover. Started manually, without such a name, this program ends nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import psutil

_END_WITHIN_S = 10.0
_MARKS = ("HOME", "SUPERVISOR_PROCESS_NAME")


def main() -> None:
    """Exec `mlflow` with the arguments of this process."""
    left_behind = [process for process in psutil.process_iter() if _is_left_behind(process)]
    for process in left_behind:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _, alive = psutil.wait_procs(left_behind, timeout=_END_WITHIN_S)
    if alive:
        pids = ", ".join(str(process.pid) for process in alive)
        sys.exit(
            f"error: leftovers of a killed MLflow server did not end within {_END_WITHIN_S:.0f} s: pid {pids}; "
            "end them to free the port"
        )
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *sys.argv[1:]])  # noqa: S606


def _is_left_behind(process: psutil.Process) -> bool:
    try:
        environment = process.environ()
        is_of_this_program = all(name in os.environ and environment.get(name) == os.environ[name] for name in _MARKS)
        return is_of_this_program and not psutil.pid_exists(os.getpgid(process.pid))
    except (psutil.Error, OSError):
        return False


if __name__ == "__main__":
    main()
