"""List the studies of a folder."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.study_file import load_named_study


class ListedStudy(Frozen):
    """A study as `kafka-pareto studies` lists it."""

    name: str
    kind: str
    driver: str
    cases: list[str]


def list_studies(folder: Path) -> tuple[list[ListedStudy], list[str]]:
    """List the studies of the folder, tuning studies first, and the errors of invalid files.

    Raises:
        BadInputError: If the folder has no study.
    """
    loaded, problems = [], []
    for file in sorted(folder.glob("*.yaml")):
        try:
            loaded.append(load_named_study(folder, file.stem))
        except BadInputError as error:
            problems.append(str(error))
    if not loaded and not problems:
        raise BadInputError(f"KAFKA_PARETO_STUDIES={folder}: contains no study (name.yaml)")
    found = [
        ListedStudy(
            name=study.name,
            kind=study.kind,
            driver=study.declaration.name,
            cases=study.cases,
        )
        for study in loaded
    ]
    return sorted(found, key=lambda study: (study.kind == "compare", study.driver, study.name)), problems


def print_studies(found: list[ListedStudy]) -> None:
    """Print one study per row."""
    table = Table("study", "kind", "driver", "record sizes or parts", box=None, pad_edge=False)
    for study in found:
        table.add_row(study.name, study.kind, study.driver.replace("_", " "), ", ".join(map(case_label, study.cases)))
    Console().print(table)
