"""Temporary copy of the client configuration that a user supplies for one campaign."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.storage.private_file import remove_leftovers, write_private
from kafka_pareto.study.cluster_names import server_set
from kafka_pareto.study.identifiers import CAMPAIGN_ID

_LOCK = ".lock"
_FIRST_LINE = "# Supplied for run {run_id}; removed when it ends."


def client_config_name(campaign: str) -> str:
    """Return the name of the campaign's file; without a run's first line, the file is a user's own."""
    return f"{campaign}.properties"


@contextmanager
def run_start_lock(folder: Path) -> Iterator[None]:
    """Exclude all other run starts and sweeps by this installation."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the kernel if this process is killed
        yield


@contextmanager
def client_config_for_run(
    folder: Path, campaign: str, run_id: str, text: str, bootstrap_servers: str | None = None
) -> Iterator[None]:
    """Write the campaign's file for a run that the block starts; the run removes it when it ends.

    If the block raises, the file is removed here; after a kill, by the next sweep. The caller must hold the
    `run_start_lock`, which excludes sweeps.
    """
    try:
        keep_client_config(folder, campaign, run_id, text, bootstrap_servers)
        yield
    except BaseException:
        forget_client_config(folder, campaign, run_id)
        raise


def keep_client_config(
    folder: Path, campaign: str, run_id: str, text: str, bootstrap_servers: str | None = None
) -> None:
    """Write the campaign's file for this run, readable by its owner alone, replacing that of an earlier run.

    Adds `bootstrap_servers` unless the file has its own: the credentials go to no other brokers.
    """
    if bootstrap_servers and not server_set(parse_properties(text).get("bootstrap.servers", "")):
        # Last, because the last definition wins; after an empty line, because the text may end in a backslash.
        text = f"{text}\n\n{properties_lines({'bootstrap.servers': bootstrap_servers})}\n"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(folder / client_config_name(campaign), f"{_FIRST_LINE.format(run_id=run_id)}\n{text}")


def forget_client_config(folder: Path, campaign: str, run_id: str) -> bool:
    """Remove the campaign's file if it belongs to this run; return whether it did."""
    path = folder / client_config_name(campaign)
    if not re.fullmatch(CAMPAIGN_ID, campaign) or _run_of(path) != run_id:
        return False
    path.unlink(missing_ok=True)
    return True


def sweep_client_configs(folder: Path, active_runs: Callable[[], Collection[str]]) -> list[str]:
    """Remove the files of ended or unstarted runs and of killed writers; return their campaigns."""
    if not folder.is_dir():
        return []
    with run_start_lock(folder):
        remove_leftovers(folder)
        kept = {path: _run_of(path) for path in sorted(folder.glob(client_config_name("*")))}
        kept = {path: run_id for path, run_id in kept.items() if run_id is not None}
        active = active_runs() if kept else ()
        unneeded = [path for path, run_id in kept.items() if run_id not in active]
        for path in unneeded:
            path.unlink(missing_ok=True)
        return [path.stem for path in unneeded]


def _run_of(path: Path) -> str | None:
    """Return the ID of the file's run; None for a user's own or a missing file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            found = re.fullmatch(_FIRST_LINE.format(run_id="(.+)"), file.readline().removesuffix("\n"))
    except FileNotFoundError:
        return None
    return found and found[1]
