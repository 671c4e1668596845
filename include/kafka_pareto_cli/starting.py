"""Start a campaign on the stack or in this process; print its cost first."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Console

from kafka_pareto.errors import BadInputError, ConsentError
from kafka_pareto.settings import RUN_BY_AIRFLOW, Settings, load_settings
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.options import require_of_kind
from kafka_pareto.study.requests import GateRequest, ResultForm, RunRequest
from kafka_pareto_embedded.terminal.as_typed import as_typed

OfAStudy = TypeVar("OfAStudy", RunRequest, GateRequest)

if TYPE_CHECKING:
    from kafka_pareto_embedded.stack.stack import Stack


def located(request: OfAStudy, settings: Settings) -> tuple[OfAStudy, Settings]:
    """Read a study given as a file, from that file's folder."""
    file = Path(request.study)
    if file.suffix != ".yaml":
        return request, settings
    if not file.is_file():
        raise BadInputError(f"STUDY: {file}: there is no such file")
    study = request.model_copy(update={"study": file.stem})
    return study, settings.model_copy(update={"studies": file.resolve().parent})


def approved(request: RunRequest, settings: Settings, console: Console, *, local: bool) -> RunRequest:
    """Return the request with consent; report mistakes in the study and its options before the start.

    Raises:
        ConsentError: If the cluster was not started by the stack and the user has not agreed.
    """
    from kafka_pareto_cli.planning import look_at_cluster, plan_campaign, print_plan  # noqa: PLC0415

    planned = plan_campaign(request, settings)
    require_possible(request, settings, planned.needs_stack, local=local)
    if local or planned.needs_consent:
        print_plan(planned, console)
        console.print()
    if not planned.needs_consent:
        return request
    if not (local or settings.load_machines):
        settings = settings.model_copy(update={"load_machines": RUN_BY_AIRFLOW})
    for warning in look_at_cluster(request, settings, planned.plan):
        console.print(f"{warning}\n", style="yellow", markup=False, highlight=False)
    if not is_interactive():
        raise ConsentError(
            "not started: a campaign on an existing cluster needs your consent; to start as planned, run the same "
            "command with CONSENT=yes"
        )
    if not typer.confirm("Start?", err=True):
        raise typer.Exit
    return request.model_copy(update={"consent": True})


def require_options_of_kind(request: RunRequest, settings: Settings) -> None:
    """Refuse options that the study's kind lacks, before the baseline's file is read as a producer's."""
    kind = kind_of(settings.studies / f"{request.study}.yaml")
    require_of_kind(request.model_dump(exclude_defaults=True), kind, request.study)


def require_possible(request: RunRequest, settings: Settings, needs_stack: bool, *, local: bool) -> None:
    """Reject options that do not fit the way of running, before asking for consent."""
    if local and request.approval:
        raise BadInputError("--approval: not possible with --local; run it on the stack")
    if local and needs_stack:
        raise BadInputError(
            "--local: this study runs on the stack's brokers; name a cluster with --kafka, or omit --local"
        )
    shared = load_settings().studies.resolve()
    if not local and settings.studies.resolve() != shared:
        raise BadInputError(
            f"STUDY: {settings.studies / request.study}.yaml: the stack reads {shared}; put the file there and give "
            "its name, or run it with --local"
        )


def is_interactive() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def form_of(whole: bool) -> ResultForm:
    """Return the form in which to print the result."""
    return "whole" if whole else "answer"


def start(
    request: RunRequest, settings: Settings, console: Console, *, local: bool, store: Path | None, form: ResultForm
) -> None:
    """Run the campaign, here or on the stack, and exit with its exit code."""
    if local:
        from kafka_pareto_cli.local_run import files_text, local_settings, run_here  # noqa: PLC0415
        from kafka_pareto_embedded.runs.result import print_result  # noqa: PLC0415

        with local_settings(settings, request.client_config, store) as chosen:
            keys = run_here(request, chosen, console)
        console.print()
        print_result(chosen, keys.study, keys.campaign, form)
        console.print(f"\n{files_text(keys, chosen)}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415
    from kafka_pareto_embedded.runs.run import run as run_campaign  # noqa: PLC0415

    require_checkout()

    if request.campaign is None:
        _say_baseline(request, settings)
    raise typer.Exit(run_campaign(lifecycle.up(say), request, whole=form == "whole"))


def _say_baseline(request: RunRequest, settings: Settings) -> None:
    from kafka_pareto.study.study_file import baseline_client_of, settings_file_of  # noqa: PLC0415

    of_study = partial(baseline_client_of, settings.studies / f"{request.study}.yaml")
    if baseline := request.baseline_file(of_study):
        say("\n  ".join([f"Baseline {request.baseline}:", *baseline.report_lines()]))
    elif named := settings_file_of(settings.studies, request.study):
        file, found = named
        say("\n  ".join([f"Baseline of the study, {file}:", *found.report_lines()]))


def store_settings(store: Path | None) -> Settings:
    """Return the store of results: this folder, the environment's folder, or the stack's store."""
    settings = load_settings()
    folder = store or settings.store_folder
    if folder is not None:
        if not folder.is_dir():
            named = f"--store: {folder}" if store else f"KAFKA_PARETO_STORE_FOLDER={folder}"
            raise BadInputError(f"{named}: there is no such folder")
        return settings.model_copy(update={"store_folder": folder.resolve()})
    return running_stack().settings()


def running_stack() -> Stack:
    """Return the running stack.

    Raises:
        BadInputError: If this is not a checkout and therefore has no stack.
        StackError: If it is down.
    """
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

    require_checkout()
    return lifecycle.running()


def require_checkout() -> None:
    """Refuse to look for a stack if only the command is installed."""
    from kafka_pareto_embedded.bootstrap.preflight import is_checkout  # noqa: PLC0415

    if not is_checkout():
        raise BadInputError(
            "this needs a stack, which only a checkout of the project has: run the command there; for a run without a "
            "stack use --local, for its results --store"
        )


def say(line: str) -> None:
    """Print a line immediately, with commands in the user's form."""
    print(as_typed(line), flush=True)
