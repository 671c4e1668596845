"""Run Airflow's scheduler and end its child processes with it, even after `kill -9`.

The workers of the LocalExecutor wait on a pipe that they keep open themselves. Otherwise they would outlive a killed
scheduler forever, unnoticed by the process manager. Their tasks end with them, and so do the tasks' steps.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


class ForkTie:
    """Make each process forked from now on end with its parent."""

    def __init__(self) -> None:
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._forking_pid = os.getpid()
        os.register_at_fork(before=self._before, after_in_child=self._after_in_child)

    def _before(self) -> None:
        self._forking_pid = os.getpid()

    def _after_in_child(self) -> None:
        if self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            reason = os.strerror(ctypes.get_errno())
            print(f"error: a worker cannot be tied to its scheduler: prctl: {reason}", file=sys.stderr, flush=True)
            os._exit(os.EX_OSERR)
        # A parent killed before the call cannot send the signal.
        if os.getppid() != self._forking_pid:
            os._exit(os.EX_UNAVAILABLE)


def main() -> None:
    """Run `airflow` with the arguments of this process."""
    ForkTie()
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
