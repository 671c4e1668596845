"""The command `kafka-pareto`. Libraries are imported by the command that needs them, so that each starts at once."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import (
    ActiveRequest,
    DoctorRequest,
    IngestRequest,
    RemoveTopicsRequest,
    RollBackRequest,
    RunRequest,
    SizingOptions,
    StudyRequest,
)
from kafka_pareto_cli.options import as_typed, command_options
from kafka_pareto_cli.starting import (
    approved,
    form_of,
    is_interactive,
    located,
    require_checkout,
    require_possible,
    running_stack,
    say,
    start,
    store_settings,
)

_EXIT_CODES = (
    "Exit codes: 0 done, 1 a step failed, 2 unknown option, 65 bad input, 75 not available now, try again, 77 your "
    "consent is needed, 130 interrupted."
)

app = typer.Typer(
    help="Find the best settings for your Kafka clients, measured on your own cluster.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Local = Annotated[bool, typer.Option("--local", help="Run in this process, without a stack; results go to a folder.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="The folder of results, with --local: kafka-pareto-store by default.")
]
Whole = Annotated[bool, typer.Option("--cards", "--whole", help="Print all cards or tables, not the answer alone.")]
ResultsFolder = Annotated[
    Path | None, typer.Option("--store", help="The folder of a run with --local; by default the running stack's store.")
]
_MEASURE, _IN_FORCE, _CHECK, _STACK = "Measure", "What is in force", "Check", "The embedded stack"


@app.command(
    epilog="For example: kafka-pareto plan quick --kafka broker:9092 --ceiling-mib-s 20 --ceiling-gib 5",
    rich_help_panel=_MEASURE,
)
@command_options(RunRequest, "plan", "study")
def plan(
    options: Callable[[], RunRequest], local: Local = False, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Show what a campaign would cost; on a terminal, ask whether to start it. Needs no stack and no cluster."""
    with clear_errors():
        request, settings = located(options(), load_settings())
        from kafka_pareto_cli.planning import plan_campaign, print_plan  # noqa: PLC0415

        planned = plan_campaign(request, settings)
        if as_json:
            print(planned.model_dump_json(indent=2))
            return
        print_plan(planned, Console())
        if not is_interactive():
            return
        require_possible(request, settings, planned.needs_stack, local=local)
        if typer.confirm("\nStart?"):
            agreed = request.model_copy(update={"consent": True}) if planned.needs_consent else request
            start(agreed, settings, Console(), local=local, store=store, form="answer")


@app.command(
    epilog="For example: kafka-pareto run my-study.yaml --local --kafka broker:9092 --config client.properties "
    f"--ceiling-mib-s 20 --ceiling-gib 5. {_EXIT_CODES}",
    rich_help_panel=_MEASURE,
)
@command_options(RunRequest, "run", "study")
def run(
    options: Callable[[], RunRequest],
    local: Local = False,
    store: StoreFolder = None,
    whole: Whole = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --local: print the result as JSON, everything else to stderr.")
    ] = False,
) -> None:
    """Run a campaign to its end and print its answer: on the stack, which is started, or with --local here."""
    with clear_errors():
        if as_json and not local:
            raise BadInputError("--json: needs --local; of a run on the stack, `kafka-pareto result --json` prints it")
        request, settings = located(options(), load_settings())
        console = Console(stderr=as_json)
        if request.campaign is None:
            request = approved(request, settings, console, local=local)
        start(request, settings, console, local=local, store=store, form="json" if as_json else form_of(whole))


@app.command(rich_help_panel=_MEASURE)
@command_options(IngestRequest, "ingest", "file", "topic")
def ingest(options: Callable[[], IngestRequest]) -> None:
    """Send a CSV file to a topic; resume where an earlier run stopped."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.ingest import ingest as ingest_file  # noqa: PLC0415

        ingest_file(request, load_settings())


@app.command(rich_help_panel=_MEASURE)
def studies(as_json: AsJson = False) -> None:
    """List the studies that can be run."""
    with clear_errors():
        from kafka_pareto_cli.studies import list_studies, print_studies  # noqa: PLC0415

        found, problems = list_studies(load_settings().studies)
        if as_json:
            print(json.dumps([each.model_dump() for each in found], indent=2))
        else:
            print_studies(found)
        for problem in problems:
            print(f"left out: {problem}", file=sys.stderr)


@app.command(rich_help_panel=_MEASURE)
def result(
    study: Annotated[str, typer.Argument(help="The study's name.")],
    campaign: Annotated[
        str | None, typer.Option(help="The campaign's id; by default the latest one that has ended.")
    ] = None,
    store: ResultsFolder = None,
    whole: Whole = False,
    as_json: Annotated[bool, typer.Option("--json", help="Outcome, verdicts and settings as JSON.")] = False,
    as_junit: Annotated[bool, typer.Option("--junit", help="A test for each record size, as JUnit XML.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 0 if a change is recommended, 10 if not, 11 if undecided.")
    ] = False,
) -> None:
    """Print what a finished campaign came to: its cards, or a form for scripts."""
    with clear_errors():
        from kafka_pareto_embedded.runs.result import print_result  # noqa: PLC0415

        if as_json and as_junit:
            raise BadInputError("--json, --junit: give one of the two")
        form = "json" if as_json else "junit" if as_junit else form_of(whole)
        code = print_result(store_settings(store), study, campaign, form)
    raise typer.Exit(code if exit_code else 0)


@app.command("in-force", hidden=True)  # as make calls it
@app.command("active", rich_help_panel=_IN_FORCE)
@command_options(ActiveRequest, "in-force", "study")
def active(options: Callable[[], ActiveRequest], store: ResultsFolder = None, as_json: AsJson = False) -> None:
    """Show the settings in force for a study, and copy its files to a folder if one is given."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.rollout import show_active  # noqa: PLC0415

        show_active(request, store_settings(store), as_json=as_json)


