"""Load a study for a run; a tuning study must be able to recommend a change."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.analysis.gains import level_of
from kafka_pareto.analysis.sequential import fewest_blocks
from kafka_pareto.errors import StudyError
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_named_study
from kafka_pareto.study.tune import Tune


def load_runnable_study(folder: Path, name: str) -> Study:
    """Read `<folder>/<name>.yaml` to start or resume; not a rule of the model, since older campaigns must still open.

    Raises:
        StudyError: Like `load_named_study`, and if the gain blocks are too few for any recommendation.
    """
    study = load_named_study(folder, name)
    if isinstance(study, Tune) and (rule := _broken_rule(study)):
        blocks = study.confirmation.gain_blocks
        raise StudyError(str(folder / f"{name}.yaml"), [f"confirmation.gain_blocks: {blocks}: {rule}"])
    return study


def _broken_rule(study: Tune) -> str:
    confirmation = study.confirmation
    if not confirmation.can_claim:
        fewest = confirmation.minimum_blocks
        return f"must be at least minimum_blocks, {fewest}; fewer blocks never lead to a recommendation"
    fewest = min(fewest_blocks(level_of(mean, study)) for mean in study.means)
    if confirmation.gain_blocks >= fewest:
        return ""
    compared = f"{len(study.objective_names)} objectives at {study.declaration.cases_text(len(study.cases))}"
    return f"must be at least {fewest} to compare {compared}; fewer give no interval and never lead to a recommendation"
