"""Each expectation of the validation's suites, against a recorded repetition that breaks it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_pareto.campaign.plausibility import SUITE, PlausibilityRules
from kafka_pareto.campaign.suites import suites_of
from kafka_pareto.campaign.tables import repetition_columns
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import GateError
from kafka_pareto.steps import validate
from kafka_pareto.validation.expectations import Examination
from kafka_pareto.validation.gate import Verdict, derived_table, examine, suite_parameters
from tests.tasks.gate_campaign import (
    REPETITIONS,
    Corruption,
    Rows,
    Tool,
    campaign_with,
    changed,
    design_of,
    recorded,
    rejected_of,
    set_to,
    small_study,
    summary_of,
)

pytestmark = pytest.mark.servers  # no server, but Great Expectations takes too long to import for the fast group


def factor_set_to(name: str, value: Any) -> Corruption:
    return changed(lambda row: {"configuration": {**row.configuration, name: value}})


def unplanned(rows: Rows) -> Rows:
    extra = {"block": REPETITIONS, "repetition_id": rows[0].repetition_id.replace("-b000-", f"-b{REPETITIONS:03d}-")}
    return [rows[0].with_values(extra), *rows]


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
    ("repetition_id_unique", None): lambda rows: [*rows, rows[0]],
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
        lambda row: {"latency_p50_ms": row.number("latency_p95_ms") + 1, "latency_avg_ms": row.number("latency_p95_ms")}
    ),
    ("p95_within_p99", None): changed(lambda row: {"latency_p95_ms": row.number("latency_p99_ms") + 1}),
    ("p99_within_p999", None): changed(lambda row: {"latency_p99_ms": row.number("latency_p999_ms") + 1}),
    ("p999_within_max", None): changed(lambda row: {"latency_p999_ms": row.number("latency_max_ms") + 1}),
    ("avg_within_max", None): changed(lambda row: {"latency_avg_ms": row.number("latency_max_ms") + 1}),
    ("avg_fits_p50", None): changed(lambda row: {"latency_avg_ms": row.number("latency_p50_ms") / 2 - 0.6}),
    ("max_within_elapsed", None): changed(lambda row: {"latency_max_ms": row.wall_s * 1000}),
    ("elapsed_within_wall", None): changed(
        lambda row: {
            name: row.number(name) / 9 for name in ("throughput_records_s", "throughput_mib_s", "printed_mib_s")
        }
    ),
    ("throughput_of_records", None): changed(lambda row: {"throughput_mib_s": row.number("throughput_mib_s") * 1.0001}),
    ("throughput_units", None): changed(lambda row: {"printed_mib_s": row.number("printed_mib_s") * 1.048576}),
    ("p999_within_p9999", None): changed(lambda row: {"latency_p9999_ms": row.number("latency_p999_ms") - 1}),
    ("p9999_within_max", None): changed(lambda row: {"latency_p9999_ms": row.number("latency_max_ms") + 1}),
    ("from_send_within_from_due", None): changed(
        lambda row: {"latency_from_send_p95_ms": row.number("latency_p95_ms") + 1}
    ),
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
            "batch_size_avg_bytes", "compression_rate_avg", "records_per_request_avg", "requests_per_thousand_records",
            "stored_bytes_per_record", "buffer_wait_s", "answer_wait_s", "buffer_exhausted_records", "record_retries",
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
OF_THE_WHOLE_TABLE = ("schema", "completeness")


def every_expectation() -> list[Asked]:
    """Each once: of Kafka's tool, and of the load generator what is asked of it alone."""
    asked: dict[tuple[str, str | None], Asked] = {}
    for tool in get_args(Tool):
        parameters = suite_parameters(small_study(0.25, tool))
        for suite, expectations in suites_of(PRODUCER).items():
            for expectation in expectations:
                for configuration in expectation.configurations(parameters):
                    name, column = configuration["meta"]["name"], configuration["meta"]["column"]
                    asked.setdefault((name, column), (tool, suite, name, column, configuration["severity"]))
    return list(asked.values())


@dataclass(frozen=True)
class Broken:
    """The findings in a recording with each expectation of a group violated in a different row."""

    row_of: dict[tuple[str, str | None], str]
    """The id of that row, by the expectation's name and column."""
    verdict: Verdict

    def rows_failing(self, suite: str, name: str, column: str | None) -> set[str]:
        (finding,) = [e for e in self.verdict.findings if (e.suite, e.name, e.column) == (suite, name, column)]
        return set(finding.rows)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Tool, str, str], Broken]:
    """Violate all expectations of a tool, suite and severity together: each examination takes a second."""

    @cache
    def break_all(tool: Tool, suite: str, severity: str) -> Broken:
        names = [
            (name, column)
            for *group, name, column, weight in every_expectation()
            if (*group, weight) == (tool, suite, severity)
        ]
        study, rows = small_study(1.0, tool), recorded(tool, configurations=12)
        design, row_of = design_of(rows, study), {}
        assert len(names) < len(rows)
        for place, (name, column) in enumerate(names):
            assert (name, column) in CASES, f"{suite}.{name} {column or ''}: give CASES a row that breaks it"
            rows = rows[:place] + CASES[name, column](rows[place:])
            row_of[name, column] = rows[place].repetition_id
        examination = Examination(tmp_path_factory.mktemp("docs"), "broken")
        return Broken(row_of, examine(rows, design, study, examination))

    return break_all


