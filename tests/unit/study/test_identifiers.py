"""Ids and patterns that the DAGs, the explorer and the command line share with the library."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from kafka_pareto.study import identifiers
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.identifiers import (
    CAMPAIGN_IDS,
    CONFIGURATION_ID,
    MOST_ROUNDS,
    pool_of,
    retune_dag_of,
    round_group,
    step_and_round,
    tune_dag_of,
)

pytestmark = pytest.mark.fast


def test_ids_of_configurations_and_of_tasks_in_rounds_are_read_back() -> None:
    assert re.fullmatch(CONFIGURATION_ID, configuration_id({"acks": "all", "linger.ms": 5}))
    for number in range(1, MOST_ROUNDS + 1):
        assert step_and_round(f"{round_group(number)}.measure") == ("measure", number)
    assert step_and_round("design") == ("design", 0)


def test_a_named_cluster_and_a_study_with_its_own_checks_have_ids_of_their_own() -> None:
    assert (tune_dag_of(""), tune_dag_of("berlin")) == ("tune_producer", "tune_producer_berlin")
    assert (retune_dag_of(""), retune_dag_of("steady")) == ("retune_producer", "retune_producer_steady")
    assert (pool_of(""), pool_of("berlin")) == ("kafka_cluster", "kafka_cluster_berlin")


@pytest.mark.parametrize(("text", "matches"), [("a", True), ("a,b-1", True), ("a,,b", False), ("", False)])
def test_several_campaigns_are_named_by_comma(text: str, matches: bool) -> None:
    assert bool(re.fullmatch(CAMPAIGN_IDS, text)) == matches


def test_a_dag_file_may_import_it_at_no_cost() -> None:
    tree = ast.parse(Path(identifiers.__file__).read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["from __future__ import annotations"]
