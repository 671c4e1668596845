"""The DAGs that a stack waits for before it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto_embedded.lifecycle.readiness import dags_of_own_cluster

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("studies", "dags"),
    [
        ({"a": "kind: tune", "b": "kind: compare"}, ["tune_producer", "compare_configurations"]),
        ({"a": "name: a"}, ["tune_producer"]),
        ({"a": "kind: compare"}, ["compare_configurations"]),
        ({"a": "name: a", "b": "kind: compare\ncluster: {name: berlin}"}, ["tune_producer"]),
    ],
)
def test_a_stack_waits_for_the_dag_of_each_kind_that_a_study_of_its_own_cluster_has(
    tmp_path: Path, studies: dict[str, str], dags: list[str]
) -> None:
    for name, content in studies.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    assert dags_of_own_cluster(sorted(tmp_path.glob("*.yaml"))) == dags
