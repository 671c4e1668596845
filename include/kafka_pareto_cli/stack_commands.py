"""The commands on the embedded stack. Each imports the libraries it needs, to start immediately."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from kafka_pareto.study.requests import BackupRequest
from kafka_pareto_cli.help_text import ends
from kafka_pareto_cli.options import command_options
from kafka_pareto_cli.replies import AsJson, clear_errors, replying
from kafka_pareto_cli.starting import require_checkout, running_stack, say
from kafka_pareto_embedded.terminal.reply import Reply

commands = typer.Typer()
_PANEL = "The embedded stack"


@commands.command(epilog=ends("up"), rich_help_panel=_PANEL)
@replying
def up() -> Reply:
    """Start the stack and wait until it is ready."""
    from kafka_pareto_cli.stack_texts import addresses  # noqa: PLC0415
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

    require_checkout()
    found = addresses(lifecycle.up(say))
    for name, address in found.items():
        say(f"{name:<8} {address}")
    return Reply({name.lower(): address for name, address in found.items()})


@commands.command(epilog=ends("down"), rich_help_panel=_PANEL)
@replying
def down() -> Reply:
    """Stop the stack and keep its data."""
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

    return Reply({"stopped": lifecycle.down(say)})


@commands.command(epilog=ends("status", "status --json"), rich_help_panel=_PANEL)
def status(as_json: AsJson = False) -> None:
    """Show the stack's programs and addresses."""
    with clear_errors(as_json):
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


@commands.command(epilog=ends("backup stack.tar.gz"), rich_help_panel=_PANEL)
@command_options(BackupRequest, "backup", "file")
@replying
def backup(options: Callable[[], BackupRequest]) -> Reply:
    """Write a stopped stack's results, databases and secrets to a file."""
    request = options()
    from kafka_pareto_embedded.lifecycle.backup import back_up  # noqa: PLC0415

    return Reply({"file": str(request.file), "bytes": back_up(request.file, say)})


@commands.command(epilog=ends("restore stack.tar.gz"), rich_help_panel=_PANEL)
@command_options(BackupRequest, "restore", "file")
@replying
def restore(options: Callable[[], BackupRequest]) -> Reply:
    """Restore a stack from a backup. The state folder must not contain a stack yet."""
    request = options()
    from kafka_pareto_embedded.lifecycle.backup import restore as restore_stack  # noqa: PLC0415

    require_checkout()
    return Reply({"restored": str(restore_stack(request.file, say))})


@commands.command("import", epilog=ends("import kafka-pareto-store"), rich_help_panel=_PANEL)
@replying
def import_folder(
    folder: Annotated[
        Path, typer.Argument(help="The folder of results, such as kafka-pareto-store.", show_default=False)
    ],
) -> Reply:
    """Copy campaigns of --local runs to the running stack, to view them in its explorer."""
    from kafka_pareto_cli.importing import import_campaigns  # noqa: PLC0415

    stack = running_stack()
    imported, explorer = import_campaigns(folder, stack.settings()), f"{stack.airflow_url}/kafka-pareto/"
    for name in imported:
        say(f"imported {name}")
    say(f"Explorer  {explorer}")
    return Reply({"imported": imported, "explorer": explorer})


@commands.command(epilog=ends("clean"), rich_help_panel=_PANEL)
@replying
def clean() -> Reply:
    """Stop the stack and delete its state folder without asking: results, databases and passwords."""
    from kafka_pareto_embedded.lifecycle import lifecycle  # noqa: PLC0415

    removed = lifecycle.clean(say)
    return Reply({"removed": None if removed is None else str(removed)})
