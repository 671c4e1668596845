"""Hands a campaign over to its user: the decision cards, and the addresses of everything behind them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, TrackingError
from kafka_pareto.report.card_layout import WIDTH
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.tracking.links import run_address
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.short_cards import short_cards


def hand_over(stack: Stack, store: Store, keys: CampaignKeys, run_address: str, terminal_width: int | None) -> str:
    """Fetches the report and the Data Docs, and returns a text with the cards, the addresses and what to do next.

    Args:
        stack: The stack that the report is copied to, and that shows the rest.
        store: The store.
        keys: The campaign's keys.
        run_address: The address of the run in Airflow.
        terminal_width: The width of the terminal; None if there is none. One narrower than a card gets short cards.

    Raises:
        ArtifactError: If the report's cards or its page are not in the store.
    """
    key = keys.report("cards.json")
    cards = decode_record(store.get(key), key, Cards)
    driver = Campaign.open(store, keys.study, keys.campaign).study.declaration
    folder = stack.reports / keys.study / keys.campaign
    report = _download(store, [keys.report("report.html"), keys.report("cards.txt")], keys.report(""), folder)
    if terminal_width is not None and terminal_width < WIDTH:
        shown = short_cards(cards, terminal_width)
    else:
        shown = store.get(keys.report("cards.txt")).decode().rstrip()
    addresses = {
        "Explorer": f"{stack.airflow_url}/kafka-pareto/#study={keys.study}&campaign={keys.campaign}",
        "Report": _address_of(report, "report.html"),
        "Cards": _address_of(report, "cards.txt"),
        "Airflow": run_address,
        "MLflow": _mlflow_address(stack, keys),
        **_data_docs(store, keys, folder),
        "Logs": stack.logs.as_uri(),
        "Logins": stack.logins,
    }
    return "\n".join(
        [
            shown,
            "",
            *(textwrap.fill(sentence, terminal_width or WIDTH) for sentence in summary_sentences(cards.cards, driver)),
            "",
            *(f"{name:<9}  {address}" for name, address in addresses.items()),
            "",
            *_next_commands(keys, cards),
        ]
    )


def _next_commands(keys: CampaignKeys, cards: Cards) -> list[str]:
    """Returns what a user may want to do now, each with its command."""
    commands = {f"make in-force STUDY={keys.study}": "what producers are told now, and since when"}
    if any(decision.recommended for decision in cards.cards):
        commands[f"make retune STUDY={keys.study}"] = "is it still the best?"
    elif all(decision.verdict == "keep_not_enough_evidence" for decision in cards.cards):
        commands = {"make run STUDY=cold_burst": "enough repetitions for a decision, in half an hour"}
    commands["make down"] = "stops the stack; what was measured stays"
    width = max(len(command) for command in commands)
    return ["Next:", *(f"  {command:<{width}}  {text}" for command, text in commands.items())]


def _data_docs(store: Store, keys: CampaignKeys, folder: Path) -> dict[str, str]:
    """Returns the Data Docs' pages of every round, the design's first."""
    addresses = {}
    for number in range(Campaign.open(store, keys.study, keys.campaign).last_round() + 1):
        pages = store.keys(keys.validation("data_docs/", number))
        copies = folder / f"round_{number}" if number else folder
        docs = _download(store, pages, keys.validation("", number), copies)
        addresses[f"- round {number}" if number else "Data Docs"] = _address_of(docs, "index.html")
    return addresses


def _download(store: Store, keys: Sequence[str], prefix: str, folder: Path) -> list[Path]:
    """Copies private objects to files, so that a browser can open them; their paths below `prefix` are kept."""
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


def _mlflow_address(stack: Stack, keys: CampaignKeys) -> str:
    """Returns the address of the campaign's run in MLflow; the server's own page if MLflow does not answer."""
    try:
        return run_address(stack.settings(), keys) or stack.mlflow_url
    except TrackingError:
        return stack.mlflow_url