@app.command(rich_help_panel=_IN_FORCE)
@command_options(RollBackRequest, "rollback", "study")
def rollback(options: Callable[[], RollBackRequest], store: ResultsFolder = None) -> None:
    """Go back to what was in force before, for one record size of a study."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.rollout import roll_back, roll_back_here  # noqa: PLC0415

        if store is not None:
            roll_back_here(request, store_settings(store))
            return
        code = roll_back(request, running_stack())
    raise typer.Exit(code)


@app.command(rich_help_panel=_IN_FORCE)
@command_options(StudyRequest, "retune", "study")
def retune(options: Callable[[], StudyRequest]) -> None:
    """Check whether the settings in force are still the best, and tune again where they are not."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.rollout import retune_now  # noqa: PLC0415

        code = retune_now(request, running_stack())
    raise typer.Exit(code)


@app.command(
    epilog="For example: kafka-pareto doctor --kafka broker:9092 --producer producer.properties",
    rich_help_panel=_CHECK,
)
@command_options(DoctorRequest, "doctor")
def doctor(options: Callable[[], DoctorRequest], as_json: AsJson = False) -> None:
    """Check a cluster, its machine and its clients against a published guide; set nothing."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.checks import print_report  # noqa: PLC0415

        print_report(request.model_copy(update={"format": "json"}) if as_json else request, load_settings())


@app.command(epilog="For example: kafka-pareto sizing --records-s 100000 --record-size 1024", rich_help_panel=_CHECK)
@command_options(SizingOptions, "sizing")
def sizing(options: Callable[[], SizingOptions], as_json: AsJson = False) -> None:
    """Show what a load needs of a cluster."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.checks import print_sizing  # noqa: PLC0415

        print_sizing(request.model_copy(update={"format": "json"}) if as_json else request)


@app.command(rich_help_panel=_CHECK)
@command_options(RemoveTopicsRequest, "remove-topics")
def remove_topics(options: Callable[[], RemoveTopicsRequest]) -> None:
    """Delete topics that campaigns have left on a cluster, while nothing loads it."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.remove_topics import remove_topics as remove  # noqa: PLC0415

        remove(request, load_settings())


@app.command(rich_help_panel=_STACK)
def up() -> None:
    """Start the stack and wait until it is ready."""
    with clear_errors():
        from kafka_pareto_cli.stack_texts import print_addresses  # noqa: PLC0415
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        require_checkout()
        print_addresses(lifecycle.up(say))


@app.command(rich_help_panel=_STACK)
def down() -> None:
    """Stop the stack; its data stays."""
    with clear_errors():
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        lifecycle.down(say)


@app.command(rich_help_panel=_STACK)
def status(as_json: AsJson = False) -> None:
    """Show what runs where."""
    with clear_errors():
        from kafka_pareto_cli.stack_texts import print_topics_left, status_rows  # noqa: PLC0415
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        stack, processes = lifecycle.status()
        rows = [] if stack is None else status_rows(stack, processes)
        if as_json:
            names = ("program", "state", "pid", "address", "since")
            print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2))
        elif stack is None or not rows:
            print("The stack is down.")
        else:
            table = Table("program", "state", "pid", "address", "since", box=None, pad_edge=False)
            for row in rows:
                table.add_row(*row)
            Console().print(table)
            print(f"\nLogins: {stack.logins}")
            print_topics_left(stack, processes)


@app.command("import", rich_help_panel=_STACK)
def import_folder(
    folder: Annotated[Path, typer.Argument(help="The folder of results, as kafka-pareto-store.", show_default=False)],
) -> None:
    """Copy campaigns that were run with --local to the running stack, whose explorer then shows them."""
    with clear_errors():
        from kafka_pareto_cli.importing import import_campaigns  # noqa: PLC0415

        stack = running_stack()
        for name in import_campaigns(folder, stack.settings()):
            say(f"imported {name}")
        say(f"Explorer  {stack.airflow_url}/kafka-pareto/")


@app.command(rich_help_panel=_STACK)
def clean() -> None:
    """Stop the stack and remove all of its state."""
    with clear_errors():
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        lifecycle.clean(say)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Print a user's mistake as one message, without a traceback; let TERM end a command in order, like Ctrl-C."""
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    except KafkaParetoError as error:
        for line in as_typed(str(error)).splitlines():
            print(f"error: {line}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
