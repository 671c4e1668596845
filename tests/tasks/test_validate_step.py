"""The validate step, run whole: each expectation of the suites against a recorded repetition that breaks it alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import pytest

from kafka_pareto.artifacts import DESIGN_COLUMNS, REJECTED_COLUMNS, TRIAL_COLUMNS, CampaignKeys, table_schema
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import ArtifactError, GateError
from kafka_pareto.expectations import load_suites
from kafka_pareto.factors import configuration_id
from kafka_pareto.protocol import Paced
from kafka_pareto.records import Manifest, Repetition, ValidationSummary
from kafka_pareto.steps import validate
from kafka_pareto.store import FolderStore
from kafka_pareto.study import Study, Validation
from kafka_pareto.study_file import dump_study, with_overrides
from kafka_pareto.validation import suite_parameters, with_nonsense_failed
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.servers  # no server, but Great Expectations takes too long to import for the fast group

ROOT = Path(__file__).parent.parent.parent
SIZE = 8192
Tool = Literal["kafka_perf_test", "load_generator"]
CONFIGURATIONS = 3
REPETITIONS = 4


GENERATOR = {
    "kind": "steady", "load_tool": "load_generator", "records": None, "seconds": 1.0,
    "paced": Paced(rate_fraction=0.5, seconds=1.0), "variability": "within_run",
}  # fmt: skip


def small_study(tolerated: float, tool: Tool = "kafka_perf_test") -> Study:
    study = with_overrides(paper_study(), record_sizes_bytes=[SIZE], repetitions=REPETITIONS)
    study = study.model_copy(update={"validation": Validation(tolerated_rejected_fraction=tolerated)})
    changes = GENERATOR if tool == "load_generator" else {}
    return study.model_copy(update={"protocol": study.protocol.model_copy(update=changes)})


def recorded(tool: Tool = "kafka_perf_test") -> list[Repetition]:
    """Recorded with Kafka's tool; as the load generator's, they have what it measures besides."""
    rows = recorded_repetitions((SIZE,), configurations=CONFIGURATIONS, blocks=REPETITIONS)
    if tool == "load_generator":
        rows = [row.model_copy(update=_of_generator(row)) for row in rows]
    return sorted(rows, key=lambda row: (row.is_baseline, row.repetition_id))


def _of_generator(row: Repetition) -> dict[str, Any]:
    return {
        "window": "steady_state", "printed_mib_s": None, "latency_p9999_ms": row.latency_max_ms,
        "latency_from_send_p95_ms": row.latency_p95_ms, "paced_rate_asked_records_s": 500.0,
        "paced_rate_records_s": 499.0, "latency_cv_in_run": 0.3, "throughput_cv_in_run": 0.1,
    }  # fmt: skip


def campaign_with(
    folder: Path, rows: list[Repetition], tolerated: float = 0.25, tool: Tool = "kafka_perf_test"
) -> Campaign:
    """A campaign whose design is the recording's, and whose store holds these rows."""
    study = small_study(tolerated, tool)
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    design = pd.DataFrame(
        {row.configuration_id: _design_row(row, study) for row in recorded()}.values(),
        columns=table_schema(DESIGN_COLUMNS, study).names,
    )
    campaign.write_table(campaign.keys.design(), design, DESIGN_COLUMNS)
    for number, row in enumerate(rows):
        campaign.write_record(f"{campaign.keys.measurements(SIZE)}{number:03d}.json", row)
    return campaign


def _design_row(row: Repetition, study: Study) -> dict[str, Any]:
    return {
        "record_size_bytes": row.record_size_bytes,
        "configuration_id": row.configuration_id,
        "is_baseline": row.is_baseline,
        "feasible": True,
        "durability": study.durability_of(row.configuration).name,
        **row.configuration,
    }


def summary_of(campaign: Campaign) -> ValidationSummary:
    return campaign.read_record(campaign.keys.validation("summary.json"), ValidationSummary)


def rejected_of(campaign: Campaign) -> pd.DataFrame:
    return campaign.read_table(campaign.keys.validation("rejected.parquet"), REJECTED_COLUMNS)


Rows = list[Repetition]
Corruption = Callable[[Rows], Rows]


def changed(change: Callable[[Repetition], dict[str, Any]]) -> Corruption:
    """Corrupts the first row."""
    return lambda rows: [rows[0].model_copy(update=change(rows[0])), *rows[1:]]


