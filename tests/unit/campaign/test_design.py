"""The Latin-hypercube design: different, feasible, balanced, and the same for the same seed."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml

from kafka_pareto.campaign.design import latin_hypercube, one_at_a_time
from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.errors import StudyError
from kafka_pareto.study.constraints import satisfies
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study, parse_study
from tests.recorded import FIXTURES, STUDIES, paper_study
from tests.small_quick import small_quick

pytestmark = pytest.mark.fast

GOOD = FIXTURES / "studies" / "good"


def altered(name: str, **changes: object) -> Study:
    content = small_quick() if name == "quick" else yaml.safe_load((STUDIES / f"{name}.yaml").read_text())
    return parse_study(yaml.safe_dump(content | changes), f"{name} (altered)")


def test_paper_draws_60_different_configurations_per_record_size_plus_the_baseline_whatever_its_constraint():
    table = design_table(paper_study())

    assert len(table) == 5 * 61
    assert table.groupby("case").configuration_id.nunique().tolist() == [61] * 5
    assert table[table.is_baseline].groupby("case").size().tolist() == [1] * 5
    below = table[(table.case == "65636") & (table["batch.size"] < 65636) & ~table.is_baseline]
    assert len(below) > 20
    assert not below.feasible.any()


@pytest.mark.parametrize(
    "path",
    [
        *(STUDIES / f"{name}.yaml" for name in ("quick", "steady")),
        *(GOOD / f"{name}.yaml" for name in ("categorical_constraints", "range_cut_from_both_sides")),
    ],
    ids=lambda path: path.stem,
)
def test_a_feasible_design_breaks_no_constraint(path: Path):
    table = design_table(load_study(path))
    drawn = table[~table.is_baseline]
    assert drawn.feasible.all()
    if path.stem == "categorical_constraints":
        assert set(drawn.acks) == {"1", "all"}
        assert "gzip" not in set(drawn["compression.type"])
    if path.stem == "range_cut_from_both_sides":
        assert drawn["batch.size"].between(65636, 131072).all()


def test_marginals_stay_balanced_within_the_feasible_space():
    study = altered("paper", design={"configurations": 60, "feasible": True})
    rng = np.random.default_rng(3)
    drawn = latin_hypercube(study, study.design.configurations, 16383, rng)

    sizes = Counter(configuration["batch.size"] for configuration in drawn)
    assert set(sizes) == {16384, 32768, 65536, 131072, 262144}
    assert max(sizes.values()) - min(sizes.values()) <= 2
    codecs = Counter(configuration["compression.type"] for configuration in drawn)
    assert max(codecs.values()) - min(codecs.values()) <= 2


def test_a_constraint_between_two_factors_holds_and_keeps_the_marginals_of_ranges():
    factors = {
        "batch.size": {"type": "integer", "low": 16384, "high": 4194304, "scale": "log"},
        "buffer.memory": {"type": "integer", "low": 1048576, "high": 134217728, "scale": "log"},
    }
    study = altered(
        "quick",
        factors=factors,
        constraints=["batch.size <= buffer.memory", "batch.size >= record.size"],
        design={"configurations": 40, "feasible": True},
    )
    drawn = latin_hypercube(study, study.design.configurations, 65636, np.random.default_rng(5))

    assert all(satisfies(study.constraints, configuration, {"record.size": 65636}) for configuration in drawn)
    assert len({configuration_id(configuration) for configuration in drawn}) == 40
    above_the_middle = sum(configuration["buffer.memory"] > 11863283 for configuration in drawn)
    assert 18 <= above_the_middle <= 22


def test_swaps_alone_meet_a_constraint_between_two_factors_where_they_can(caplog: pytest.LogCaptureFixture):
    """A third of the rows break it as drawn; exchanged values meet it, and no value of the Latin hypercube is lost."""
    factors = {
        "batch.size": {"type": "integer", "low": 16384, "high": 1048576, "scale": "log"},
        "max.request.size": {"type": "integer", "low": 65536, "high": 4194304, "scale": "log"},
        "linger.ms": {"type": "integer", "low": 0, "high": 100},
    }
    changes = {"factors": factors, "design": {"configurations": 40, "feasible": True}}
    constrained = altered("steady", constraints=["batch.size <= max.request.size"], **changes)
    free = altered("steady", constraints=[], **changes)
    with caplog.at_level(logging.INFO):
        drawn = latin_hypercube(constrained, 40, 1024, np.random.default_rng(7))
    as_drawn = latin_hypercube(free, 40, 1024, np.random.default_rng(7))

    assert all(row["batch.size"] <= row["max.request.size"] for row in drawn)
    assert any(row["batch.size"] > row["max.request.size"] for row in as_drawn)
    for name in factors:
        assert sorted(row[name] for row in drawn) == sorted(row[name] for row in as_drawn)
    assert "drawn again" not in caplog.text


def test_rows_that_no_swap_can_fix_are_redrawn_and_counted(caplog: pytest.LogCaptureFixture):
    factors = {
        "batch.size": {"type": "integer", "low": 16384, "high": 524288, "scale": "log"},
        "max.request.size": {"type": "integer", "low": 16384, "high": 524288, "scale": "log"},
    }
    constraints = ["batch.size <= max.request.size"]
    study = altered("steady", factors=factors, constraints=constraints, design={"configurations": 40, "feasible": True})
    with caplog.at_level(logging.INFO):
        drawn = latin_hypercube(study, 40, "1024", np.random.default_rng(7))

    assert all(row["batch.size"] <= row["max.request.size"] for row in drawn)
    redrawn = re.search(r"(\d+) of 40 configurations for 1,024 B were drawn again", caplog.text)
    assert redrawn is not None
    assert int(redrawn[1]) < 12


def test_the_same_seed_gives_the_same_design_whatever_other_record_sizes_there_are():
    both = design_table(altered("quick", record_sizes_bytes=[1024, 8192]))
    alone = design_table(altered("quick", record_sizes_bytes=[8192]))

    assert both[both.case == "8192"].reset_index(drop=True).equals(alone)
    other = design_table(altered("quick", record_sizes_bytes=[8192], seed=43))
    assert not other.equals(alone)


def small_space(*levels: int) -> Study:
    factors = {"linger.ms": {"type": "integer", "levels": list(levels)}}
    changes = {"factors": factors, "constraints": [], "design": {"configurations": 3}, "record_sizes_bytes": [8192]}
    return altered("cold_burst", **changes)


@pytest.mark.slow
@pytest.mark.parametrize("known", [{}, {"8192": [{"linger.ms": 10}]}])
def test_more_configurations_than_the_space_has_besides_the_known_ones_are_refused_with_the_files_number(
    known: dict[str, list[dict[str, int]]],
):
    table = design_table(small_space(0, 5, 10, 100), known)
    assert set(table["linger.ms"]) == {0, 5, 10, 100}
    assert table["linger.ms"].tolist()[:2] == [5, 10] or not known
    with pytest.raises(StudyError, match=r"design\.configurations: 3: there are not as many different"):
        design_table(small_space(0, 5, 10), known)


def test_one_at_a_time_changes_a_single_factor_of_the_baseline_to_each_of_its_values():
    study = load_study(GOOD / "one_at_a_time.yaml")
    baseline = study.baseline_configuration()
    changes = [
        {name: value for name, value in configuration.items() if value != baseline[name]}
        for configuration in one_at_a_time(study, 1024)
    ]

    assert [len(change) for change in changes] == [1] * len(changes)
    assert changes == [
        *({"batch.size": size} for size in (65536, 262144)),
        *({"linger.ms": linger} for linger in (10, 30, 50, 70, 90)),
        {"acks": "1"},
    ]


def test_one_at_a_time_excludes_infeasible_configurations_or_keeps_them_on_request():
    constrained = {"constraints": ["batch.size >= record.size", "acks != 0"], "record_sizes_bytes": [8192]}
    feasible = design_table(altered("quick", design={"method": "one_at_a_time"}, **constrained))
    all_of_it = design_table(altered("quick", design={"method": "one_at_a_time", "feasible": False}, **constrained))

    assert feasible.feasible.all()
    assert set(feasible["batch.size"]) == {8192, 16384, 32768, 65536, 131072, 262144}
    assert len(all_of_it) == len(feasible) + 3 + 1
    assert feasible.configuration_id.is_unique
    assert feasible.is_baseline.tolist() == [True] + [False] * (len(feasible) - 1)


def test_known_configurations_come_first_and_the_hypercube_draws_that_many_fewer_without_repeats():
    study = altered("cold_burst", record_sizes_bytes=[8192])
    known = latin_hypercube(study, 5, "8192", np.random.default_rng(9))
    ids = design_table(study, {"8192": known}).configuration_id.tolist()

    assert ids[1:6] == [configuration_id(each) for each in known]
    assert len(set(ids)) == len(ids) == 17
