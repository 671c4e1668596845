"""End a command: its reply as text or JSON, its errors as messages, and its exit code."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_SOFTWARE, EXIT_USAGE
from kafka_pareto_embedded.terminal.as_typed import as_typed
from kafka_pareto_embedded.terminal.reply import Reply

_INTERRUPTED, _TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_AsOneObject = Annotated[bool, typer.Option("--json", help="Print one JSON object, other output to stderr.")]


class WithOwnExitCodes(TyperCommand):
    """A command whose exit codes 1 and 2 have their own meanings: usage errors exit with 65, internal ones with 70."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if hasattr(error, "exit_code"):  # Typer's own: the end of the command, or a mistake of the user
                raise
            traceback.print_exc()
            raise SystemExit(EXIT_SOFTWARE) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # Typer does not export the class of its usage errors
            if getattr(error, "exit_code", None) == EXIT_USAGE:
                cast(Any, error).exit_code = EXIT_BAD_INPUT
            raise


def replying(main: Callable[..., Reply]) -> Callable[..., None]:
    """Add `--json` to a command: print its reply to stdout and its other output to stderr."""

    def command(*, as_json: bool = False, **given: Any) -> None:
        with clear_errors(as_json):
            with redirect_stdout(sys.stderr) if as_json else nullcontext():
                reply = main(**given)
            if as_json:
                code = {"exit_code": reply.exit_code} if reply.exit_code else {}
                print(json.dumps({**reply.fields, **code}, indent=2))
            raise typer.Exit(reply.exit_code)

    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_AsOneObject)
    parameters = inspect.signature(main, eval_str=True).parameters.values()
    of_main = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    cast(Any, command).__signature__ = inspect.Signature([*of_main, option])
    command.__name__, command.__doc__ = main.__name__, main.__doc__
    return command


@contextmanager
def clear_errors(as_json: bool = False) -> Iterator[None]:
    """Print a user's mistake or a machine's fault as one message, without a traceback; let TERM end like Ctrl-C.

    The message goes to stderr; `as_json` also prints an object with `error` and `exit_code` to stdout.
    """
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))

    def end(message: str, code: int) -> SystemExit:
        if as_json:
            print(json.dumps({"error": message, "exit_code": code}, indent=2))
        return SystemExit(code)

    try:
        with _faults_as_errors():
            yield
    except KafkaParetoError as error:
        message = as_typed(str(error))
        for line in message.splitlines():
            print(f"error: {line}", file=sys.stderr)
        raise end(message, error.exit_code) from None
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise end("interrupted", _INTERRUPTED) from None
    except SystemExit as ended:
        if ended.code == _TERMINATED:
            raise end("terminated", _TERMINATED) from None
        raise


@contextmanager
def _faults_as_errors() -> Iterator[None]:
    """Convert an OSError, such as of a full disk, to an error that names its file."""
    try:
        yield
    except BrokenPipeError:  # the reader of stdout has ended; Typer handles it
        raise
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or repr(error)
        raise KafkaParetoError(message) from error