def set_to(**values: Any) -> Corruption:
    return changed(lambda _: values)


def factor_set_to(name: str, value: Any) -> Corruption:
    return changed(lambda row: {"configuration": {**row.configuration, name: value}})


def unplanned(rows: Rows) -> Rows:
    extra = {"block": REPETITIONS, "repetition_id": rows[0].repetition_id.replace("-b000-", f"-b{REPETITIONS:03d}-")}
    return [rows[0].model_copy(update=extra), *rows]


def at_rate(records_s: float, mib_s: float) -> Corruption:
    """A throughput so low that the run must have taken minutes, and did."""
    return set_to(throughput_records_s=records_s, throughput_mib_s=mib_s, printed_mib_s=mib_s, wall_s=100_000.0)


CASES: dict[tuple[str, str | None], Corruption] = {
    ("columns", None): factor_set_to("max.request.size", 1_048_576),
    ("factor_types", "batch.size"): factor_set_to("batch.size", "16384"),
    ("factor_types", "linger.ms"): factor_set_to("linger.ms", 0.5),
    ("factor_types", "acks"): factor_set_to("acks", 1),
    ("factor_types", "compression.type"): factor_set_to("compression.type", 4),
    ("every_planned_repetition_is_stored", None): lambda rows: rows[1:],
    ("repetition_id_unique", None): lambda rows: [rows[0], *rows],
    ("planned", None): unplanned,
    ("repetition_id_matches", None): set_to(block=3),
    ("configuration_id_matches", None): changed(
        lambda row: {"configuration": {**row.configuration, "linger.ms": row.configuration["linger.ms"] + 1}}
    ),
    ("baseline_matches", None): set_to(is_baseline=True),
    ("phase", None): set_to(phase="gain"),
    ("round", None): set_to(round=1),
    ("window", None): set_to(window="steady_state"),
    ("started_at", None): set_to(started_at="a while ago"),
    ("attempts", None): set_to(attempts=0),
    ("not_negative", "order_in_block"): set_to(order_in_block=-1),
    ("not_negative", "wall_s"): set_to(outcome="records_lost", wall_s=-1.0),
    ("not_negative", "client_cpu_s"): set_to(client_cpu_s=-1.0),
    ("not_negative", "load_1m"): set_to(load_1m=-1.0),
    ("fraction", "cpu_steal_fraction"): set_to(cpu_steal_fraction=-0.1),
    ("fraction", "other_cpu_fraction"): set_to(other_cpu_fraction=1.5),
    ("records_requested", None): set_to(records_requested=0, records_sent=0, end_offset_growth=0),
    ("all_records_sent", None): set_to(records_sent=999),
    ("all_records_arrived", None): set_to(end_offset_growth=999),
    ("throughput_above_zero", "throughput_records_s"): at_rate(0.0, 0.004),
    ("throughput_above_zero", "throughput_mib_s"): at_rate(0.5, 0.0),
    ("latency_not_negative", "latency_avg_ms"): set_to(latency_avg_ms=-0.25, latency_p50_ms=0.0),
    ("latency_not_negative", "latency_p50_ms"): set_to(latency_p50_ms=-1.0),
    ("p50_within_p95", None): changed(
        lambda row: {"latency_p50_ms": row.latency_p95_ms + 1, "latency_avg_ms": row.latency_p95_ms}
    ),
    ("p95_within_p99", None): changed(lambda row: {"latency_p95_ms": row.latency_p99_ms + 1}),
    ("p99_within_p999", None): changed(lambda row: {"latency_p99_ms": row.latency_p999_ms + 1}),
    ("p999_within_max", None): changed(lambda row: {"latency_p999_ms": row.latency_max_ms + 1}),
    ("avg_within_max", None): changed(lambda row: {"latency_avg_ms": row.latency_max_ms + 1}),
    ("avg_fits_p50", None): changed(lambda row: {"latency_avg_ms": row.latency_p50_ms / 2 - 0.6}),
    ("max_within_elapsed", None): changed(lambda row: {"latency_max_ms": row.wall_s * 1000}),
    ("elapsed_within_wall", None): changed(
        lambda row: {
            name: getattr(row, name) / 9 for name in ("throughput_records_s", "throughput_mib_s", "printed_mib_s")
        }
    ),
    ("throughput_of_records", None): changed(lambda row: {"throughput_mib_s": row.throughput_mib_s * 1.0001}),
    ("throughput_units", None): changed(lambda row: {"printed_mib_s": row.printed_mib_s * 1.048576}),
    ("p999_within_p9999", None): changed(lambda row: {"latency_p9999_ms": row.latency_p999_ms - 1}),
    ("p9999_within_max", None): changed(lambda row: {"latency_p9999_ms": row.latency_max_ms + 1}),
    ("from_send_within_from_due", None): changed(lambda row: {"latency_from_send_p95_ms": row.latency_p95_ms + 1}),
    ("paced_rate_held", None): set_to(paced_rate_asked_records_s=500.0, paced_rate_records_s=450.0),
    ("not_generator_bound", None): set_to(generator_bound="the load tool's CPU was saturated"),
    ("p95_resolved", None): set_to(latency_p50_ms=0.0, latency_p95_ms=0.0),
    ("little_steal", None): set_to(cpu_steal_fraction=0.2),
    ("not_throttled", None): set_to(produce_throttle_max_ms=12.0),
    **{
        ("measured", column): set_to(**{column: None})
        for column in (
            "records_sent", "end_offset_growth", "throughput_records_s", "throughput_mib_s",
            "latency_avg_ms", "latency_max_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms",
        )
    },
    **{
        ("measured_by_the_load_tool", column): set_to(**{column: None})
        for column in (
            "printed_mib_s", "latency_p9999_ms", "latency_from_send_p95_ms", "paced_rate_asked_records_s",
            "paced_rate_records_s",
        )
    },
    **{
        ("client_metric_not_negative", column): set_to(outcome="records_lost", **{column: -1.0})
        for column in (
            "queue_time_avg_ms", "queue_time_max_ms", "request_latency_avg_ms", "request_latency_max_ms",
            "batch_size_avg_bytes", "compression_rate_avg", "records_per_request_avg", "buffer_wait_s",
            "buffer_exhausted_records", "record_retries",
        )
    },
    **{
        ("measured_within_the_run", column): set_to(**{column: None})
        for column in ("latency_cv_in_run", "throughput_cv_in_run")
    },
    **{
        ("cv_in_run_not_negative", column): set_to(**{column: -0.1})
        for column in ("latency_cv_in_run", "throughput_cv_in_run")
    },
}  # fmt: skip


