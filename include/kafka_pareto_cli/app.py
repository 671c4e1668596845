"""The command `kafka-pareto`. Each command imports the libraries it needs, to start immediately."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_GATE
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import (
    ActiveRequest,
    AuditRequest,
    DoctorRequest,
    GateRequest,
    IngestRequest,
    LoadCredentialsRequest,
    LoadMachineRequest,
    RemoveTopicsRequest,
    RollBackRequest,
    RunRequest,
    SizingOptions,
    StudyRequest,
    VerifyRequest,
)
from kafka_pareto_cli import stack_commands
from kafka_pareto_cli.help_text import EXIT_CODES, GATE_CODES, RESULT_CODES, VERIFY_CODES, ends
from kafka_pareto_cli.options import command_options
from kafka_pareto_cli.replies import AsJson, WithOwnExitCodes, clear_errors, replying
from kafka_pareto_cli.starting import (
    approved,
    form_of,
    is_interactive,
    located,
    require_options_of_kind,
    require_possible,
    running_stack,
    start,
    store_settings,
)
from kafka_pareto_embedded.terminal.as_typed import as_typed
from kafka_pareto_embedded.terminal.reply import Reply

app = typer.Typer(
    help="Find the best settings for your Kafka clients, measured on your own cluster.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Local = Annotated[
    bool, typer.Option("--local", help="Run in this process, without a stack; results are stored in a folder.")
]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="The folder of results, with --local: kafka-pareto-store by default.")
]
Whole = Annotated[bool, typer.Option("--cards", "--whole", help="Print all cards or tables, not only the summary.")]
ResultsFolder = Annotated[
    Path | None, typer.Option("--store", help="The folder of a run with --local; by default the running stack's store.")
]
_MEASURE, _ACTIVE, _CHECK = "Measure", "Active settings", "Check"


@app.command(
    epilog=ends("plan quick", "plan quick --kafka broker:9092 --ceiling-mib-s 20 --ceiling-gib 5"),
    rich_help_panel=_MEASURE,
)
@command_options(RunRequest, "plan", "study")
def plan(
    options: Callable[[], RunRequest], local: Local = False, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Show the cost of a campaign; on a terminal, offer to start it. Needs no stack and no cluster."""
    with clear_errors(as_json):
        request, settings = located(options(), load_settings())
        from kafka_pareto_cli.planning import plan_campaign, print_plan  # noqa: PLC0415

        planned = plan_campaign(request, settings)
        if as_json:
            print(planned.model_dump_json(indent=2))
            return
        print_plan(planned, Console())
        if not is_interactive():
            return
        try:
            require_possible(request, settings, planned.needs_stack, local=local)
        except BadInputError as reason:
            print(f"\nCannot be started like this: {as_typed(str(reason))}")
            return
        if typer.confirm("\nStart?"):
            agreed = request.model_copy(update={"consent": True}) if planned.needs_consent else request
            start(agreed, settings, Console(), local=local, store=store, form="answer")


@app.command(
    epilog=ends(
        "run quick",
        "run my-study.yaml --local --kafka broker:9092 --config client.properties --ceiling-mib-s 20 --ceiling-gib 5",
    ),
    rich_help_panel=_MEASURE,
)
@command_options(RunRequest, "run", "study")
def run(
    options: Callable[[], RunRequest],
    local: Local = False,
    store: StoreFolder = None,
    whole: Whole = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --local: print the result as JSON, other output to stderr.")
    ] = False,
) -> None:
    """Run a campaign and print its result: on the stack (started if needed), or in this process with --local."""
    with clear_errors(as_json):
        if as_json and not local:
            raise BadInputError("--json: needs --local; after a run on the stack use `kafka-pareto result --json`")
        request, settings = located(options(), load_settings())
        console = Console(stderr=as_json)
        if request.campaign is None:
            request = approved(request, settings, console, local=local)
        else:
            require_options_of_kind(request, settings)
        start(request, settings, console, local=local, store=store, form="json" if as_json else form_of(whole))


@app.command(
    epilog=ends(
        "ingest books.csv books", "ingest books.csv books --kafka broker:9092 --ceiling-mib-s 20 --ceiling-gib 5 --yes"
    ),
    rich_help_panel=_MEASURE,
)
@command_options(IngestRequest, "ingest", "file", "topic")
@replying
def ingest(options: Callable[[], IngestRequest]) -> Reply:
    """Send a CSV file to a topic, or resume an interrupted transfer."""
    request = options()
    from kafka_pareto_embedded.runs.ingest import ingest as ingest_file  # noqa: PLC0415

    return ingest_file(request, load_settings())


