"""Format settings as client files, as declared by the driver; `versions` stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.declarations import drivers


def client_files(driver: str) -> tuple[str, ...]:
    """List the names of the files that clients of a driver read."""
    return tuple(each.name for each in drivers()[driver].client_files)


def settings_file(settings: Mapping[str, PropertyValue], name: str, header: Sequence[str], driver: str) -> str:
    """Return the text of one of `client_files`: the header as comments, then the result of `Tune.properties`.

    Raises:
        BadInputError: If the driver has no such file.
    """
    text = {each.name: each.text for each in drivers()[driver].client_files}
    if name not in text:
        raise BadInputError(f"{name}: driver {driver} has no such file; it has {', '.join(text)}")
    return "".join(f"# {' '.join(line.split())}\n" for line in header) + text[name](settings)
