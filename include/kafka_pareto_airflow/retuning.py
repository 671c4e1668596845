"""Prepare the DAGs of the checks: the scheduled studies and the steps' arguments."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import yaml
from airflow.sdk import Context
from airflow.sdk.exceptions import DownstreamTasksSkipped

from kafka_pareto.study.identifiers import retune_dag_of
from kafka_pareto.study.retune import Retune
from kafka_pareto_airflow.forms import study_files

log = logging.getLogger(__name__)

# Asset events name the study in their extras. A run checks one study, so the step rejects several or none.
_STUDY = (
    "{{% if triggering_asset_events %}}{{% set names = [] %}}"
    "{{% for events in triggering_asset_events.values() %}}{{% for event in events %}}"
    "{{% if {is_served} and event.extra.study not in names %}}"
    "{{{{ names.append(event.extra.study) or '' }}}}{{% endif %}}"
    "{{% endfor %}}{{% endfor %}}{{{{ names | join(',') }}}}{{% else %}}{{{{ params.study }}}}{{% endif %}}"
)
_KEY = r"[\w.-]+"  # Airflow's rule for DAG IDs, which contain the study's name


@dataclass(frozen=True)
class CheckedStudies:
    """The studies that a DAG checks on asset events; every event reaches all checking DAGs.

    Attributes:
        only: The one study of a dedicated DAG; empty for the common DAG.
        elsewhere: For the common DAG, the studies whose cluster has a dedicated DAG.
    """

    only: str = ""
    elsewhere: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the arguments of all steps. A check is named after its run, so that a cleared task finds it again."""
        asked = "event.extra.study"
        is_served = f"{asked} == {self.only!r}" if self.only else f"{asked} not in {list(self.elsewhere)!r}"
        study = _STUDY.format(is_served=is_served)
        return [f"--study={study}", "--campaign={{ dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}"]

    def leave_others(self, context: Context) -> None:
        """End a run before its first step if its events name no study of this DAG.

        Raises:
            DownstreamTasksSkipped: To end it.
        """
        events = [event for each in (context["triggering_asset_events"] or {}).values() for event in each]
        asked = dict.fromkeys(event.extra.get("study") for event in events)
        if not asked or any(self._serves(study) for study in asked):
            return
        log.info(
            "%s: not checked by this DAG: studies with a named cluster are checked by %s, all others by %s",
            ", ".join(map(str, asked)),
            retune_dag_of("<study>"),
            retune_dag_of(""),
        )
        raise DownstreamTasksSkipped(
            tasks=[task.task_id for task in context["task"].get_flat_relatives(upstream=False)]
        )

    def _serves(self, study: str) -> bool:
        return study == self.only if self.only else study not in self.elsewhere


def studies_with_checks_of_their_own(apart: Collection[str]) -> dict[str, Retune]:
    """Return, by name, the studies with a check schedule and those with a named cluster."""
    named = [file for file in study_files() if re.fullmatch(_KEY, file.stem)]
    sections = {file.stem: _retune_section(file) for file in named}
    return {
        name: section
        for name, section in sections.items()
        if section is not None and (section.schedule is not None or name in apart)
    }


def _retune_section(file: Path) -> Retune | None:
    """Return the study's section on checks; None if unreadable, which other uses of the study report."""
    try:
        return Retune.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")).get("retune", {}))
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        log.warning("%s: has no schedule, because it cannot be read: %s", file, error)
        return None