Asked = tuple[Tool, str, str, str | None, str]


def every_expectation() -> list[Asked]:
    """Each once: of Kafka's tool, and of the load generator what is asked of it alone."""
    asked: dict[tuple[str, str | None], Asked] = {}
    for tool in get_args(Tool):
        parameters = suite_parameters(small_study(0.25, tool))
        for suite, expectations in load_suites().items():
            for expectation in expectations:
                for configuration in expectation.configurations(parameters):
                    name, column = configuration["meta"]["name"], configuration["meta"]["column"]
                    asked.setdefault((name, column), (tool, suite, name, column, configuration["severity"]))
    return list(asked.values())


def by_name() -> dict[tuple[Tool, str, str, str], list[str | None]]:
    """The columns of each; all are broken at once, each in a row of its own, since an examination takes its second."""
    columns: dict[tuple[Tool, str, str, str], list[str | None]] = {}
    for tool, suite, name, column, severity in every_expectation():
        columns.setdefault((tool, suite, name, severity), []).append(column)
    return columns


@pytest.mark.parametrize(("asked", "columns"), by_name().items(), ids=lambda value: "-".join(map(str, value)))
def test_each_expectation_is_failed_by_its_corrupted_row_and_by_no_other(
    asked: tuple[Tool, str, str, str], columns: list[str | None], tmp_path: Path
) -> None:
    tool, suite, name, severity = asked
    rows = recorded(tool)
    for place, column in enumerate(columns):
        assert (name, column) in CASES, f"{suite}.{name} {column or ''}: give CASES a row that breaks it"
        rows = rows[:place] + CASES[name, column](rows[place:])
    campaign = campaign_with(tmp_path, rows, tolerated=1.0, tool=tool)

    if suite in ("schema", "completeness"):
        with pytest.raises(GateError):
            validate.run(campaign)
    else:
        validate.run(campaign)

    failed = [(e.suite, e.name, e.column) for e in summary_of(campaign).expectations if not e.success]
    assert failed == [(suite, name, column) for column in columns]
    if suite == "schema":
        assert summary_of(campaign).repetitions_accepted == 0
    rejected = rejected_of(campaign)
    if suite in ("repetitions", "valid_repetitions") and severity == "critical":
        reasons = dict(zip(rejected.repetition_id, rejected.rejected_because, strict=False))
        assert set(reasons) == {rows[place].repetition_id for place in range(len(columns))}
        assert all((column or "") in reasons[rows[place].repetition_id] for place, column in enumerate(columns))
    else:
        assert rejected.empty


