"""Run the embedded stack's command line, which `make` calls."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from kafka_pareto.errors import BadInputError, ClusterError, KafkaParetoError
from kafka_pareto.settings import load_settings
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.commands.options import options_of_make
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.lifecycle.supervision import ProcessState
from kafka_pareto_embedded.stack.stack import Stack

app = typer.Typer(
    help="The embedded stack and the main job on it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command()
def up() -> None:
    """Start the stack and wait until it is ready."""
    with clear_errors():
        _print_addresses(lifecycle.up(_say))


@app.command()
def down() -> None:
    """Stop the stack; its data stays."""
    with clear_errors():
        lifecycle.down(_say)


@app.command()
def status() -> None:
    """Show what runs where."""
    with clear_errors():
        stack, processes = lifecycle.status()
        if stack is None or not processes:
            print("The stack is down.")
            return
        Console().print(_status_table(stack, processes))
        print(f"\nLogins: {stack.logins}")
        _print_topics_left(stack, processes)


@app.command()
def clean() -> None:
    """Stop the stack and remove all of its state."""
    with clear_errors():
        lifecycle.clean(_say)


@app.command()
def run() -> None:
    """Bring the stack up, then tune: trigger the DAG, follow it, and print the decision cards."""
    # Imported here and below, so that the other commands start faster.
    from kafka_pareto.analysis.runnable_study import load_runnable_study  # noqa: PLC0415
    from kafka_pareto_embedded.runs.request import RunRequest  # noqa: PLC0415
    from kafka_pareto_embedded.runs.run import run as run_campaign  # noqa: PLC0415

    with clear_errors():
        request = options_of_make(RunRequest, "run")
        if request.campaign is None:
            # Its mistakes are reported before anything starts.
            load_runnable_study(load_settings().studies, request.study)
        if request.producer_file is not None:
            _say("\n  ".join([f"Baseline {request.baseline}:", *request.producer_file.report_lines()]))
        code = run_campaign(lifecycle.up(_say), request)
    raise typer.Exit(code)


@app.command()
def rollback() -> None:
    """Goes back to what was in force before, for one record size of a study."""
    from kafka_pareto_embedded.runs.rollout import RollBackRequest, roll_back  # noqa: PLC0415

    with clear_errors():
        code = roll_back(options_of_make(RollBackRequest, "rollback"), lifecycle.running())
    raise typer.Exit(code)


@app.command()
def retune() -> None:
    """Check whether the settings in force are still the best, and tune again where they are not."""
    from kafka_pareto_embedded.runs.rollout import StudyRequest, retune_now  # noqa: PLC0415

    with clear_errors():
        code = retune_now(options_of_make(StudyRequest, "retune"), lifecycle.running())
    raise typer.Exit(code)


@app.command()
def in_force() -> None:
    """Show the settings in force for a study, and copy its files to a folder if one is given."""
    from kafka_pareto_embedded.runs.rollout import InForceRequest, show_in_force  # noqa: PLC0415

    with clear_errors():
        show_in_force(options_of_make(InForceRequest, "in-force"), lifecycle.running())


@app.command()
def ingest() -> None:
    """Send a CSV file to a topic; resume where an earlier run stopped."""
    from kafka_pareto_embedded.runs.ingest import IngestRequest  # noqa: PLC0415
    from kafka_pareto_embedded.runs.ingest import ingest as ingest_file  # noqa: PLC0415

    with clear_errors():
        ingest_file(options_of_make(IngestRequest, "ingest"), load_settings())


@app.command()
def remove_topics() -> None:
    """Delete topics that campaigns have left on a cluster, while nothing loads it."""
    from kafka_pareto_embedded.runs.remove_topics import RemoveTopicsRequest  # noqa: PLC0415
    from kafka_pareto_embedded.runs.remove_topics import remove_topics as remove  # noqa: PLC0415

    with clear_errors():
        remove(options_of_make(RemoveTopicsRequest, "remove-topics"), load_settings())


@app.command()
def doctor() -> None:
    """Check a cluster, its machine and its clients against a published guide; set nothing."""
    from kafka_pareto.doctor.examine import DoctorRequest  # noqa: PLC0415
    from kafka_pareto_embedded.runs.checks import print_report  # noqa: PLC0415

    with clear_errors():
        print_report(options_of_make(DoctorRequest, "doctor"), load_settings())


@app.command()
def sizing() -> None:
    """Show what a load needs of a cluster."""
    from kafka_pareto_embedded.runs.checks import SizingOptions, print_sizing  # noqa: PLC0415

    with clear_errors():
        print_sizing(options_of_make(SizingOptions, "sizing"))


@app.command()
def result(
    study: Annotated[str, typer.Option(help="the study's name")],
    campaign: Annotated[str | None, typer.Option(help="the campaign's id; the latest one that has ended")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="outcome, verdicts and settings as JSON")] = False,
    as_junit: Annotated[bool, typer.Option("--junit", help="a test for each record size, as JUnit XML")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="ends with 0 if a change is recommended, 10 if not, 11 if undecided")
    ] = False,
) -> None:
    """Print what a finished campaign came to: its cards, or a form for scripts."""
    from kafka_pareto_embedded.runs.result import print_result  # noqa: PLC0415

    with clear_errors():
        if as_json and as_junit:
            raise BadInputError("--json, --junit: give one of the two")
        form: Literal["cards", "json", "junit"] = "json" if as_json else "junit" if as_junit else "cards"
        code = print_result(lifecycle.running(), study, campaign, form)
    raise typer.Exit(code if exit_code else 0)


def _say(line: str) -> None:
    print(line, flush=True)


def _print_addresses(stack: Stack) -> None:
    _say(f"Airflow  {stack.airflow_url}")
    _say(f"MLflow   {stack.mlflow_url}")
    _say(f"MinIO    {stack.s3_url}")
    _say(f"Kafka    {stack.bootstrap_servers}")
    _say(f"Logs     {stack.logs}")
    _say(f"Logins   {stack.logins}")


def _status_table(stack: Stack, processes: list[ProcessState]) -> Table:
    ports = {"minio": stack.ports.minio, "mlflow": stack.ports.mlflow, "airflow-api-server": stack.ports.airflow}
    ports |= {f"kafka-{number}": port for number, port in enumerate(stack.ports.kafka, start=1)}
    table = Table("program", "state", "pid", "address", "since", box=None, pad_edge=False)
    for process in sorted(processes, key=lambda process: process.name):
        port = ports.get(process.name)
        table.add_row(
            process.name,
            process.state.lower(),
            str(process.pid or ""),
            f"{LOOPBACK}:{port}" if port else "",
            f"{process.since:%Y-%m-%d %H:%M:%S}" if process.since else "",
        )
    return table


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
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
