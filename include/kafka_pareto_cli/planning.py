"""Compute and show a campaign's cost, without a stack and without a cluster."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kafka_pareto.analysis.runnable_study import load_runnable_study
from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Plan
from kafka_pareto.kafka.client_properties import read_client_config
from kafka_pareto.kafka.properties_file import parse_properties, property_text
from kafka_pareto.measurement.cost import gib_text, plan_of
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.measurement.own_topics import PREFIX
from kafka_pareto.settings import Settings
from kafka_pareto.steps.begin import asked_for
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.options import require_of_kind
from kafka_pareto.study.overrides import overrides_of, without_impossible
from kafka_pareto.study.requests import CLIENT_CONFIG, RunRequest
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import settings_file_of
from kafka_pareto.study.topic_study import TopicStudy
from kafka_pareto.study.tune import tune_study
from kafka_pareto_embedded.bootstrap.preflight import find_java

_SHOWN_OF_A_LOGIN = ("security.protocol", "sasl.mechanism")


class PlannedCampaign(Frozen):
    """A campaign before it starts.

    Attributes:
        study: The study's name.
        kind: The study's kind.
        driver: The study's driver.
        cases: The study's cases: record sizes, parts, and so on.
        cluster: The cluster with the ceilings, as text.
        needs_consent: Whether the cluster was not started by the stack.
        needs_stack: Whether it is the stack's cluster.
        login: The settings read from the client configuration; empty without one.
        baseline: The baseline and the settings read from its file, line by line.
        topics: The topics that are created, as text.
        plan: The campaign's maximum cost.
    """

    study: str
    kind: str
    driver: str
    cases: list[str]
    cluster: str
    needs_consent: bool
    needs_stack: bool
    login: str
    baseline: list[str]
    topics: str
    plan: Plan


def plan_campaign(request: RunRequest, settings: Settings) -> PlannedCampaign:
    """Plan the requested campaign.

    Raises:
        StudyError: If the study's file cannot be used.
        BadInputError: If an option or a file cannot be used.
    """
    file = load_runnable_study(settings.studies, request.study)
    require_of_kind(request.model_dump(exclude_defaults=True), file.kind, file.name)
    study = asked_for(file, request.design_options(file.client_of_file), settings)
    overrides = overrides_of(file, study)
    if isinstance(study, Compare):
        study, left_out = without_impossible(study, partial(runtime_of(study).fault_here, study, settings))
        overrides += left_out
    plan = plan_of(study, runtime_of(study))
    return PlannedCampaign(
        study=study.name,
        kind=study.kind,
        driver=study.declaration.name,
        cases=study.cases,
        cluster=_cluster(study),
        needs_stack=isinstance(study, TopicStudy) and study.own_brokers is None and study.cluster is None,
        needs_consent=study.cluster is not None and not study.cluster.consent,
        login=_login(request),
        baseline=_baseline(request, study, settings),
        topics=_topics(study),
        plan=plan.model_copy(update={"overrides": overrides}),
    )


def look_at_cluster(request: RunRequest, settings: Settings, plan: Plan) -> list[str]:
    """Check that the plan fits the cluster's disks, and return the safeguards for which this user lacks rights.

    Raises:
        BadInputError: If the plan does not fit, or the client configuration cannot be used.
        ClusterError: If the cluster cannot be reached.
    """
    file = load_runnable_study(settings.studies, request.study)
    study = asked_for(file, request.design_options(file.client_of_file), settings)
    driver, said = runtime_of(study), _Said()
    logger = logging.getLogger("kafka_pareto")
    logger.addHandler(said)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,  # nothing is stored
            reaching(settings, request.client_config) as here,
            driver.system(study, here) as system,
        ):
            campaign = Campaign(study, CampaignKeys(study.name, "plan"), FolderStore(Path(folder)))
            system.require_fit(plan, campaign, study.cases[0])
    finally:
        logger.removeHandler(said)
    return said.warnings


@contextmanager
def reaching(settings: Settings, client_config: str | None) -> Iterator[Settings]:
    """Return settings to reach the cluster from here, with this machine's Java and the user's file.

    The file is linked under the only name that a campaign accepts for it.
    """
    with tempfile.TemporaryDirectory() as folder:
        changed: dict[str, object] = {"java": find_java(os.environ) or settings.java}
        if client_config is not None:
            (Path(folder) / CLIENT_CONFIG).symlink_to(Path(client_config).resolve())
            changed["client_configs"] = Path(folder)
        yield settings.model_copy(update=changed)


class _Said(logging.Handler):
    """Collect the warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.warnings.append(record.getMessage())


