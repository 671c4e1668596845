"""Command line of the embedded stack; `make` is its front door."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.settings import load_settings
from kafka_pareto_embedded import lifecycle
from kafka_pareto_embedded.ports import LOOPBACK
from kafka_pareto_embedded.stack import Stack
from kafka_pareto_embedded.supervision import ProcessState

app = typer.Typer(
    help="The embedded stack and the main job on it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _option(name: str, text: str) -> typer.models.OptionInfo:
    variable = "KAFKA_PARETO_RUN_" + name.removeprefix("--").replace("-", "_").upper()
    option: typer.models.OptionInfo = typer.Option(name, envvar=variable, help=text, show_envvar=False)
    return option


@app.command()
def up() -> None:
    """Starts the stack and waits until it is ready."""
    with _clear_errors():
        _print_addresses(lifecycle.up(_say))


@app.command()
def down() -> None:
    """Stops the stack; its data stays."""
    with _clear_errors():
        lifecycle.down(_say)


@app.command()
def status() -> None:
    """Says what runs where."""
    with _clear_errors():
        stack, processes = lifecycle.status()
    if stack is None or not processes:
        print("The stack is down.")
        return
    Console().print(_status_table(stack, processes))


@app.command()
def clean() -> None:
    """Stops the stack and removes all of its state."""
    with _clear_errors():
        lifecycle.clean(_say)


@app.command()
def run(
    study: Annotated[str, _option("--study", "name of the study")] = "quick",
    campaign: Annotated[str | None, _option("--campaign", "an interrupted campaign to go on with")] = None,
    record_sizes: Annotated[str | None, _option("--record-sizes", "only these, in bytes, as in 1024,8192")] = None,
    seed: Annotated[int | None, _option("--seed", "instead of the study's")] = None,
    repetitions: Annotated[int | None, _option("--repetitions", "instead of the study's")] = None,
    warm_start: Annotated[str | None, _option("--warm-start", "latest, or ids of campaigns to learn from")] = None,
    kafka: Annotated[str | None, _option("--kafka", "an existing cluster, as host:port,…")] = None,
    kafka_config: Annotated[Path | None, _option("--kafka-config", "its client.properties")] = None,
    ceiling_mib_s: Annotated[float | None, _option("--ceiling-mib-s", "most load on it, in MiB/s")] = None,
    ceiling_gib: Annotated[float | None, _option("--ceiling-gib", "most data written to it, in GiB")] = None,
    consent: Annotated[bool, _option("--consent", "yes: load it as planned")] = False,
) -> None:
    """Brings the stack up, then tunes: triggers the DAG, follows it, and prints the decision cards."""
    # Imported here: the other commands start faster without.
    from kafka_pareto.study_file import load_named_study  # noqa: PLC0415
    from kafka_pareto_embedded.run import run as run_campaign  # noqa: PLC0415

    with _clear_errors():
        if campaign is None:
            load_named_study(load_settings().studies, study)  # a mistake in it is said before anything starts
        stack = lifecycle.up(_say)
        code = run_campaign(
            stack,
            study=study,
            campaign=campaign,
            record_sizes=record_sizes,
            seed=seed,
            repetitions=repetitions,
            warm_start=warm_start,
            kafka=kafka,
            kafka_config=kafka_config,
            ceiling_mib_s=ceiling_mib_s,
            ceiling_gib=ceiling_gib,
            consent=consent,
        )
    raise typer.Exit(code)


def _say(line: str) -> None:
    print(line, flush=True)


def _print_addresses(stack: Stack) -> None:
    _say(f"Airflow  {stack.airflow_url}")
    _say(f"MLflow   {stack.mlflow_url}")
    _say(f"MinIO    {stack.s3_url}")
    _say(f"Kafka    {stack.bootstrap_servers}")


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


@contextmanager
def _clear_errors() -> Iterator[None]:
    """TERM ends a command in order, as Ctrl-C does; a user's trouble is one message, not a traceback."""
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
