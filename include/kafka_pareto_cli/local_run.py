"""Run a campaign in this process: its store is a folder, and neither Airflow nor MinIO nor MLflow is needed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console
from rich.status import Status
from rich.text import Text

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.settings import Settings
from kafka_pareto.steps.local import run_locally
from kafka_pareto.steps.pipeline import Step
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.requests import RunRequest
from kafka_pareto_embedded.bootstrap.preflight import find_java
from kafka_pareto_embedded.runs.answer import answer_lines, whole_text
from kafka_pareto_embedded.runs.request import timestamp

STORE = Path("kafka-pareto-store")
# The plan and the answer are printed here; httpx would tell of every reading of a broker's metrics.
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


def local_settings(settings: Settings, request: RunRequest, store: Path | None) -> Settings:
    """Return the installation's settings with a folder as the store, and without MLflow."""
    changed: dict[str, object] = {
        "store_folder": (store or settings.store_folder or STORE).resolve(),
        "s3_endpoint": "",
        "s3_secret_key": SecretStr(""),
        "mlflow_tracking_uri": "",
        "java": find_java(os.environ) or settings.java,
    }
    if request.client_config is not None:
        changed["client_configs"] = Path(request.client_config).resolve().parent
    return settings.model_copy(update=changed)


def run_here(request: RunRequest, settings: Settings, console: Console) -> CampaignKeys:
    """Run the campaign to its end, or go on with one that was interrupted; print each step as it begins.

    Raises:
        KafkaParetoError: As the steps do; what was measured until then is kept.
    """
    keys, began = CampaignKeys(request.study, request.campaign or timestamp()), time.monotonic()
    console.print(f"Campaign {keys.campaign} of study {keys.study}, stored in {settings.store_folder}", highlight=False)

    def tell(step: Step, case: str | None, round_number: int) -> None:
        at = f" ({case_label(case)})" if case else ""
        in_round = f", round {round_number}" if round_number else ""
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        console.print(f"{minutes:3d}:{seconds:02d}  [bold]{step.name}{at}[/bold]{in_round}", highlight=False)

    try:
        with _messages(console):
            run_locally(keys, request.design_options(), settings, tell)
    except (KafkaParetoError, KeyboardInterrupt, SystemExit):
        if open_store(settings).tag(keys.frozen_study()) is not None:
            again = f"the same command with --campaign {keys.campaign}"
            console.print(f"Nothing measured is lost. To resume: {again}", highlight=False)
        raise
    return keys


@contextmanager
def _messages(console: Console) -> Iterator[None]:
    """Show what the steps log; on a terminal, each repetition's line takes the place of the one before."""
    root = logging.getLogger()
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)
    with console.status("") if console.is_terminal else nullcontext() as status:
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
        text = record.getMessage()
        if self._status is not None and text.startswith("["):
            self._status.update(Text(text, overflow="ellipsis", no_wrap=True))
        else:
            style = "yellow" if record.levelno >= logging.WARNING else "dim"
            self._console.print(f"        {text}", style=style, markup=False, highlight=False, soft_wrap=True)


def hand_over(keys: CampaignKeys, settings: Settings, *, whole: bool) -> str:
    """Return the answer, or all cards or tables, and where the files are."""
    store = open_store(settings)
    folder = f"{settings.store_folder}/{keys.report('')}".rstrip("/")
    shown = whole_text(store, keys) if whole else "\n".join(answer_lines(store, keys))
    more = f"kafka-pareto result {keys.study} --campaign {keys.campaign} --store {settings.store_folder} --whole"
    files = {"Files": folder, "Report": f"file://{folder}/report.html", "More": more}
    return "\n".join([shown, "", *(f"{name:<7} {text}" for name, text in files.items())])
