"""Run a campaign in this process, with a folder as its store: without Airflow, MinIO or MLflow."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.text import Text

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.steps.local import run_locally
from kafka_pareto.steps.pipeline import Step
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.options import DesignOptions
from kafka_pareto.study.requests import RunRequest
from kafka_pareto.study.study_file import baseline_client_of
from kafka_pareto_cli.planning import reaching
from kafka_pareto_embedded.runs.request import started_with, timestamp
from kafka_pareto_embedded.terminal.as_typed import as_typed

STORE = Path("kafka-pareto-store")
# The plan and the answer are printed here; httpx would log every request for a broker's metrics.
_LEVELS = {
    "kafka_pareto": logging.INFO,
    "kafka_pareto.steps.accept": logging.WARNING,
    "kafka_pareto.steps.design": logging.WARNING,
    "kafka_pareto.steps.design_comparison": logging.WARNING,
    "kafka_pareto.steps.report": logging.WARNING,
    "kafka_pareto.steps.report_comparison": logging.WARNING,
    "kafka_pareto.steps.compare": logging.WARNING,
    "kafka_pareto.tracking": logging.WARNING,
    "httpx": logging.WARNING,
}


@contextmanager
def local_settings(settings: Settings, client_config: str | None, store: Path | None) -> Iterator[Settings]:
    """Set the environment of this process, which steps read, to a folder as the store and no MLflow."""
    folder = (store or settings.store_folder or STORE).resolve()
    with reaching(settings, client_config) as here:
        changed = {
            "STORE_FOLDER": folder,
            "MLFLOW_TRACKING_URI": "",
            "JAVA": here.java,
            "CLIENT_CONFIGS": here.client_configs,
            "STUDIES": here.studies,
            "LOAD_MACHINES": "" if here.airflow_runs_load_machines else here.load_machines,
        }
        os.environ.update({f"KAFKA_PARETO_{name}": str(value) for name, value in changed.items()})
        yield load_settings()


def run_here(request: RunRequest, settings: Settings, console: Console) -> CampaignKeys:
    """Run the campaign or resume an interrupted one; print each step as it begins.

    Raises:
        KafkaParetoError: If a step fails; the measurements so far are kept.
    """
    keys, began = CampaignKeys(request.study, request.campaign or timestamp()), time.monotonic()
    console.print(
        f"Campaign {keys.campaign} of study {keys.study}, stored in {settings.store_folder}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )

    def print_step(step: Step, case: str | None, round_number: int) -> None:
        at = f" ({case_label(case)})" if case else ""
        in_round = f", round {round_number}" if round_number else ""
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        console.print(f"{minutes:3d}:{seconds:02d}  [bold]{step.name}{at}[/bold]{in_round}", highlight=False)

    try:
        with step_messages(console):
            ended = run_locally(keys, _options(request, keys, settings), settings, print_step)
    except (KafkaParetoError, KeyboardInterrupt, SystemExit) as error:
        may_resume = not isinstance(error, BadInputError)  # bad input fails again
        if may_resume and open_store(settings).tag(keys.frozen_study()) is not None:
            again = f"the same command with --campaign {keys.campaign}"
            console.print(f"All measurements are kept. To resume: {again}", highlight=False)
        raise
    if ended.notice is not None:
        console.print(f"\n{ended.notice.subject}", markup=False, highlight=False)
    return keys


def _options(request: RunRequest, keys: CampaignKeys, settings: Settings) -> DesignOptions:
    """Return the requested options; for a resumed campaign, on top of those it was started with."""
    client = partial(baseline_client_of, settings.studies / f"{request.study}.yaml")
    asked, store = request.design_options(client), open_store(settings)
    if store.tag(keys.frozen_study()) is None:
        if request.campaign is not None:
            raise BadInputError(
                f"--campaign: {keys.campaign}: {settings.store_folder} has no such campaign of {keys.study}; omit "
                "--campaign to start a new one"
            )
        return asked
    before = started_with(Campaign.open(store, keys.study, keys.campaign).study)
    return DesignOptions(**before | asked.model_dump(exclude_defaults=True))


@contextmanager
def step_messages(console: Console) -> Iterator[None]:
    """Show the steps' log; on a terminal, each repetition's line replaces the previous one."""
    root = logging.getLogger()
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)
    with console.status("", refresh_per_second=1) if console.is_terminal else nullcontext() as status:
        handler = _StepMessages(console, status)
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)


class _StepMessages(logging.Handler):
    """Print a step's messages to a console, progress in its status line if it has one."""

    def __init__(self, console: Console, status: Status | None) -> None:
        super().__init__()
        self._console, self._status = console, status

    def emit(self, record: logging.LogRecord) -> None:
        text = as_typed(record.getMessage())
        if self._status is not None and record.levelno == logging.INFO and text.startswith("["):
            self._status.update(Text(text[: self._console.width - 3]))  # next to the spinner
        else:
            style = "yellow" if record.levelno >= logging.WARNING else "dim"
            indented = text.replace("\n", "\n        ")
            self._console.print(f"        {indented}", style=style, markup=False, highlight=False, soft_wrap=True)


def files_text(keys: CampaignKeys, settings: Settings) -> str:
    """Return the addresses of the files and the command to see more."""
    store = settings.store_folder or STORE
    folder = store / keys.report("")
    more = f"kafka-pareto result {keys.study} --campaign {keys.campaign} --store {shlex.quote(str(store))} --cards"
    files = {"Files": str(folder), "Report": (folder / "report.html").as_uri(), "More": more}
    return "\n".join(f"{name:<7} {text}" for name, text in files.items())