def print_plan(planned: PlannedCampaign, console: Console) -> None:
    """Print the plan, one fact per row."""
    plan, words = planned.plan, Table.grid(padding=(0, 2))
    cases = ", ".join(map(case_label, planned.cases))
    kind = "tuning" if planned.kind == "tune" else "comparison"
    rows: dict[str, str] = {
        "Study": f"{planned.study}: {planned.driver.replace('_', ' ')} {kind}, {cases}",
        "Cluster": planned.cluster,
        "Login": planned.login,
        "Baseline": "\n".join(planned.baseline),
        "Changed": "\n".join(map(str, plan.overrides)),
        "Repetitions": _range(plan.fewest_repetitions, plan.repetitions, "{:.0f}".format),
        "Time": _range(plan.fewest_duration_s, plan.duration_s, _in_words),
        "Sent": f"up to {gib_text(plan.sent_gib)}",
        "Disk": f"up to {gib_text(plan.peak_disk_gib)} at a time, across all brokers",
        "Topics": planned.topics,
    }
    for name, value in rows.items():
        if value:
            words.add_row(name, value)
    console.print(words, highlight=False, markup=False)


def _range(least: float | None, most: float, written: Callable[[float], str]) -> str:
    low, high = written(most if least is None else least), written(most)
    return high if low == high else f"{low} to {high}"


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _cluster(study: Study) -> str:
    if isinstance(study, TopicStudy) and study.own_brokers is not None:
        return f"{counted(study.own_brokers.brokers, 'broker')}, started by the study on this machine"
    if study.cluster is None:
        return "the stack's brokers; for your own cluster: --kafka host:port"
    named, at_most = study.cluster, f"{study.cluster.ceiling_mib_s:g} MiB/s and {study.cluster.ceiling_gib:g} GiB"
    return f"{named.bootstrap_servers}, at most {at_most}"


def _login(request: RunRequest) -> str:
    if request.client_config is None:
        return ""
    found = parse_properties(read_client_config(Path(request.client_config)))
    shown = [f"{name}={found[name]}" for name in _SHOWN_OF_A_LOGIN if name in found]
    others = len(found) - len(shown)
    more = [f"{others} other {'property' if others == 1 else 'properties'}"] if others else []
    return f"{request.client_config}: {', '.join([*shown, *more])}"


def _baseline(request: RunRequest, study: Study, settings: Settings) -> list[str]:
    if baseline := request.baseline_file(study.client_of_file):
        first, *others = baseline.report_lines()
        return [f"{request.baseline}, {first}", *others]
    if named := settings_file_of(settings.studies, request.study):
        file, found = named
        first, *others = found.report_lines()
        return [f"the study's {file}, {first}", *others]
    given = study.reference if isinstance(study, Compare) else tune_study(study).baseline
    said = ", ".join(f"{name}={property_text(value)}" for name, value in given.items())
    return [f"from the study: {said}" if said else study.declaration.defaults_word]


def _topics(study: Study) -> str:
    if not isinstance(study, TopicStudy):
        return ""
    topic = study.workload
    partitions = counted(topic.topic_partitions, "partition")
    return f"{PREFIX}{study.name}.*: {partitions}, replication factor {topic.replication_factor}; deleted at the end"
