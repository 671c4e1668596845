from __future__ import annotations

import pandas as pd
import pytest

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.campaign.suites import suites_of
from kafka_pareto.campaign.tables import repetition_columns, table_schema
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.measurement.blocks import plan_blocks
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.protocol import Adaptive
from kafka_pareto.study.study_file import load_study
from kafka_pareto.validation.gate import (
    completeness_table,
    derived_table,
    planned_repetitions,
    rejected_table,
    suite_parameters,
    table_as_read,
)
from tests.recorded import STUDIES, paper_study, recorded_repetitions

pytestmark = pytest.mark.fast


def test_the_plan_matches_the_measure_step() -> None:
    study = load_study(STUDIES / "quick.yaml")
    design = design_table(study)
    measured = []
    for case, rows in design.groupby("case"):
        candidates = [Candidate(row.configuration_id, row.is_baseline, {}) for row in rows.itertuples()]
        plan = {"order": "blocks", "phase": "design", "case": str(case), "seed": study.seed}
        measured += [each.repetition_id for each in plan_blocks(candidates, study.protocol.repetitions, **plan)]
    planned_ids = planned_repetitions(design, [], study)
    assert len(planned_ids) == len(set(planned_ids)) == 5 * 7
    assert set(planned_ids) == set(measured)


def test_the_plan_of_adaptive_repetitions_ends_where_the_rule_stopped_a_trial() -> None:
    study = with_overrides(load_study(STUDIES / "paper.yaml"), cases=["8192"], repetitions=4)
    adaptive = {"adaptive": Adaptive(minimum_repetitions=2), "order": "blocks"}
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update=adaptive)})
    rows = recorded_repetitions(("8192",), configurations=2, blocks=4)
    worst = next(row.configuration_id for row in rows if not row.is_baseline)
    bad = {"latency_p95_ms": 5_000.0, "throughput_mib_s": 0.01}
    stored = [row.with_values(bad) if row.configuration_id == worst else row for row in rows]
    stored = [row for row in stored if row.configuration_id != worst or row.block < 2]
    values = {row.configuration_id: row for row in rows}.values()
    design = pd.DataFrame(
        [{**r.configuration, **r.model_dump(include={"case", "configuration_id", "is_baseline"})} for r in values]
    )
    planned = planned_repetitions(design, [*stored, stored[0]], study)
    assert sum(worst in identity for identity in planned) == 2
    assert {row.repetition_id for row in stored} == set(planned)


def test_the_table_as_read_has_the_factors_of_the_records_and_of_none_all_columns() -> None:
    study, columns = paper_study(), table_schema(repetition_columns(PRODUCER), paper_study()).names
    rows = recorded_repetitions(("8192",), configurations=0, blocks=2)
    stray = [row.with_values({"configuration": {"acks": "all", "retries": 1}}) for row in rows]
    found = set(table_as_read(stray, study).columns)
    assert found - set(columns) == {"retries"}
    assert set(study.factors) - found == {"batch.size", "linger.ms", "compression.type"}
    assert list(table_as_read([], study).columns) == columns


def test_completeness_counts_how_often_each_planned_repetition_is_stored() -> None:
    first, second, *_ = rows = recorded_repetitions(("8192",), configurations=0, blocks=3)
    planned = [row.repetition_id for row in rows]
    assert completeness_table(planned, [first, second, second]).times_stored.tolist() == [1, 2, 0]


@pytest.mark.slow
def test_the_recording_keeps_every_derived_relation() -> None:
    study = paper_study()
    rows = recorded_repetitions(("1024", "8192", "10240", "16383", "65636"))
    table = derived_table(rows, [row.repetition_id for row in rows], study)
    assert len(table) > 2500
    assert table.is_planned.all()
    assert (table.repetition_id == table.repetition_id_by_columns).all()
    assert (table.configuration_id == table.configuration_id_by_values).all()
    assert (table.is_baseline == table.is_baseline_by_id).all()
    assert (table.latency_max_ms <= table.elapsed_ms).all()
    assert (table.elapsed_ms <= table.wall_ms).all()
    assert (table.latency_avg_ms >= table.latency_avg_least_ms).all()
    assert (table.elapsed_at_throughput_ms <= table.wall_ms).all()
    assert table.throughput_unit_error_mib_s.max() <= 0.0051
    assert (table.throughput_over_records - 1).abs().max() < 1e-9
    rules = PlausibilityRules(study)
    assert [rules.with_implausible_failed(row) for row in rows] == rows


