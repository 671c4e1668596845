"""The DAGs that a stack waits for before it is ready, and the error if a condition does not hold in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.readiness import dags_of_own_cluster
from kafka_pareto_embedded.lifecycle.waiting import wait_until

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
def test_a_stack_waits_for_the_dag_of_each_kind_of_study_for_its_cluster(
    tmp_path: Path, studies: dict[str, str], dags: list[str]
) -> None:
    for name, content in studies.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    assert dags_of_own_cluster(sorted(tmp_path.glob("*.yaml"))) == dags


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        ("see its log", "timeout after 0 s, waiting until it is up; see its log"),
        ("", "timeout after 0 s, waiting until it is up"),
    ],
)
def test_a_condition_not_met_in_time_is_named_with_its_fix_if_known(fix: str, said: str) -> None:
    with pytest.raises(StackError) as refused:
        wait_until("it is up", lambda: False, 0.01, fix, poll_s=0.01)
    assert str(refused.value) == said
