"""Return the closing text of a campaign: decision cards, addresses and next commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, TrackingError
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.report.cards import Cards
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.tune import Tune, tune_study
from kafka_pareto.tracking import links
from kafka_pareto_embedded.runs.answer import answer_lines, whole_text
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.as_typed import as_typed


def finished_text(stack: Stack, store: Store, keys: CampaignKeys, run_address: str, *, whole: bool = False) -> str:
    """Download the report and the Data Docs, and return the answer, the addresses and the next commands.

    With `whole`, all cards or tables replace the answer.

    Raises:
        ArtifactError: If the report's cards or its page are not in the store.
    """
    study = Campaign.open(store, keys.study, keys.campaign).study
    shown = whole_text(store, keys) if whole else "\n".join(answer_lines(store, keys))
    if isinstance(study, Compare):
        return _tables(stack, store, study, keys, run_address, shown)
    key = keys.report("cards.json")
    cards = decode_record(store.get(key), key, Cards)
    folder = stack.reports / keys.study / keys.campaign
    report = _download(store, [keys.report("report.html"), keys.report("cards.txt")], keys.report(""), folder)
    addresses = {
        "Explorer": f"{stack.airflow_url}/kafka-pareto/#study={keys.study}&campaign={keys.campaign}",
        "Report": _address_of(report, "report.html"),
        "Cards": _address_of(report, "cards.txt"),
        "Airflow": run_address,
        "MLflow": _mlflow_address(stack, keys, links.r2_address),
        **_data_docs(store, keys, folder),
        "Logs": stack.logs.as_uri(),
        "Logins": stack.logins,
    }
    lines = [f"{name:<9}  {address}" for name, address in addresses.items()]
    return "\n".join([shown, "", *lines, "", *_next_commands(tune_study(study), keys, cards)])


def _tables(stack: Stack, store: Store, study: Compare, keys: CampaignKeys, run_address: str, shown: str) -> str:
    """Return a comparison's text and its addresses."""
    folder = stack.reports / keys.study / keys.campaign
    names = [keys.report(name) for name in ("report.html", "tables.txt")]
    report = _download(store, [*names, *store.keys(keys.report("tables/"))], keys.report(""), folder)
    addresses = {
        "Explorer": f"{stack.airflow_url}/kafka-pareto/comparisons#study={keys.study}&campaign={keys.campaign}",
        "Report": _address_of(report, "report.html"),
        "Tables": (folder / "tables").as_uri(),
        "Airflow": run_address,
        "MLflow": _mlflow_address(stack, keys, links.run_address),
        **_data_docs(store, keys, folder),
        "Logs": stack.logs.as_uri(),
        "Logins": stack.logins,
    }
    lines = [f"{name:<9}  {address}" for name, address in addresses.items()]
    one_factor = one_factor_command(study)
    commands = {one_factor: "vary one factor, with your own levels"} if one_factor else {}
    return "\n".join([shown, "", *lines, "", *_next_lines(commands)])


def one_factor_command(study: Compare) -> str:
    """Return a shell command that varies only the first factor of the study's first part; empty if that has none."""
    factors = study.parts[0].factors
    if not factors:
        return ""
    factor, levels = next(iter(factors.items()))
    said = shlex.quote(",".join(property_text(level) for level in levels))
    return f"make run STUDY={study.name} FACTOR={factor} LEVELS={said}"


def _next_commands(study: Tune, keys: CampaignKeys, cards: Cards) -> list[str]:
    """Return the next commands with their purposes."""
    commands = {f"make active STUDY={keys.study}": "show the active settings"}
    if any(decision.recommended for decision in cards.cards):
        schedule = study.retune.schedule
        when = f"scheduled: {schedule} UTC" if schedule else "not scheduled: set retune.schedule"
        commands[f"make retune STUDY={keys.study}"] = f"check whether they are still the best ({when})"
    elif keys.study == "quick" and all(each.verdict == "keep_not_enough_evidence" for each in cards.cards):
        commands = {"make run STUDY=cold_burst": "measure enough for a decision (half an hour)"}
    return _next_lines(commands)


def _next_lines(commands: Mapping[str, str]) -> list[str]:
    """Return these commands, and the one that stops the stack, with their purposes."""
    typed = {as_typed(command): text for command, text in commands.items()}
    typed[as_typed("make down")] = "stop the stack, keep its data"
    width = max(map(len, typed))
    return ["Next:", *(f"  {command:<{width}}  {text}" for command, text in typed.items())]


def _data_docs(store: Store, keys: CampaignKeys, folder: Path) -> dict[str, str]:
    """Return the addresses of each round's Data Docs, the design's first."""
    addresses = {}
    for number in range(Campaign.open(store, keys.study, keys.campaign).last_round() + 1):
        pages = store.keys(keys.validation("data_docs/", number))
        copies = folder / f"round_{number}" if number else folder
        docs = _download(store, pages, keys.validation("", number), copies)
        addresses[f"- round {number}" if number else "Data Docs"] = _address_of(docs, "index.html")
    return addresses


def _download(store: Store, keys: Sequence[str], prefix: str, folder: Path) -> list[Path]:
    """Copy private objects to files for a browser; keep their paths below `prefix`."""
    paths = []
    for key in keys:
        path = (folder / key.removeprefix(prefix)).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise BadInputError(f"{key}: points outside {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.get(key))
        paths.append(path)
    return paths


def _address_of(paths: Sequence[Path], name: str) -> str:
    """Return the address of the topmost file with this name."""
    found = sorted((path for path in paths if path.name == name), key=lambda path: len(path.parts))
    return found[0].as_uri() if found else "not created"


def _mlflow_address(stack: Stack, keys: CampaignKeys, find: Callable[[Settings, CampaignKeys], str | None]) -> str:
    """Return the address that `find` returns, or MLflow's start page if there is none or MLflow does not answer."""
    try:
        return find(stack.settings(), keys) or stack.mlflow_url
    except TrackingError:
        return stack.mlflow_url
