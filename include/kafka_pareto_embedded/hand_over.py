"""What a campaign leaves with its user: the decision cards, and the addresses of everything behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import httpx

from kafka_pareto.artifacts import CampaignKeys
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.store import Store
from kafka_pareto_embedded.stack import Stack

_TIMEOUT_S = 10.0


def hand_over(stack: Stack, store: Store, keys: CampaignKeys, run_address: str) -> str:
    """Fetches the report and the Data Docs, and returns the cards and addresses as text.

    Raises:
        ArtifactError: If the report's cards or its page are not in the store.
    """
    cards = store.get(keys.report("cards.txt")).decode().rstrip()
    folder = stack.reports / keys.study / keys.campaign
    report = _download(store, [keys.report("report.html")], keys.report(""), folder)
    addresses = {
        "Airflow": run_address,
        "MLflow": _experiment_address(stack, keys),
        **_data_docs(store, keys, folder),
        "Report": _address_of(report, "report.html"),
    }
    return "\n".join([cards, "", *(f"{name:<9}  {address}" for name, address in addresses.items())])


def _data_docs(store: Store, keys: CampaignKeys, folder: Path) -> dict[str, str]:
    """The pages of every round, the design's first."""
    addresses = {}
    for number in range(Campaign.open(store, keys.study, keys.campaign).last_round() + 1):
        pages = store.keys(keys.validation("data_docs/", number))
        copies = folder / f"round_{number}" if number else folder
        docs = _download(store, pages, keys.validation("", number), copies)
        addresses[f"- round {number}" if number else "Data Docs"] = _address_of(docs, "index.html")
    return addresses


def _download(store: Store, keys: Sequence[str], prefix: str, folder: Path) -> list[Path]:
    """Objects of the store are private, so a browser gets copies; their paths below `prefix` are kept."""
    paths = []
    for key in keys:
        path = (folder / key.removeprefix(prefix)).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise BadInputError(f"{key}: leads out of {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.get(key))
        paths.append(path)
    return paths


def _address_of(paths: Sequence[Path], name: str) -> str:
    found = sorted((path for path in paths if path.name == name), key=lambda path: len(path.parts))
    return found[0].as_uri() if found else "none was made"


def _experiment_address(stack: Stack, keys: CampaignKeys) -> str:
    """The experiment's page; the server's own where the experiment cannot be asked for."""
    try:
        answer = httpx.get(
            f"{stack.mlflow_url}/api/2.0/mlflow/experiments/get-by-name",
            params={"experiment_name": f"kafka-pareto/{keys.study}"},
            timeout=_TIMEOUT_S,
            trust_env=False,
        ).raise_for_status()
        return f"{stack.mlflow_url}/#/experiments/{answer.json()['experiment']['experiment_id']}/runs"
    except (httpx.HTTPError, ValueError, KeyError):
        return stack.mlflow_url
