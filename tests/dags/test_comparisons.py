"""The DAG that compares: which there are, what their forms offer, and the policies that they keep."""

from __future__ import annotations

import itertools
import shlex
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError
from jinja2 import Template

from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import load_study
from kafka_pareto_embedded.runs.finished_text import one_factor_command
from tests.dags.conftest import PROJECT
from tests.dags.test_clusters import loads
from tests.dags.test_retune_dags import dags_of
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

STEPS = ["design", "measure", "validate", "compare", "report"]
TUNES, COMPARES = "name: x", "kind: compare"
BERLIN = "\ncluster: {name: berlin}"


@pytest.fixture(scope="module")
def dag() -> DAG:
    return dags_of("compare_configurations")["compare_configurations"]


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    return tmp_path


def offered(dag: DAG) -> list[str]:
    found: list[str] = dag.params.get_param("study").schema["enum"]
    return found


@pytest.mark.slow
def test_the_edges_are_design_measure_validate_compare_report(dag: DAG) -> None:
    edges = {(task.task_id, below) for task in dag.tasks for below in task.downstream_task_ids}
    assert [task.task_id for task in dag.topological_sort()] == STEPS
    assert edges == set(itertools.pairwise(STEPS))


@pytest.mark.slow
def test_measure_alone_takes_the_clusters_one_slot_and_is_mapped_and_labelled_by_part(dag: DAG) -> None:
    assert loads(dag) == {"measure": "kafka_cluster"}
    labels = {task.task_id: task.map_index_template for task in dag.tasks if task.is_mapped}
    assert set(labels) == {"measure"}
    assert Template(labels["measure"]).render(task=SimpleNamespace(case="linger_ms")) == "linger_ms"


def test_measure_is_retried_and_the_gate_is_not(dag: DAG) -> None:
    assert {task.task_id: task.retries for task in dag.tasks} == {
        "design": 2,
        "measure": 3,
        "validate": 0,
        "compare": 2,
        "report": 2,
    }


def test_runs_are_started_by_hand_one_at_a_time(dag: DAG) -> None:
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == (None, False, 1)


@pytest.mark.slow
def test_the_forms_of_the_shipped_studies_offer_each_kind_alone(dag: DAG) -> None:
    kinds = {file.stem: load_study(file).kind for file in STUDIES.glob("*.yaml")}
    assert {study for study, kind in kinds.items() if kind == "compare"} == set(offered(dag))
    assert {study for study, kind in kinds.items() if kind == "tune"} == set(
        offered(dags_of("tune_producer")["tune_producer"])
    )
    assert dag.params.validate()["study"] == "impact_quick"


def test_each_cluster_has_the_dag_of_a_kind_only_where_it_has_a_study_of_it(studies: Path) -> None:
    (studies / "tunes.yaml").write_text(TUNES)
    (studies / "compares.yaml").write_text(COMPARES)
    (studies / "compares_there.yaml").write_text(COMPARES + BERLIN)
    compare, tune = dags_of("compare_configurations"), dags_of("tune_producer")

    assert {name: offered(each) for name, each in compare.items()} == {
        "compare_configurations": ["compares"],
        "compare_configurations_berlin": ["compares_there"],
    }
    assert {name: offered(each) for name, each in tune.items()} == {"tune_producer": ["tunes"]}
    there = compare["compare_configurations_berlin"]
    assert loads(there) == {"measure": "kafka_cluster_berlin"}
    assert {task.queue for task in there.tasks} == {"kafka_berlin"}


def test_without_a_comparison_study_there_is_no_dag_for_it(studies: Path) -> None:
    (studies / "tunes.yaml").write_text(TUNES)
    assert dags_of("compare_configurations") == {}


def test_a_check_of_active_settings_offers_no_comparison(studies: Path) -> None:
    (studies / "tunes.yaml").write_text(TUNES)
    (studies / "compares.yaml").write_text(COMPARES)
    assert {name: offered(each) for name, each in dags_of("retune_producer").items()} == {"retune_producer": ["tunes"]}