@pytest.mark.parametrize(
    ("tool", "suite", "name", "column", "severity"),
    [asked for asked in every_expectation() if asked[1] not in OF_THE_WHOLE_TABLE],
)
def test_each_expectation_is_failed_by_its_corrupted_row_and_by_no_other(
    broken: Callable[[Tool, str, str], Broken], tool: Tool, suite: str, name: str, column: str | None, severity: str
) -> None:
    found = broken(tool, suite, severity)
    row = found.row_of[name, column]

    assert found.rows_failing(suite, name, column) == {row}
    assert [(e.name, e.column) for e in found.verdict.findings if row in e.rows] == [(name, column)]
    if severity == "critical":
        assert (column or "") in found.verdict.rejected[row]
    else:
        assert found.verdict.rejected == {}


@pytest.mark.parametrize(
    ("suite", "name"), dict.fromkeys(asked[1:3] for asked in every_expectation() if asked[1] in OF_THE_WHOLE_TABLE)
)
def test_each_expectation_of_the_full_table_alone_stops_the_gate(suite: str, name: str, tmp_path: Path) -> None:
    columns = [column for _, _, other, column, _ in every_expectation() if other == name]
    rows = recorded()
    for place, column in enumerate(columns):
        rows = rows[:place] + CASES[name, column](rows[place:])
    campaign = campaign_with(tmp_path, rows, tolerated=1.0)

    with pytest.raises(GateError):
        validate.run(campaign)

    summary = summary_of(campaign)
    failed = [(e.suite, e.name, e.column) for e in summary.expectations if not e.success]
    assert failed == [(suite, name, column) for column in columns]
    assert (summary.repetitions_accepted == 0) == (suite == "schema")
    assert rejected_of(campaign).empty


_SUITE = suites_of(PRODUCER)[SUITE]
_COLUMNS = sorted(
    {column for each in _SUITE for column in each.columns if isinstance(each.columns, list)}
    | {value for each in _SUITE for key, value in each.kwargs.items() if key in ("column", "column_A", "column_B")}
)
FIELDS = sorted(set(_COLUMNS) & set(repetition_columns(PRODUCER)) - {"generator_bound"})
VALUES = st.one_of(st.none(), st.sampled_from([0.0, -1.0, 1.0, 1000.0, 1e9]), st.floats(0.0, 1e4))
DAMAGES = st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4), min_size=40, max_size=40)


@pytest.mark.parametrize("tool", get_args(Tool))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damages=DAMAGES)
def test_the_measurers_rules_find_the_rows_that_great_expectations_finds(
    tmp_path_factory: pytest.TempPathFactory, tool: Tool, damages: list[dict[str, float | None]]
) -> None:
    study, rows = small_study(1.0, tool), recorded(tool, configurations=12)
    rows = [row.with_values(_typed(damage)) for row, damage in zip(rows, damages, strict=False)]
    table = derived_table(rows, [], study)
    examination = Examination(tmp_path_factory.mktemp("docs"), "equal")
    findings = examination.check(SUITE, _SUITE, table, suite_parameters(study))

    critical = [finding for finding in findings if finding.is_critical]
    wanted = {row.repetition_id: {e.name for e in critical if row.repetition_id in e.rows} for row in rows}
    rules = PlausibilityRules(study)
    judged = {row.repetition_id: rules.with_implausible_failed(row) for row in rows}
    assert {name: set(each.broken_rules) for name, each in judged.items()} == wanted
    assert {name for name, each in judged.items() if each.outcome == "failed"} == {n for n, r in wanted.items() if r}


def _typed(damage: dict[str, float | None]) -> dict[str, float | int | None]:
    """The values in their fields' types; a count of records that must be there is never missing."""
    whole = ("records_requested", "records_sent", "end_offset_growth")
    typed = {name: int(value) if name in whole and value is not None else value for name, value in damage.items()}
    always = ("records_requested", "wall_s", "cpu_steal_fraction")
    return {name: value for name, value in typed.items() if not (name in always and value is None)}


@pytest.mark.parametrize(
    ("tool", "name", "column", "severity"),
    [(tool, *asked) for tool, suite, *asked in every_expectation() if suite == SUITE],
)
def test_each_critical_expectation_of_a_valid_repetition_is_judged_before_it_is_stored(
    tool: Tool, name: str, column: str | None, severity: str
) -> None:
    rules = PlausibilityRules(small_study(0.25, tool))
    judged = [rules.with_implausible_failed(row) for row in CASES[name, column](recorded(tool))]
    assert [row.outcome == "failed" for row in judged] == [severity == "critical", *[False] * (len(judged) - 1)]


def test_no_corruption_is_left_over_from_an_expectation_that_is_gone() -> None:
    assert set(CASES) == {(name, column) for _, _, name, column, _ in every_expectation()}
