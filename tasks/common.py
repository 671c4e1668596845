"""Define the common parts of the steps' command lines: options, errors, and the last line."""

from __future__ import annotations

import inspect
import logging
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kafka_pareto.campaign.campaign import Campaign, check_campaign_id
from kafka_pareto.campaign.keys import CheckKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.command_line import with_options
from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.options import Options

StudyOption = Annotated[str, typer.Option("--study", help="name of the study, a file in include/studies/")]
CampaignOption = Annotated[str, typer.Option("--campaign", help="ID of the campaign")]
CheckOption = Annotated[str, typer.Option("--campaign", help="ID of the check")]
CaseOption = Annotated[str, typer.Option("--case", help="one of the study's cases; for a producer, a record size")]
RoundOption = Annotated[
    int, typer.Option("--round", min=0, help="0 for the design, 1 and above for the rounds after it")
]
SessionOption = Annotated[str, typer.Option("--session", help="the load machines that run together")]
CheckFlag = Annotated[bool, typer.Option("--check", help="the campaign is a check of the active settings")]
ManifestOption = Annotated[Path | None, typer.Option("--manifest", help="also write the manifest to this file")]


def open_campaign(study: str, campaign: str) -> Campaign:
    """Open the campaign in the store that the settings name."""
    return Campaign.open(open_store(load_settings()), study, check_campaign_id(campaign))


def open_check(study: str, check: str) -> Campaign:
    """Open the check of the active settings in the store that the settings name."""
    return Campaign.at(open_store(load_settings()), CheckKeys(study, check_campaign_id(check)))


def open_either(study: str, campaign: str, *, check: bool) -> Campaign:
    """Open the campaign or check in the store that the settings name."""
    return open_check(study, campaign) if check else open_campaign(study, campaign)


def on_system(run: Callable[..., Manifest], campaign: Campaign, case: str, *more: int) -> Manifest:
    """Run a step that measures one case on the system of the campaign's study."""
    with runtime_of(campaign.study).runner(campaign, case, load_settings()) as runner:
        return run(campaign, case, runner, *more)


def run_command(main: Callable[..., Manifest]) -> None:
    """Run the step's `main` with the process's arguments; the last line is its manifest or the error."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(_command(main))
    app()


def _command(main: Callable[..., Manifest]) -> Callable[..., None]:
    """Return `main` as a Typer command with `--manifest` and an option for each field of the model `options`."""
    parameters = dict(inspect.signature(main, eval_str=True).parameters)
    model = parameters.pop("options").annotation if "options" in parameters else None

    def command(manifest: Path | None, options: Callable[[], Options] | None = None, **said: Any) -> None:
        _run_step(lambda: main(**said, **({"options": options()} if options else {})), manifest)

    manifest = inspect.Parameter("manifest", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ManifestOption)
    cast(Any, command).__signature__ = inspect.Signature([*parameters.values(), manifest])
    command.__doc__ = main.__doc__
    return with_options(model)(command) if model else command


def _run_step(step: Callable[[], Manifest], manifest_path: Path | None) -> None:
    """Run the step, print its manifest as the last line, and turn the project's errors into one message.

    TERM ends a step like Ctrl-C: contexts exit in order, so the load stops and the lease is released.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request for a broker's metrics
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        line = step().model_dump_json()
    except KafkaParetoError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    if manifest_path is not None:
        manifest_path.write_text(line + "\n", encoding="utf-8")
    print(line, flush=True)
