"""Kills a `make run` at every line between its `KAFKA_CONFIG` and its trigger, and sweeps after each kill.

A process of its own with one thread, which forks for each line: Python and the modules are loaded once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from kafka_pareto.campaign import client_config
from kafka_pareto.campaign.client_config import sweep_client_configs
from kafka_pareto.settings import Settings
from kafka_pareto.storage import private_file
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.runs import request, run
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns

_KILLED_IN = {str(module.__file__) for module in (client_config, private_file, request, run)} | {__file__}


class Runs(AirflowRuns):
    """Remembers in a file what was triggered, as Airflow does in its database."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def studies(self) -> list[str]:
        return ["quick"]

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return []

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:  # noqa: ARG002
        self._database.write_text(run_id)


def main(folder: Path, given: Path) -> None:
    """Prints a line of JSON for each line of code: what the kill there left, and what of it the sweeps left."""
    asked = request.RunRequest(bootstrap_servers="b:9092", client_config=str(given), ceiling_mib_s=1, ceiling_gib=1)
    parameters = request.dag_parameters(asked, FolderStore(folder / "store"), Settings())
    for line in count(1):
        place = folder / str(line)
        configs, database = place / "client-configs", place / "run"
        place.mkdir()
        if (child := os.fork()) == 0:
            sys.settrace(_killing_at(line))
            credentials = request.handing_over(asked, parameters, Settings(client_configs=configs))
            run.start_or_join(configs, Runs(database), "r", parameters, credentials)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            return
        active = [database.read_text()] if database.exists() and database.read_text() else []
        left = _with_password(configs)
        sweep_client_configs(configs, partial(list, active))
        kept = _with_password(configs)
        sweep_client_configs(configs, list)
        found = {"has_run": bool(active), "killed": left, "swept": kept, "ended": _with_password(configs)}
        print(json.dumps(found))


def _killing_at(line: int) -> Callable[[FrameType, str, Any], Any]:
    lines = count(1)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in _KILLED_IN:
            return None
        if event == "line" and next(lines) == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def _with_password(configs: Path) -> list[str]:
    return sorted(each.name for each in configs.glob("*") if b"hidden" in each.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
