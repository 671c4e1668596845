"""Store a cluster's login, or a file that it names, for the steps.

docker compose run --rm --no-TTY client-config NAME < FILE       stores standard input under this name
docker compose run --rm client-config --delete NAME              deletes it
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.storage.private_file import private_file

# As the study's `client_config`, but no option and no hidden file.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def store(file: Path, content: bytes) -> None:
    """Write the file, readable only by the steps' user; one that ends in `.properties` must be valid.

    Raises:
        BadInputError: If the content is invalid.
    """
    if not content:
        raise BadInputError(f"{file.name}: standard input is empty")
    if file.suffix == ".properties":
        try:
            parse_properties(content.decode("utf-8-sig"))
        except ValueError as error:
            raise BadInputError(f"{file.name}: standard input is not a client.properties: {error}") from error
    with private_file(file) as written:
        written.write(content)


def delete(file: Path) -> None:
    """Delete the file.

    Raises:
        BadInputError: If there is none.
    """
    try:
        file.unlink()
    except FileNotFoundError as error:
        stored = ", ".join(sorted(each.name for each in file.parent.iterdir())) or "nothing"
        raise BadInputError(f"{file.name}: is not stored; stored: {stored}") from error


def _file(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadInputError(f"{name!r}: must be a file's name of letters, digits, '.', '-' or '_'")
    return folder / name


def main(arguments: list[str]) -> str:
    """Run the command; return the message to print.

    Raises:
        BadInputError: If the arguments or the file are invalid, or the folder cannot be used.
    """
    folder = Path(os.environ["KAFKA_PARETO_CLIENT_CONFIGS"])
    try:
        match arguments:
            case ["--delete", name]:
                delete(_file(folder, name))
                return f"{name} deleted."
            case [name]:
                store(_file(folder, name), sys.stdin.buffer.read())
                return f"{name} stored. Name it in a study: cluster: {{client_config: {name}, …}}."
    except OSError as error:
        raise BadInputError(f"{folder}: cannot be used: {error.strerror}") from error
    raise BadInputError("usage: client-config NAME < FILE, or client-config --delete NAME")


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except BadInputError as refusal:
        sys.exit(f"error: {refusal}")
