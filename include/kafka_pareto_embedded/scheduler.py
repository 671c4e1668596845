"""Airflow's scheduler, such that whatever it has forked ends with it, even by `kill -9`.

The workers of the LocalExecutor wait at a pipe that they hold open themselves: without this they outlive a killed
scheduler for ever, out of the process manager's sight. Their tasks end with them, and those tasks' steps in turn.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs `airflow` with the arguments of this process."""
    prctl = ctypes.CDLL(None).prctl
    os.register_at_fork(after_in_child=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