@pytest.mark.parametrize(
    ("tool", "name", "column", "severity"),
    [(tool, *asked) for tool, suite, *asked in every_expectation() if suite == "valid_repetitions"],
)
def test_the_confirmation_without_great_expectations_finds_the_same_rows(
    tool: Tool, name: str, column: str | None, severity: str
) -> None:
    judged = with_nonsense_failed(CASES[name, column](recorded(tool)), small_study(0.25, tool))
    assert [row.outcome == "failed" for row in judged] == [severity == "critical", *[False] * (len(judged) - 1)]


def test_no_corruption_is_left_over_from_an_expectation_that_is_gone() -> None:
    assert set(CASES) == {(name, column) for _, _, name, column, _ in every_expectation()}


@pytest.mark.parametrize("tool", get_args(Tool))
def test_a_clean_recording_passes_whole_and_becomes_trials(tool: Tool, tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded(tool), tolerated=0.0, tool=tool)

    manifest = validate.run(campaign)

    assert manifest.counts["accepted"] == (CONFIGURATIONS + 1) * REPETITIONS
    assert manifest.counts["rejected"] == manifest.counts["failed"] == manifest.counts["warnings"] == 0
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    assert set(trials.configuration_id) == {row.configuration_id for row in recorded()}
    assert (trials.repetitions_valid == REPETITIONS).all()
    assert summary_of(campaign).passed


def test_a_rejected_repetition_is_in_no_trial(tmp_path: Path) -> None:
    rows = set_to(latency_p95_ms=1e6)(recorded())
    campaign = campaign_with(tmp_path, rows)

    validate.run(campaign)

    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS).set_index("configuration_id")
    spoilt = trials.loc[rows[0].configuration_id]
    assert spoilt.repetitions_valid == REPETITIONS - 1
    assert rows[0].repetition_id not in spoilt.repetition_ids


def test_lost_records_are_an_outcome_that_is_kept_and_costs_no_tolerance(tmp_path: Path) -> None:
    rows = set_to(outcome="records_lost", end_offset_growth=990)(recorded())
    campaign = campaign_with(tmp_path, rows, tolerated=0.0)

    manifest = validate.run(campaign)

    assert (manifest.counts["rejected"], manifest.counts["lost_records"]) == (0, 1)
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS).set_index("configuration_id")
    assert trials.loc[rows[0].configuration_id].repetitions_lost_records == 1


FAILED = {
    "outcome": "failed", "reason": "the load tool ended with exit code 1", "records_sent": None,
    "end_offset_growth": None, "throughput_records_s": None, "throughput_mib_s": None,
    "printed_mib_s": None, "latency_avg_ms": None,
    "latency_max_ms": None, "latency_p50_ms": None, "latency_p95_ms": None, "latency_p99_ms": None,
    "latency_p999_ms": None, "wall_s": 0.0, "client_cpu_s": 0.0, "produce_throttle_max_ms": None,
}  # fmt: skip


def test_the_gate_counts_failed_and_rejected_repetitions_and_names_them_with_all_artifacts_written(
    tmp_path: Path,
) -> None:
    rows = recorded()
    rows[0] = rows[0].model_copy(update=FAILED)
    rows[1] = rows[1].model_copy(update={**FAILED, "attempts": 0})
    campaign = campaign_with(tmp_path, rows, tolerated=0.1)

    with pytest.raises(GateError) as stop:
        validate.run(campaign)

    message = str(stop.value)
    assert "2 of 16 repetitions (12.5%)" in message
    assert "tolerates 10.0%" in message
    assert f"{rows[0].repetition_id}: failed: the load tool ended with exit code 1" in message
    assert f"{rows[1].repetition_id}: was never attempted" in message
    assert list(rejected_of(campaign).repetition_id) == [rows[1].repetition_id]
    assert not summary_of(campaign).passed
    assert campaign.store.tag(campaign.keys.validation("data_docs/index.html"))
    assert campaign.store.tag(campaign.keys.trials()) is None


