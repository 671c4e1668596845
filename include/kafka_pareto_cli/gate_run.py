"""Check new settings beside those in use, in this process."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.keys import GateKeys
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.gate.gate_study import gate_study
from kafka_pareto.gate.result import GateResult
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.user_settings import nothing_used, read_client_path
from kafka_pareto.rollout.versions import active_settings
from kafka_pareto.settings import Settings
from kafka_pareto.steps import gate
from kafka_pareto.steps.begin import asked_for
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.requests import GateRequest
from kafka_pareto.study.study_file import load_named_study, read_corpus
from kafka_pareto.study.tune import Tune, tune_study
from kafka_pareto_cli.local_run import step_messages
from kafka_pareto_embedded.runs.request import timestamp


def run_gate(request: GateRequest, settings: Settings, console: Console) -> GateResult:
    """Measure reference and candidate until the study's conditions are decided; print the progress.

    Raises:
        BadInputError: If a file, an option or the study cannot be used.
        KafkaParetoError: If the measurement fails; what was measured is kept.
    """
    study = tune_study(asked_for(load_named_study(settings.studies, request.study), request.design_options(), settings))
    client = study.baseline_client
    if client is None:
        raise BadInputError(
            f"STUDY: {study.name}: its driver, {study.driver}, has no settings files to check; use a study of producers"
        )

    def read(option: str, path: Path) -> dict[str, PropertyValue]:
        found = read_client_path(path, client, f"--{option}: {path}")
        if not found.used:
            raise BadInputError(f"--{option}: {path}: {nothing_used(client, found)}")
        lines = "\n  ".join([f"{option.capitalize()} {path}:", *found.report_lines()])
        console.print(lines, highlight=False, markup=False, soft_wrap=True)
        return found.used

    store = open_store(settings)
    if request.reference is None:
        reference, its_place = _active(study, store)
    else:
        reference, its_place = read("reference", request.reference), str(request.reference)
    compared = gate_study(study, reference, read("candidate", request.candidate))
    corpus = read_corpus(study, settings.studies, f"{settings.studies / study.name}.yaml")
    gate_id = check_campaign_id(request.resume or timestamp())
    keys = GateKeys(study.name, gate_id)
    if request.resume is not None and store.tag(keys.frozen_study()) is None:
        raise BadInputError(
            f"--resume: {gate_id}: {settings.store_folder} has no such gate of {study.name}; give the study, the ID "
            "and the store (--store) that the gate printed"
        )
    console.print(
        f"Gate {gate_id} of study {study.name}, stored in {settings.store_folder}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    try:
        with step_messages(console):
            return gate.run(
                compared, gate_id, settings, reference=its_place, candidate=str(request.candidate), corpus=corpus
            )
    except (KafkaParetoError, KeyboardInterrupt, SystemExit) as error:
        if not isinstance(error, BadInputError) and store.tag(keys.frozen_study()) is not None:
            console.print(
                f"All measurements are kept. To resume: the same command with --resume {gate_id}",
                highlight=False,
                soft_wrap=True,
            )
        raise


def _active(study: Tune, store: Store) -> tuple[dict[str, PropertyValue], str]:
    """Return the study's active settings, and their version in words."""
    found = {case: active_settings(store, study.name, case) for case in study.cases}
    versions = [each for each in found.values() if each is not None]
    if missing := [case_label(case) for case, each in found.items() if each is None]:
        raise BadInputError(
            f"--reference: is missing, and study {study.name} has no active settings for {missing[0]} in this store; "
            "name the file with the settings in use"
        )
    if any(each.properties != versions[0].properties for each in versions):
        raise BadInputError(
            "--reference: is missing, and the record sizes have different active settings; check one size at a time "
            "with --record-sizes, or name a file"
        )
    numbers = ", ".join(sorted({str(each.version) for each in versions}))
    return versions[0].properties, f"active settings of study {study.name}, version {numbers}"
