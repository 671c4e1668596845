"""Build the explorer's downloads: one configuration's settings, and all trials."""

from __future__ import annotations

from typing import Any

import pandas as pd

from kafka_pareto.errors import BadInputError
from kafka_pareto.explorer.requirements import standing
from kafka_pareto.explorer.snapshot import Snapshot
from kafka_pareto.rollout.client_files import settings_file
from kafka_pareto.study.cases import case_label


def settings_text(snapshot: Snapshot, configuration_id: str, name: str) -> str:
    """Return one of the client files; a header states the evidence for the configuration.

    The recommended `producer.properties` is the report's own file, unchanged.

    Raises:
        BadInputError: If the configuration was not measured for this case, or clients do not read such a file.
    """
    decision, keys, declaration = snapshot.decision, snapshot.campaign.keys, snapshot.study.declaration
    report = keys.report(f"{snapshot.case}/{declaration.settings_file}")
    recommended = decision is not None and configuration_id == decision.recommended_configuration_id
    if name == declaration.settings_file and recommended and report in snapshot.written:
        return snapshot.campaign.store.get(report).decode()
    row = _measured_row(snapshot, configuration_id)
    properties = snapshot.study.properties({factor: row[factor] for factor in snapshot.study.factors})
    promise = f", {row['durability']}" if declaration.states_durability else ""
    header = [
        f"{declaration.settings_word.capitalize()} for {case_label(snapshot.case)}.",
        f"Study {keys.study}, campaign {keys.campaign}, configuration {configuration_id}{promise}.",
        standing(snapshot, configuration_id),
    ]
    return settings_file(properties, name, header, declaration.name)


def trials_csv(snapshot: Snapshot) -> str:
    """Return all trials of the case (design, rounds, choice blocks) as CSV."""
    tables = {"design": snapshot.trials, "choice": snapshot.confirmed}
    frames = [frame.assign(phase=phase) for phase, frame in tables.items() if len(frame)]
    if not frames:
        return "phase,case,configuration_id\n"
    joined = pd.concat(frames, ignore_index=True)
    joined["repetition_ids"] = joined.repetition_ids.map(" ".join)
    text: str = joined[["phase", *(name for name in joined.columns if name != "phase")]].to_csv(index=False)
    return text


def _measured_row(snapshot: Snapshot, configuration_id: str) -> dict[str, Any]:
    for table in (snapshot.confirmed, snapshot.trials):
        rows = table[(table.configuration_id == configuration_id) & (table.repetitions_valid > 0)]
        if len(rows):
            return {str(name): value for name, value in rows.to_dict("records")[0].items()}
    raise BadInputError(f"{configuration_id} was not measured for {case_label(snapshot.case)}")
