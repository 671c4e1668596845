"""Keeps the client configuration that a user hands over for one campaign, and removes it when that has ended."""

from __future__ import annotations

import re
from pathlib import Path

from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.study.identifiers import CAMPAIGN_ID


def client_config_name(campaign: str) -> str:
    """Returns the name of the campaign's file; a file of this name without the campaign's first line is somebody's."""
    return f"{campaign}.properties"


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
    if not re.fullmatch(CAMPAIGN_ID, campaign):
        return False
    path = folder / client_config_name(campaign)
    try:
        with path.open("rb") as file:
            is_campaigns = file.readline().rstrip(b"\n") == _first_line(campaign).encode()
    except FileNotFoundError:
        return False
    if is_campaigns:
        path.unlink(missing_ok=True)
    return is_campaigns


def _first_line(campaign: str) -> str:
    return f"# Handed over for campaign {campaign}; removed when it ends."
