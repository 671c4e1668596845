"""Runs the step `roll_back`: puts the settings before the newest version in force again."""

from __future__ import annotations

from typing import Annotated

import typer

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.messages import plain
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.store import open_store
from tasks.common import ClusterIfAny, ManifestOption, StudyOption, run_command, run_step

CaseIfAny = Annotated[str | None, typer.Option("--case", help="whose settings go back")]
ByOption = Annotated[str, typer.Option("--by", help="who wants it")]
ReasonOption = Annotated[str, typer.Option("--reason", help="why, in their words")]
RequestOption = Annotated[str, typer.Option("--request", help="the same request goes back only once")]
FromVersionIfAny = Annotated[int | None, typer.Option("--from-version", min=0, help="in force before; 0: none yet")]


def main(
    study: StudyOption,
    case: CaseIfAny = None,
    by: ByOption = "",
    reason: ReasonOption = "",
    request: RequestOption = "",
    from_version: FromVersionIfAny = None,
    cluster: ClusterIfAny = None,
    manifest: ManifestOption = None,
) -> None:
    """Goes back to the version before, or from the first one to the baseline."""

    def step() -> Manifest:
        if case is None:
            raise BadInputError("--case: is missing: settings go back case by case; say which")
        return roll_back.run(
            open_store(load_settings()),
            study,
            case,
            by=plain(by),
            reason=plain(reason),
            request=plain(request),
            from_version=from_version,
            cluster=cluster,
        )

    run_step(step, manifest)


if __name__ == "__main__":
    run_command(main)
