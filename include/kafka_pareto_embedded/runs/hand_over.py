"""Hands a campaign over to its user: the decision cards, and the addresses of everything behind them."""

from __future__ import annotations

import shlex
import textwrap

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.report.card_layout import WIDTH
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.compare import Compare
from kafka_pareto.tracking import links
from kafka_pareto_embedded.runs.addresses import address_of, data_docs, download, mlflow_address
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.short_cards import short_cards


def hand_over(stack: Stack, store: Store, keys: CampaignKeys, run_address: str, terminal_width: int | None) -> str:
    """Fetches the report and the Data Docs, and returns a text with the result, the addresses and what to do next.

    Args:
        stack: The stack that the report is copied to, and that shows the rest.
        store: The store.
        keys: The campaign's keys.
        run_address: The address of the run in Airflow.
        terminal_width: The width of the terminal; None if there is none. One narrower than a card gets short cards.

    Raises:
        ArtifactError: If the report's cards or its page are not in the store.
    """
    study = Campaign.open(store, keys.study, keys.campaign).study
    if isinstance(study, Compare):
        return _tables(stack, store, study, keys, run_address)
    key = keys.report("cards.json")
    cards = decode_record(store.get(key), key, Cards)
    driver = study.declaration
    folder = stack.reports / keys.study / keys.campaign
    report = download(store, [keys.report("report.html"), keys.report("cards.txt")], keys.report(""), folder)
    if terminal_width is not None and terminal_width < WIDTH:
        shown = short_cards(cards, terminal_width)
    else:
        shown = store.get(keys.report("cards.txt")).decode().rstrip()
    addresses = {
        "Explorer": f"{stack.airflow_url}/kafka-pareto/#study={keys.study}&campaign={keys.campaign}",
        "Report": address_of(report, "report.html"),
        "Cards": address_of(report, "cards.txt"),
        "Airflow": run_address,
        "MLflow": mlflow_address(stack, keys, links.r2_address),
        **data_docs(store, keys, folder),
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


def _tables(stack: Stack, store: Store, study: Compare, keys: CampaignKeys, run_address: str) -> str:
    """Returns the tables of a comparison and its sentences, and the addresses."""
    folder = stack.reports / keys.study / keys.campaign
    names = [keys.report(name) for name in ("report.html", "tables.txt")]
    report = download(store, [*names, *store.keys(keys.report("tables/"))], keys.report(""), folder)
    addresses = {
        "Explorer": f"{stack.airflow_url}/kafka-pareto/comparisons#study={keys.study}&campaign={keys.campaign}",
        "Report": address_of(report, "report.html"),
        "Tables": (folder / "tables").as_uri(),
        "Airflow": run_address,
        "MLflow": mlflow_address(stack, keys, links.run_address),
        **data_docs(store, keys, folder),
        "Logs": stack.logs.as_uri(),
        "Logins": stack.logins,
    }
    one_factor = one_factor_command(study)
    return "\n".join(
        [
            store.get(keys.report("tables.txt")).decode().rstrip(),
            "",
            *(f"{name:<9}  {address}" for name, address in addresses.items()),
            "",
            "Next:",
            f"  {one_factor}  one factor with levels of your own",
            f"  {'make down':<{len(one_factor)}}  stops the stack; what was measured stays",
        ]
    )


def one_factor_command(study: Compare) -> str:
    """Returns a command that varies the first factor of the study's first part alone, as a shell reads it."""
    factor, levels = next(iter(study.parts[0].factors.items()))
    said = shlex.quote(",".join(property_text(level) for level in levels))
    return f"make run STUDY={study.name} FACTOR={factor} LEVELS={said}"


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