@app.command(
    "load-machine",
    epilog=ends("load-machine --kafka broker:9092 --listen 10.0.0.5:7443 --credentials load-machines.pem"),
    rich_help_panel=_MEASURE,
)
@command_options(LoadMachineRequest, "load-machine")
@replying
def load_machine(options: Callable[[], LoadMachineRequest]) -> Reply:
    """Send this machine's share of the loads of campaigns that run elsewhere, until interrupted."""
    request = options()
    from kafka_pareto_cli.load_machine import serve  # noqa: PLC0415

    serve(request, load_settings())


@app.command("load-credentials", epilog=ends("load-credentials load-machines.pem"), rich_help_panel=_MEASURE)
@command_options(LoadCredentialsRequest, "load-credentials", "file")
@replying
def load_credentials(options: Callable[[], LoadCredentialsRequest]) -> Reply:
    """Create the key with which campaigns and load machines authenticate each other. Copy it to each machine."""
    request = options()
    from kafka_pareto_cli.load_machine import create_credentials  # noqa: PLC0415

    return create_credentials(request.file)


@app.command(epilog=ends("studies", "studies --json"), rich_help_panel=_MEASURE)
def studies(as_json: AsJson = False) -> None:
    """List the available studies."""
    with clear_errors(as_json):
        from kafka_pareto_cli.studies import list_studies, print_studies  # noqa: PLC0415

        found, problems = list_studies(load_settings().studies)
        if as_json:
            print(json.dumps([each.model_dump() for each in found], indent=2))
        else:
            print_studies(found)
        for problem in problems:
            print(f"skipped: {problem}", file=sys.stderr)


@app.command(
    epilog=ends(
        "result quick", "result my-study --store kafka-pareto-store --json --exit-code", exit_codes=RESULT_CODES
    ),
    rich_help_panel=_MEASURE,
)
def result(
    study: Annotated[str, typer.Argument(help="The study's name.")],
    campaign: Annotated[str | None, typer.Option(help="The campaign's ID; by default the latest finished one.")] = None,
    store: ResultsFolder = None,
    whole: Whole = False,
    as_json: Annotated[bool, typer.Option("--json", help="Outcome, verdicts and settings as JSON.")] = False,
    as_junit: Annotated[bool, typer.Option("--junit", help="JUnit XML with a test for each case.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 0 if a change is recommended, 10 if not, 11 if inconclusive.")
    ] = False,
) -> None:
    """Print the result of a finished campaign: its cards, or JSON or JUnit XML for scripts."""
    with clear_errors(as_json):
        from kafka_pareto_embedded.runs.result import print_result  # noqa: PLC0415

        if as_json and as_junit:
            raise BadInputError("--json, --junit: use only one")
        form = "json" if as_json else "junit" if as_junit else form_of(whole)
        code = print_result(store_settings(store), study, campaign, form)
    raise typer.Exit(code if exit_code else 0)


@app.command(
    cls=WithOwnExitCodes,
    epilog=ends(
        "gate steady --reference old.properties --candidate new.properties --kafka broker:9092 --ceiling-mib-s 20 "
        "--ceiling-gib 5 --yes",
        "gate my-study.yaml --candidate new.properties --store kafka-pareto-store --junit gate.xml --annotations",
        exit_codes=GATE_CODES,
    ),
    rich_help_panel=_MEASURE,
)
@command_options(GateRequest, "gate", "study")
def gate(
    options: Callable[[], GateRequest],
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            help="Folder of results and active settings. Default: KAFKA_PARETO_STORE_FOLDER, else kafka-pareto-store.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, other output to stderr.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML with a test for each condition.")] = None,
    annotated: Annotated[
        bool, typer.Option("--annotations", help="Also print GitHub annotations for the candidate's file.")
    ] = False,
) -> None:
    """Check new producer settings: measure them against the current ones until a study's conditions are decided."""
    with clear_errors(as_json):
        request, settings = located(options(), load_settings())
        from kafka_pareto.gate.result import annotation_lines, junit_xml, result_text  # noqa: PLC0415
        from kafka_pareto_cli.gate_run import run_gate  # noqa: PLC0415
        from kafka_pareto_cli.local_run import local_settings  # noqa: PLC0415

        if junit is not None and not junit.parent.is_dir():
            raise BadInputError(f"--junit: {junit}: its folder does not exist")
        console = Console(stderr=as_json)
        with local_settings(settings, request.client_config, store) as chosen:
            found = run_gate(request, chosen, console)
        print(found.model_dump_json(indent=2) if as_json else f"\n{result_text(found)}")
        if annotated:
            for line in annotation_lines(found, request.candidate):
                print(line, file=sys.stderr if as_json else sys.stdout)
        if junit is not None:
            try:
                junit.write_bytes(junit_xml(found))
            except OSError as error:
                raise BadInputError(f"--junit: {junit}: cannot be written: {error.strerror}") from error
    raise typer.Exit(EXIT_OF_GATE[found.verdict])


