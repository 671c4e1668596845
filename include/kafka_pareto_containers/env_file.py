"""Write `.env` for docker-compose.yaml: the lines of `.env.example`, with new random secrets.

Uses the standard library only, since it runs before anything is installed. Existing lines are kept.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from kafka_pareto.storage.private_file import write_private

PROJECT = Path(__file__).resolve().parent.parent.parent

# Like Compose's parser, which takes the last of several lines with one name.
_LINE = re.compile(r"\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*[=:]\s*(.*)")
_GENERATED = {
    "<generated>": lambda: secrets.token_hex(32),
    "<generated:fernet>": lambda: base64.urlsafe_b64encode(os.urandom(32)).decode(),
}
_GROUP_OF = re.compile(r"<group of ([A-Z_]+)>")
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")


class EnvFileError(Exception):
    """`.env` cannot be written; the message names the variable, its value and the fix."""


def completed(example: str, existing: str, environment: Mapping[str, str]) -> str:
    """Return the text of `.env`: the existing lines, then the missing ones of the example.

    A value that this function determines, such as a secret, is also missing if it is empty.

    Args:
        example: The text of `.env.example`.
        existing: The text of `.env`; empty if there is none.
        environment: Its variables replace the example's values, except secrets.

    Raises:
        EnvFileError: If a value cannot be determined.
    """
    known = pairs(existing)
    lines: list[str] = []
    for line in example.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            if not existing:
                lines.append(line)
        elif found[1] not in known or (found[2].startswith("<") and not known[found[1]]):
            known[found[1]] = _value(found[1], found[2], known, environment)
            lines.append(f"{found[1]}={_as_compose_reads_it(found[1], known[found[1]])}")
    if not existing:
        return "\n".join([*lines, ""])
    if not lines:
        return existing
    return "\n".join([existing.removesuffix("\n"), "# Added by make env:", *lines, ""])


def generated(example: str) -> list[str]:
    """Return the names of the variables of `.env.example` that get random values."""
    return [name for name, value in pairs(example).items() if value in _GENERATED]


def _value(name: str, template: str, known: Mapping[str, str], environment: Mapping[str, str]) -> str:
    if template in _GENERATED:
        return _GENERATED[template]()
    if environment.get(name):
        return environment[name]
    group = _GROUP_OF.fullmatch(template)
    return str(_group_of(group[1], known[group[1]])) if group else template


def _as_compose_reads_it(name: str, value: str) -> str:
    """Return the value, in single quotes if Compose would expand a `$` in it or cut it at a `#`."""
    if _PLAIN.fullmatch(value):
        return value
    if unfit := next((each for each in "'\\\n\r" if each in value), ""):
        raise EnvFileError(f"{name}={value!r}: .env cannot contain {unfit!r}; choose another value")
    return f"'{value}'"


def _group_of(name: str, socket: str) -> int:
    try:
        found = Path(socket).stat()
    except OSError as error:
        raise EnvFileError(f"{name}={socket}: {error.strerror}; start Docker, or set its socket: {name}=…") from error
    if not stat.S_ISSOCK(found.st_mode):
        raise EnvFileError(f"{name}={socket}: is not a socket; set Docker's: {name}=…")
    return found.st_gid


def pairs(text: str) -> dict[str, str]:
    """Return the variables of a text in the form of `.env`, without quotes."""
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {match[1]: re.sub(r"""^(['"])(.*)\1$""", r"\2", match[2].rstrip()) for match in found if match}


def main(folder: Path = PROJECT) -> int:
    """Write or complete the project's `.env`, report the change, and return the exit code."""
    path = folder / ".env"
    try:
        existing = path.read_text(encoding="utf-8") if path.exists() else ""
        text = completed((folder / ".env.example").read_text(encoding="utf-8"), existing, os.environ)
        added = len(pairs(text).items() - pairs(existing).items())
        if added or path.stat().st_mode & 0o077:
            write_private(path, text)
    except EnvFileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or path}: {error.strerror}", file=sys.stderr)
        return 1
    written = f"{added} line{'' if added == 1 else 's'} written" if added else "already complete"
    print(f"{path}: {written} (mode 600).")
    print("Airflow's logins are viewer, operator and admin; their passwords are in it (AIRFLOW_…_PASSWORD).")
    print("MLflow's login is admin; its password is in it (MLFLOW_ADMIN_PASSWORD).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
