"""The command `kafka-pareto`. Libraries are imported by the command that needs them, so that each starts at once."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from kafka_pareto.errors import BadInputError, ClusterError, ConsentError, KafkaParetoError
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.requests import (
    DoctorRequest,
    InForceRequest,
    IngestRequest,
    RemoveTopicsRequest,
    ResultForm,
    RollBackRequest,
    RunRequest,
    SizingOptions,
    StudyRequest,
)
from kafka_pareto_cli.options import as_typed, command_options

if TYPE_CHECKING:
    from kafka_pareto_embedded.lifecycle.supervision import ProcessState
    from kafka_pareto_embedded.stack.stack import Stack

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
        request, settings = _located(options(), load_settings())
        from kafka_pareto_cli.planning import plan_campaign, print_plan  # noqa: PLC0415

        planned = plan_campaign(request, settings)
        if as_json:
            print(planned.model_dump_json(indent=2))
            return
        print_plan(planned, Console())
        if not _is_interactive():
            return
        _require_possible(request, settings, planned.needs_stack, local=local)
        if typer.confirm("\nStart?"):
            agreed = request.model_copy(update={"consent": True}) if planned.needs_consent else request
            _start(agreed, settings, Console(), local=local, store=store, form="answer")


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
        request, settings = _located(options(), load_settings())
        console = Console(stderr=as_json)
        if request.campaign is None:
            request = _approved(request, settings, console, local=local)
        _start(request, settings, console, local=local, store=store, form="json" if as_json else _form(whole))


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
        form = "json" if as_json else "junit" if as_junit else _form(whole)
        code = print_result(_store_settings(store), study, campaign, form)
    raise typer.Exit(code if exit_code else 0)


@app.command("in-force", hidden=True)  # as make calls it
@app.command("active", rich_help_panel=_IN_FORCE)
@command_options(InForceRequest, "in-force", "study")
def in_force(options: Callable[[], InForceRequest], store: ResultsFolder = None, as_json: AsJson = False) -> None:
    """Show the settings in force for a study, and copy its files to a folder if one is given."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.runs.rollout import show_in_force  # noqa: PLC0415

        show_in_force(request, _store_settings(store), as_json=as_json)