@app.command("active", epilog=ends("active quick", "active quick --folder settings --json"), rich_help_panel=_ACTIVE)
@command_options(ActiveRequest, "active", "study")
def active(options: Callable[[], ActiveRequest], store: ResultsFolder = None, as_json: AsJson = False) -> None:
    """Show the active settings of a study, and optionally copy its files to a folder."""
    with clear_errors(as_json):
        request = options()
        from kafka_pareto_embedded.runs.rollout import show_active  # noqa: PLC0415

        show_active(request, store_settings(store), as_json=as_json)


@app.command(
    epilog=ends("rollback quick --record-size 1024", "rollback my-study --record-size 1024 --store kafka-pareto-store"),
    rich_help_panel=_ACTIVE,
)
@command_options(RollBackRequest, "rollback", "study")
@replying
def rollback(options: Callable[[], RollBackRequest], store: ResultsFolder = None) -> Reply:
    """Roll back to the previous settings, for one case of a study."""
    request = options()
    from kafka_pareto_embedded.runs.rollout import roll_back, roll_back_here  # noqa: PLC0415

    if store is not None:
        return roll_back_here(request, store_settings(store))
    return roll_back(request, running_stack())


@app.command(epilog=ends("retune steady"), rich_help_panel=_ACTIVE)
@command_options(StudyRequest, "retune", "study")
@replying
def retune(options: Callable[[], StudyRequest]) -> Reply:
    """Check whether the active settings are still the best, and tune again if not."""
    request = options()
    from kafka_pareto_embedded.runs.rollout import retune_now  # noqa: PLC0415

    return retune_now(request, running_stack())


@app.command(
    epilog=ends("doctor", "doctor --kafka broker:9092 --producer producer.properties"),
    rich_help_panel=_CHECK,
)
@command_options(DoctorRequest, "doctor")
def doctor(options: Callable[[], DoctorRequest], as_json: AsJson = False) -> None:
    """Check a cluster, its machine and its clients against a published guide. Read-only."""
    with clear_errors(as_json):
        request = options()
        from kafka_pareto_embedded.runs.checks import print_report  # noqa: PLC0415

        print_report(request.model_copy(update={"format": "json"}) if as_json else request, load_settings())


@app.command(
    epilog=ends(
        "audit --kafka broker:9092 --topics orders,payments",
        "audit --kafka broker:9092 --what-if 'linger.ms=5,60 compression.type=zstd'",
        "audit --kafka broker:9092 --topics orders --study-folder my-studies --yes",
    ),
    rich_help_panel=_CHECK,
)
@command_options(AuditRequest, "audit")
def audit(options: Callable[[], AuditRequest], as_json: AsJson = False) -> None:
    """Describe the traffic of topics, and predict the storage that other producer settings would need. Read-only."""
    with clear_errors(as_json):
        request = options()
        from kafka_pareto_embedded.runs.checks import print_audit  # noqa: PLC0415

        print_audit(request, load_settings(), as_json=as_json)


@app.command(
    cls=WithOwnExitCodes,
    epilog=ends(
        "verify orders --kafka broker:9092 --settings new.properties --previous old.properties",
        "verify orders --kafka broker:9092 --active my-study --store kafka-pareto-store",
        exit_codes=VERIFY_CODES,
    ),
    rich_help_panel=_ACTIVE,
)
@command_options(VerifyRequest, "verify", "topic")
def verify(options: Callable[[], VerifyRequest], store: ResultsFolder = None, as_json: AsJson = False) -> None:
    """Check in a topic's latest batches which producers use the new settings. Read-only."""
    with clear_errors(as_json):
        request = options()
        from kafka_pareto_embedded.runs.checks import print_verification  # noqa: PLC0415

        settings = load_settings() if request.active is None else store_settings(store)
        code = print_verification(request, settings, as_json=as_json)
    raise typer.Exit(code)


@app.command(epilog=ends("sizing --records-s 100000 --record-size 1024"), rich_help_panel=_CHECK)
@command_options(SizingOptions, "sizing")
def sizing(options: Callable[[], SizingOptions], as_json: AsJson = False) -> None:
    """Size a cluster for a workload."""
    with clear_errors(as_json):
        request = options()
        from kafka_pareto_embedded.runs.checks import print_sizing  # noqa: PLC0415

        print_sizing(request.model_copy(update={"format": "json"}) if as_json else request)


@app.command(
    epilog=ends("remove-topics", "remove-topics --kafka broker:9092 --config client.properties --yes"),
    rich_help_panel=_CHECK,
)
@command_options(RemoveTopicsRequest, "remove-topics")
@replying
def remove_topics(options: Callable[[], RemoveTopicsRequest]) -> Reply:
    """Delete topics left behind by campaigns, on a cluster without a running campaign."""
    request = options()
    from kafka_pareto_embedded.runs.remove_topics import remove_topics as remove  # noqa: PLC0415

    return remove(request, load_settings())


app.add_typer(stack_commands.commands)  # without a name: its commands are the app's own
