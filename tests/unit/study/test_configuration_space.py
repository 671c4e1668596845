"""The search space: positions decode the same together and one by one, and never to a point outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.configuration_space import (
    ConfigurationSpace,
    accepted_durabilities,
    durability_column,
    reachable_durabilities,
    rows_of,
)
from kafka_pareto.study.constraints import Constraint
from kafka_pareto.study.factors import CategoricalFactor, Factor, NumericFactor
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES, paper_study

pytestmark = pytest.mark.fast

FACTORS: list[Factor] = [
    CategoricalFactor(type="categorical", levels=["none", "lz4", "zstd"]),
    NumericFactor(type="integer", levels=[0, 5, 10, 100]),
    NumericFactor(type="integer", low=0, high=100),
    NumericFactor(type="integer", low=16384, high=524288, scale="log"),
]
CONSTRAINTS = [
    "batch.size >= record.size",
    "linger.ms < 50",
    "100 >= linger.ms",
    "batch.size != linger.ms",
    "compression.type == lz4",
    "zstd != compression.type",
    "acks != 0",
    "acks == all",
]

positions = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20)


def studies() -> list[Study]:
    return [load_study(STUDIES / f"{name}.yaml") for name in ("paper", "quick", "steady")]


@pytest.mark.parametrize("factor", FACTORS)
@settings(max_examples=50, deadline=None)
@given(places=positions)
def test_a_column_has_the_level_of_each_position(factor: Factor, places: list[float]) -> None:
    column = factor.column(np.array(places))
    assert column.tolist() == [factor.at(place) for place in places]


@pytest.mark.parametrize("text", CONSTRAINTS)
@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "batch.size": st.sampled_from([0, 1024, 8191, 8192, 8193, 262144]),
                "linger.ms": st.integers(0, 120),
                "acks": st.sampled_from(["0", "1", "all"]),
                "compression.type": st.sampled_from(["none", "lz4", "zstd"]),
            }
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_a_constraint_holds_for_columns_as_for_each_configuration(text: str, rows: list[dict[str, str | int]]) -> None:
    constraint = Constraint.parse(text)
    kinds = {"acks": object, "compression.type": object}
    columns = {name: np.array([row[name] for row in rows], dtype=kinds.get(name)) for name in rows[0]}
    variables = {"record.size": 8192}
    assert constraint.holds_for(columns, variables).tolist() == [constraint.holds(row, variables) for row in rows]


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.name)
def test_every_point_of_the_cube_is_a_configuration_of_the_study_whose_point_decodes_to_it(study: Study) -> None:
    space, width = ConfigurationSpace(study.factors), len(study.factors)
    points = np.vstack([np.zeros(width), np.ones(width), np.random.default_rng(1).random((200, width))])
    for configuration in space.decode(points):
        for name, factor in study.factors.items():
            value = configuration[name]
            assert value in factor.levels if factor.levels else factor.low <= value <= factor.high  # type: ignore[operator,union-attr]
        encoded = space.encode(configuration)
        assert encoded is not None
        assert space.decode(encoded[None]) == [configuration]


def test_a_configuration_outside_of_the_space_has_no_point() -> None:
    space = ConfigurationSpace(paper_study().factors)
    inside = {"batch.size": 16384, "linger.ms": 5, "acks": "all", "compression.type": "none"}
    assert space.encode(inside) is not None
    assert space.encode({**inside, "linger.ms": 7}) is None


def test_durability_of_columns_is_that_of_each_configuration_or_the_baselines() -> None:
    study = paper_study()
    retries = NumericFactor(type="integer", levels=[0, 3])
    varied = study.model_copy(update={"factors": {**study.factors, "retries": retries}})
    columns = ConfigurationSpace(varied.factors).columns(np.random.default_rng(2).random((50, 5)))
    configurations = [dict(zip(columns, row, strict=True)) for row in rows_of(columns)]
    assert durability_column(varied, columns) == [varied.durability_of(each) for each in configurations]
    fixed = study.model_copy(update={"baseline": {"acks": "1"}})
    assert durability_column(fixed, {"linger.ms": np.array([0, 5])}) == [Durability.acks_1] * 2


def test_reachable_durabilities_follow_from_the_factors_and_the_baseline() -> None:
    study = paper_study()
    of_paper = [Durability.acks_0, Durability.acks_1, Durability.acks_all_idempotent]
    assert reachable_durabilities(study) == accepted_durabilities(study) == of_paper
    without_acks = {name: factor for name, factor in study.factors.items() if name != "acks"}
    fixed = study.model_copy(update={"factors": without_acks, "baseline": {"enable.idempotence": False}})
    assert reachable_durabilities(fixed) == [Durability.acks_all]
    assert accepted_durabilities(study.model_copy(update={"durability": None})) == [Durability.acks_all_idempotent]
