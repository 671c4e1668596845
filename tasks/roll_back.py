"""Run the step `roll_back`: reactivate the settings that the newest version replaced."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.options import Move
from tasks.common import StudyOption, run_command


class MoveBack(Move):
    """The options of a rollback, which concerns one case."""

    case: str


def main(study: StudyOption, options: MoveBack) -> Manifest:
    """Roll back to the previous version, or from the first one to the baseline."""
    return roll_back.run(study=study, **options.model_dump(), store=open_store(load_settings()))


if __name__ == "__main__":
    run_command(main)
