"""Keeps a copy of the client configuration that a user gives for one campaign, for as long as a run needs it."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.storage.private_file import remove_leftovers, write_private
from kafka_pareto.study.identifiers import CAMPAIGN_ID

_LOCK = ".lock"


def client_config_name(campaign: str) -> str:
    """Returns the name of the campaign's file; a file of this name without the campaign's first line is somebody's."""
    return f"{campaign}.properties"


@contextmanager
def handed_over(folder: Path, campaign: str, text: str, bootstrap_servers: str | None = None) -> Iterator[None]:
    """Writes the campaign's file for a run that the block starts, which removes the file when it ends.

    If the block raises, the file is removed here. If the process is killed, the next sweep removes it.
    """
    with _alone(folder):
        try:
            keep_client_config(folder, campaign, text, bootstrap_servers)
            yield
        except BaseException:
            forget_client_config(folder, campaign)
            raise


def keep_client_config(folder: Path, campaign: str, text: str, bootstrap_servers: str | None = None) -> None:
    """Writes the campaign's file, for its owner alone; another of the campaign's is replaced.

    The brokers that it was handed over for are written into it, unless it names its own: it is sent to no others.
    """
    if bootstrap_servers and "bootstrap.servers" not in parse_properties(text):
        text = f"{properties_lines({'bootstrap.servers': bootstrap_servers})}\n{text}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(folder / client_config_name(campaign), f"{_first_line(campaign)}\n{text}")


def forget_client_config(folder: Path, campaign: str) -> bool:
    """Removes the campaign's file, if there is one, and returns whether there was; users' own files stay."""
    path = folder / client_config_name(campaign)
    if not _is_campaigns(path, campaign):
        return False
    path.unlink(missing_ok=True)
    return True


def sweep_client_configs(folder: Path, active_campaigns: Callable[[], Collection[str]]) -> list[str]:
    """Removes the files of campaigns that have no run, and what a killed writer left.

    Args:
        folder: Where the files are.
        active_campaigns: Returns the campaigns that have a run which has not ended. Called only if there is a file.

    Returns:
        The campaigns whose files were removed.
    """
    if not folder.is_dir():
        return []
    with _alone(folder):  # so that no file is looked at between its writing and the start of its run
        remove_leftovers(folder)
        kept = [path.stem for path in sorted(folder.glob(client_config_name("*"))) if _is_campaigns(path, path.stem)]
        active = active_campaigns() if kept else ()
        return [campaign for campaign in kept if campaign not in active and forget_client_config(folder, campaign)]


def _is_campaigns(path: Path, campaign: str) -> bool:
    if not re.fullmatch(CAMPAIGN_ID, campaign):
        return False
    try:
        with path.open("rb") as file:
            return file.readline().rstrip(b"\n") == _first_line(campaign).encode()
    except FileNotFoundError:
        return False


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the kernel if this process is killed
        yield


def _first_line(campaign: str) -> str:
    return f"# Handed over for campaign {campaign}; removed when it ends."