@app.command(rich_help_panel=_IN_FORCE)
@command_options(RollBackRequest, "rollback", "study")
def rollback(options: Callable[[], RollBackRequest], store: ResultsFolder = None) -> None:
    """Go back to what was in force before, for one record size of a study."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415
        from kafka_pareto_embedded.runs.rollout import roll_back, roll_back_here  # noqa: PLC0415

        if store is not None:
            roll_back_here(request, _store_settings(store))
            return
        code = roll_back(request, lifecycle.running())
    raise typer.Exit(code)


@app.command(rich_help_panel=_IN_FORCE)
@command_options(StudyRequest, "retune", "study")
def retune(options: Callable[[], StudyRequest]) -> None:
    """Check whether the settings in force are still the best, and tune again where they are not."""
    with clear_errors():
        request = options()
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415
        from kafka_pareto_embedded.runs.rollout import retune_now  # noqa: PLC0415

        code = retune_now(request, lifecycle.running())
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
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        _print_addresses(lifecycle.up(_say))


@app.command(rich_help_panel=_STACK)
def down() -> None:
    """Stop the stack; its data stays."""
    with clear_errors():
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        lifecycle.down(_say)


@app.command(rich_help_panel=_STACK)
def status(as_json: AsJson = False) -> None:
    """Show what runs where."""
    with clear_errors():
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        stack, processes = lifecycle.status()
        rows = [] if stack is None else _status_rows(stack, processes)
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
            _print_topics_left(stack, processes)


@app.command("import", rich_help_panel=_STACK)
def import_folder(
    folder: Annotated[Path, typer.Argument(help="The folder of results, as kafka-pareto-store.", show_default=False)],
) -> None:
    """Copy campaigns that were run with --local to the running stack, whose explorer then shows them."""
    with clear_errors():
        from kafka_pareto_cli.importing import import_campaigns  # noqa: PLC0415
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        stack = lifecycle.running()
        for name in import_campaigns(folder, stack.settings()):
            _say(f"imported {name}")
        _say(f"Explorer  {stack.airflow_url}/kafka-pareto/")


@app.command(rich_help_panel=_STACK)
def clean() -> None:
    """Stop the stack and remove all of its state."""
    with clear_errors():
        from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

        lifecycle.clean(_say)


def _located(request: RunRequest, settings: Settings) -> tuple[RunRequest, Settings]:
    """Read a study that is given as a file from its own folder."""
    file = Path(request.study)
    if file.suffix != ".yaml":
        return request, settings
    if not file.is_file():
        raise BadInputError(f"STUDY: {file}: there is no such file")
    study = request.model_copy(update={"study": file.stem})
    return study, settings.model_copy(update={"studies": file.resolve().parent})


def _approved(request: RunRequest, settings: Settings, console: Console, *, local: bool) -> RunRequest:
    """Return the request with consent; mistakes of the study and its options are reported before anything starts.

    Raises:
        ConsentError: If the cluster was not started by the stack, and nobody says that the campaign may start.
    """
    from kafka_pareto_cli.planning import look_at_cluster, plan_campaign, print_plan  # noqa: PLC0415

    planned = plan_campaign(request, settings)
    _require_possible(request, settings, planned.needs_stack, local=local)
    if local or planned.needs_consent:
        print_plan(planned, console)
        console.print()
    if not planned.needs_consent:
        return request
    for warning in look_at_cluster(request, settings, planned.plan):
        console.print(f"{warning}\n", style="yellow", markup=False, highlight=False)
    if not _is_interactive():
        raise ConsentError(
            "nothing was started: this cluster is not the stack's own, so a campaign needs your consent; to start as "
            "planned, run the same command with CONSENT=yes"
        )
    if not typer.confirm("Start?", err=True):
        raise typer.Exit
    return request.model_copy(update={"consent": True})


def _require_possible(request: RunRequest, settings: Settings, needs_stack: bool, *, local: bool) -> None:
    """Refuse what the way of running cannot do, before anybody is asked."""
    if local and request.approval:
        raise BadInputError("--approval: a run with --local has nobody to ask; run it on the stack")
    if local and needs_stack:
        raise BadInputError("--local: there is no stack, whose brokers this study would load; name a cluster: --kafka")
    shared = load_settings().studies.resolve()
    if not local and settings.studies.resolve() != shared:
        raise BadInputError(
            f"STUDY: {settings.studies / request.study}.yaml: the stack reads {shared}; put the file there and give "
            "its name, or run it with --local"
        )


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _form(whole: bool) -> ResultForm:
    return "whole" if whole else "answer"


def _start(
    request: RunRequest, settings: Settings, console: Console, *, local: bool, store: Path | None, form: ResultForm
) -> None:
    """Run the campaign, here or on the stack, and exit as it ended."""
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

    if request.producer_file is not None:
        _say("\n  ".join([f"Baseline {request.baseline}:", *request.producer_file.report_lines()]))
    raise typer.Exit(run_campaign(lifecycle.up(_say), request, whole=form == "whole"))


def _store_settings(store: Path | None) -> Settings:
    """Return where results are: in this folder, or in the one that the environment names, else in the stack's store."""
    settings = load_settings()
    folder = store or settings.store_folder
    if folder is not None:
        if not folder.is_dir():
            raise BadInputError(f"--store: {folder}: there is no such folder")
        return settings.model_copy(update={"store_folder": folder.resolve()})
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

    return lifecycle.running().settings()


def _say(line: str) -> None:
    print(line, flush=True)


def _print_addresses(stack: Stack) -> None:
    _say(f"Airflow  {stack.airflow_url}")
    _say(f"MLflow   {stack.mlflow_url}")
    _say(f"MinIO    {stack.s3_url}")
    _say(f"Kafka    {stack.bootstrap_servers}")
    _say(f"Logs     {stack.logs}")
    _say(f"Logins   {stack.logins}")


def _status_rows(stack: Stack, processes: list[ProcessState]) -> list[tuple[str, ...]]:
    from kafka_pareto_embedded.bootstrap.ports import LOOPBACK  # noqa: PLC0415

    ports = {"minio": stack.ports.minio, "mlflow": stack.ports.mlflow, "airflow-api-server": stack.ports.airflow}
    ports |= {f"kafka-{number}": port for number, port in enumerate(stack.ports.kafka, start=1)}
    return [
        (
            process.name,
            process.state.lower(),
            str(process.pid or ""),
            f"{LOOPBACK}:{port}" if (port := ports.get(process.name)) else "",
            f"{process.since:%Y-%m-%d %H:%M:%S}" if process.since else "",
        )
        for process in sorted(processes, key=lambda process: process.name)
    ]


def _print_topics_left(stack: Stack, processes: list[ProcessState]) -> None:
    """Print which topics of campaigns are on the brokers; say nothing of brokers that do not answer."""
    from kafka_pareto_embedded.runs.remove_topics import topics_left_on  # noqa: PLC0415

    if not any(process.is_running and process.name.startswith("kafka") for process in processes):
        return
    with suppress(ClusterError):
        if topics := topics_left_on(stack):
            print(
                "\nTopics of campaigns; while none runs, they were left there, and `make remove-topics` deletes them:"
            )
            print("\n".join(topics))


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
