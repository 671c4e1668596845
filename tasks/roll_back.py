"""Run the step `roll_back`: put the settings before the newest version in force again."""

from __future__ import annotations

from collections.abc import Callable

from kafka_pareto.settings import load_settings
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.options import Move
from tasks.common import ManifestOption, StudyOption, run_command, run_step, with_options


class MoveBack(Move):
    """Settings go back case by case."""

    case: str


@with_options(MoveBack)
def main(study: StudyOption, options: Callable[[], MoveBack], manifest: ManifestOption = None) -> None:
    """Goes back to the version before, or from the first one to the baseline."""
    run_step(lambda: roll_back.run(study=study, **options().model_dump(), store=open_store(load_settings())), manifest)


if __name__ == "__main__":
    run_command(main)