@pytest.mark.parametrize("file", sorted((PROJECT / "dags").glob("*.py")), ids=lambda file: file.stem)
def test_a_folder_with_only_a_comparison_is_no_error_in_any_dag_file(studies: Path, file: Path) -> None:
    (studies / "compares.yaml").write_text(COMPARES)
    made = [file.stem] if file.stem in ("clean_up", "compare_configurations", "settings_in_force") else []
    assert list(dags_of(file.stem)) == made


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("kind: compare", "compare"),
        ("kind: tune", "tune"),
        ("name: x", "tune"),
        ("kind: [compare]", "tune"),
        ("{", "tune"),
        ("", "tune"),
        ("description: |\n  kind: compare", "tune"),
    ],
)
def test_the_kind_is_the_files_own_and_tune_where_it_names_none(tmp_path: Path, content: str, kind: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(content)
    assert kind_of(file) == kind
    assert kind_of(tmp_path / "missing.yaml") == "tune"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("study", "quick"),
        ("study", "nonsense"),
        ("campaign", "../up"),
        ("parts", "acks"),
        ("parts", ["../up"]),
        ("parts", ["acks", "acks"]),
        ("factor", "linger.ms; rm -rf /"),
        ("factor", "--consent"),
        ("factor", "linger.ms\nacks"),
        ("factor", "../up"),
        ("factor", "2fast"),
        ("levels", "0, 5"),
        ("levels", "0;5"),
        ("levels", "60% own; rm"),
        ("levels", "$(id)"),
        ("levels", "`id`"),
        ("levels", "0|5"),
        ("levels", "60%,../up"),
        ("levels", "{{ ds }}"),
        ("levels", "0,"),
        ("levels", ""),
        ("repetitions", 0),
        ("ceiling_gib", -1),
    ],
)
def test_nonsense_is_refused(dag: DAG, name: str, value: Any) -> None:
    with pytest.raises(ParamValidationError):
        copy(dag.params.get_param(name)).resolve(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("study", "impact_quick"),
        ("parts", ["acks", "grid"]),
        ("parts", None),
        ("factor", "compression.type"),
        ("factor", "close_inactive_s"),
        ("levels", "0,5,20"),
        ("levels", "none,lz4"),
        ("levels", "-1"),
        ("levels", "60%,60% own,500/s"),
        ("repetitions", 3),
    ],
)
def test_valid_parameters_are_accepted(dag: DAG, name: str, value: Any) -> None:
    assert copy(dag.params.get_param(name)).resolve(value) == value


@pytest.mark.parametrize("name", [file.stem for file in sorted(STUDIES.glob("*.yaml")) if kind_of(file) == "compare"])
def test_each_setting_of_a_shipped_study_and_each_level_that_its_last_words_may_offer_is_accepted(
    dag: DAG, name: str
) -> None:
    study = compare_study(load_study(STUDIES / f"{name}.yaml"))
    factor, levels = (copy(dag.params.get_param(each)) for each in ("factor", "levels"))

    for setting in study.settings():
        assert factor.resolve(setting) == setting
    for case in study.cases:  # PARTS= makes any of them the first
        command = shlex.split(one_factor_command(with_overrides(study, cases=[case])))
        if not study.part(case).factors:  # a soak test's only level
            assert command == []
            continue
        offered = dict(word.split("=", 1) for word in command[2:])
        assert offered["STUDY"] == name
        assert factor.resolve(offered["FACTOR"]) == offered["FACTOR"]
        assert levels.resolve(offered["LEVELS"]) == offered["LEVELS"]
        for other in study.part(case).factors.values():
            text = ",".join(map(property_text, other))
            assert levels.resolve(text) == text
        assert study.table_of(offered["FACTOR"], offered["LEVELS"].split(","))["factor"] == offered["FACTOR"]