ROW = recorded_repetitions(("8192",), configurations=0, blocks=1)[0]


def test_a_steady_state_window_is_as_long_as_its_process_and_a_throughput_of_zero_has_no_elapsed_time() -> None:
    steady, still = {"window": "steady_state", "wall_s": 9.0}, {"throughput_records_s": 0.0}
    table = derived_table([ROW.with_values(steady), ROW.with_values(still)], [], paper_study())
    assert table.elapsed_ms.tolist() == pytest.approx([9000.0, float("nan")], nan_ok=True)


def test_a_steady_throughput_too_low_for_the_life_of_the_process_fails_the_check() -> None:
    study = load_study(STUDIES / "steady.yaml")
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update={"load_tool": "kafka_perf_test"})})
    share = study.protocol.seconds / (study.protocol.seconds + study.protocol.warmup_seconds)
    steady = {"window": "steady_state", "wall_s": 9.0, "records_sent": 1000}
    rows = [ROW.with_values({**steady, "throughput_records_s": pace}) for pace in (1000 * share / 8, 10 * share)]
    table = derived_table(rows, [], study)
    assert (table.elapsed_at_throughput_ms <= table.wall_ms).tolist() == [True, False]


def test_a_rejected_row_is_written_with_its_reason() -> None:
    rows = recorded_repetitions(("8192",), configurations=1, blocks=2)
    rejected = rejected_table(rows, {rows[1].repetition_id: "its clock ran backwards"}, paper_study())
    assert rejected.repetition_id.tolist() == [rows[1].repetition_id]
    assert rejected.rejected_because.tolist() == ["its clock ran backwards"]


def test_the_windows_of_the_load_generator_are_of_the_steady_state_and_its_columns_its_own() -> None:
    study = load_study(STUDIES / "steady.yaml")
    without_warmup = study.protocol.model_copy(update={"warmup_seconds": 0.0})
    parameters = suite_parameters(study.model_copy(update={"protocol": without_warmup}))
    assert parameters["windows"] == ["steady_state"]
    assert "paced_rate_records_s" in parameters["tool_columns"]
    assert "printed_mib_s" not in parameters["tool_columns"]
    assert parameters["within_run_columns"] == ["latency_cv_in_run", "throughput_cv_in_run"]
    assert suite_parameters(paper_study())["within_run_columns"] == []


def test_the_load_generators_share_of_the_records_is_not_guessed() -> None:
    study = load_study(STUDIES / "steady.yaml")
    steady = ROW.with_values({"window": "steady_state", "records_sent": 10**9})
    table = derived_table([steady], [], study)
    assert pd.isna(table.elapsed_at_throughput_ms[0])


def test_a_valid_repetition_needs_the_objective_that_its_study_adds() -> None:
    usual = load_study(STUDIES / "steady.yaml")
    added = usual.model_copy(update={"objectives": [*usual.objective_names, "stored_bytes_per_record"]})
    (rule,) = [each for each in suites_of(PRODUCER)["valid_repetitions"] if each.name == "added_objective"]
    assert rule.configurations(suite_parameters(usual)) == []
    (asked,) = rule.configurations(suite_parameters(added))
    assert asked["kwargs"]["column"] == "stored_bytes_per_record"


@pytest.mark.parametrize(("study", "window"), [("paper", "whole_run"), ("steady", "steady_state")])
def test_the_window_that_is_expected_is_the_protocols(study: str, window: str) -> None:
    assert suite_parameters(load_study(STUDIES / f"{study}.yaml"))["windows"] == [window]


@pytest.mark.slow
def test_the_shipped_suites_find_all_their_parameters_in_every_shipped_study() -> None:
    for path in STUDIES.glob("*.yaml"):
        study = load_study(path)
        parameters = suite_parameters(study)
        for expectations in suites_of(study.declaration).values():
            asked = {each.name: each.configurations(parameters) for each in expectations}
            not_asked = {name for name, configurations in asked.items() if not configurations}
            needed_by = {
                "measured_within_the_run": parameters.get("within_run_columns"),
                "factor_types": parameters["factors"],
                "added_objective": parameters.get("added_columns"),
            }
            assert not_asked <= {name for name, columns in needed_by.items() if not columns}