def test_trials_of_an_earlier_pass_do_not_outlive_a_gate_that_stops(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded(), tolerated=0.0)
    validate.run(campaign)
    spoilt = recorded()[0].model_copy(update={"attempts": 0})
    campaign.write_record(f"{campaign.keys.measurements(SIZE)}000.json", spoilt)

    with pytest.raises(GateError):
        validate.run(campaign)

    assert campaign.store.tag(campaign.keys.trials()) is None


def test_the_gate_lets_pass_what_is_within_the_tolerance(tmp_path: Path) -> None:
    rows = recorded()
    rows[0] = rows[0].model_copy(update=FAILED)
    campaign = campaign_with(tmp_path, rows, tolerated=1 / 16)

    assert validate.run(campaign).counts["failed"] == 1


def test_the_gate_names_the_first_twenty_rows_and_counts_the_rest(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, [])
    study = with_overrides(campaign.study, repetitions=10)

    with pytest.raises(GateError, match="40 planned repetitions are missing") as stop:
        validate.run(Campaign(study, campaign.keys, campaign.store))

    assert len(re.findall(r"is planned and was not measured", str(stop.value))) == 20
    assert "and 20 more" in str(stop.value)


def test_a_baseline_of_which_nothing_is_left_stops_the_campaign_whatever_the_tolerance(tmp_path: Path) -> None:
    rows = [row.model_copy(update={"latency_p50_ms": -1.0}) if row.is_baseline else row for row in recorded()]
    campaign = campaign_with(tmp_path, rows, tolerated=1.0)

    with pytest.raises(GateError, match="no valid repetition of the baseline is left at 8192 B"):
        validate.run(campaign)


def test_a_record_that_is_no_repetition_is_named_by_its_key(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded())
    key = f"{campaign.keys.measurements(SIZE)}000.json"
    campaign.store.put(key, campaign.store.get(key).replace(b'"valid"', b'"fine"'))

    with pytest.raises(ArtifactError, match=f"{re.escape(key)}: outcome: 'fine'"):
        validate.run(campaign)


def test_the_data_docs_open_from_a_copy_of_the_folder_and_are_replaced_by_the_next_run(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded())
    validate.run(campaign)
    first = campaign.store.keys(campaign.keys.validation("data_docs/"))

    validate.run(campaign)

    second = campaign.store.keys(campaign.keys.validation("data_docs/"))
    assert len(first) == len(second)
    index = tmp_path / campaign.keys.validation("data_docs/index.html")
    pages = [index, *index.parent.rglob("validations/**/*.html")]
    assert len(pages) == 5
    suite_page = index.parent / "expectations" / "valid_repetitions.html"
    assert "the p95 latency is above p99" in suite_page.read_text("utf-8")
    for page in pages:
        links = re.findall(r'href="(?!https?:|#)([^"]+\.html)"', page.read_text("utf-8"))
        assert links
        assert [link for link in links if not (page.parent / link).resolve().is_file()] == []


def test_the_step_runs_by_its_command_line_and_ends_with_its_manifest(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "store", set_to(latency_p95_ms=1e6)(recorded()))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT / 'include'}:{ROOT}"}
    environment["KAFKA_PARETO_STORE_FOLDER"] = str(tmp_path / "store")
    argv = [sys.executable, "-m", "tasks.validate", "--study", "paper", "--campaign", "c1"]

    ended = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert Manifest.model_validate_json(lines[-1]).artifacts[0] == campaign.keys.trials()
    assert lines[:-1] == [
        "16 repetitions checked (16 planned): 15 accepted, 1 rejected; 0 failed, 0 lost or duplicated records",
        "      1 rejected: the p95 latency is above p99",
    ]
    assert ended.stderr == ""


def test_the_recorded_configurations_carry_the_ids_that_their_values_give() -> None:
    assert all(row.configuration_id == configuration_id(row.configuration) for row in recorded())
