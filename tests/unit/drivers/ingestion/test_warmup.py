"""A warm-up sends its own kind of rows, counted in the plan but in no result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.drivers.ingestion.load import CheckRequest, IngestionLoad
from kafka_pareto.drivers.ingestion.output import CheckOutput, RowsFound
from kafka_pareto.drivers.ingestion.rows_files import RowsFiles
from kafka_pareto.drivers.ingestion.runtime import IngestionRuntime
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.errors import PlanError
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast


def study(warmup_rows: int, **workload: Any) -> CompareIngestion:
    return CompareIngestion(
        schema_version=1,
        name="tiny",
        description="One table.",
        testbed={"brokers": 1},
        tables=[{"factor": "processes", "levels": [1, 2]}],
        workload={"replication_factor": 1, "min_insync_replicas": 1, **workload},
        protocol={"repetitions": 3, "warmup_rows": warmup_rows},
    )


def test_the_plan_counts_a_restart_of_the_brokers_before_each_repetition_that_varies_them() -> None:
    of_processes = study(0)
    of_brokers = of_processes.model_validate(
        of_processes.model_dump(exclude_none=True) | {"tables": [{"factor": "num.io.threads", "levels": [8, 16]}]}
    )
    kept, restarted = (
        IngestionRuntime().cost_of(each, {each.cases[0]: 6}, sized=False) for each in (of_processes, of_brokers)
    )
    assert restarted.duration_s == pytest.approx(kept.duration_s + 6 * 10.5)


def files(folder: Path, of: CompareIngestion) -> RowsFiles:
    return RowsFiles(of, IngestionLoad("", None, Settings()), folder)


def test_the_plan_counts_the_warm_up_of_each_process() -> None:
    cold, warm = (
        IngestionRuntime().cost_of(study(rows, rows=1_000_000), {"processes": 6}, sized=False)
        for rows in (0, 1_000_000)
    )

    assert warm.sent_gib == pytest.approx(2.5 * cold.sent_gib)  # one process of two levels, two of the other
    assert warm.peak_disk_gib == pytest.approx(3 * cold.peak_disk_gib)
    assert cold.duration_s < warm.duration_s < 2.5 * cold.duration_s  # the warm-up's rows are not read back


@pytest.mark.parametrize(
    ("rows", "lines"), [(2, b"1,a\n2,b\n"), (3, b"1,a\n2,b\n3,c\n"), (5, b"1,a\n2,b\n3,c\n1,a\n2,b\n")]
)
def test_a_file_of_the_users_warms_up_with_its_own_lines_as_often_as_it_takes(
    tmp_path: Path, rows: int, lines: bytes
) -> None:
    file = tmp_path / "own.csv"
    file.write_bytes(b"id,name\n1,a\n2,b\n3,c")

    warmup = files(tmp_path, study(rows, file=str(file))).warmup_file(rows)

    assert warmup is not None
    assert warmup != file
    assert warmup.read_bytes() == b"id,name\n" + lines


def test_a_warm_up_of_the_users_rows_needs_room_on_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("id,name\n1,a\n")
    rows = 10**15

    with pytest.raises(PlanError, match=rf"warmup_{rows}\.csv: .* rows take about [0-9.]+ GiB, but .* are free"):
        files(tmp_path, study(rows, file=str(file))).warmup_file(rows)
    assert [each.name for each in tmp_path.iterdir()] == ["own.csv"]


def test_the_plan_counts_the_users_rows_with_their_own_size(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(("x" * 999 + "\n") * 10)

    plan = IngestionRuntime().cost_of(study(20, file=str(file)), {"processes": 6}, sized=False)

    assert plan.sent_gib == pytest.approx(6 * (10 + 1.5 * 20) * 1000 / 2**30)


class Recorded(IngestionLoad):
    """A tool that counts no rows, but keeps the requests to."""

    def __init__(self) -> None:
        self.asked: list[CheckRequest] = []

    def check(self, request: CheckRequest, watch: Callable[[], None] | None = None) -> CheckOutput:  # noqa: ARG002
        self.asked.append(request)
        return CheckOutput(file=RowsFound(rows=0, hash="0" * 32))


def test_a_large_file_is_given_the_time_to_be_read(tmp_path: Path) -> None:
    small, large, tool = tmp_path / "small.csv", tmp_path / "large.csv", Recorded()
    small.write_text("id,name\n1,a\n")
    with large.open("wb") as sparse:
        sparse.truncate(40 << 30)
    found = RowsFiles(study(0), tool, tmp_path)
    for file in (small, large):
        found.rows_of(file)

    assert [(each.timeout_s, each.timeout_key) for each in tool.asked] == [(600.0, ""), (2048.0, "")]


def test_a_study_without_a_warm_up_has_no_file_for_it(tmp_path: Path) -> None:
    assert files(tmp_path, study(0)).warmup_file(0) is None
    assert "cold_rows_s" not in study(0).compared
    assert "cold_rows_s" in study(1).compared
