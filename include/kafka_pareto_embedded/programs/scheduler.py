"""Run Airflow's scheduler so that everything it has forked ends with it, even by `kill -9`.

The workers of the LocalExecutor wait at a pipe that they hold open themselves. Without this they outlive a killed
scheduler for ever, and the process manager does not see them. Their tasks end with them, and the tasks' steps in turn.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


class ForkTie:
    """Tie each process that is forked from now on to the one that forked it: they end together."""

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
        # A parent that was killed before the call can send no signal any more.
        if os.getppid() != self._forking_pid:
            os._exit(os.EX_UNAVAILABLE)


def main() -> None:
    """Run `airflow` with the arguments of this process."""
    ForkTie()
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
