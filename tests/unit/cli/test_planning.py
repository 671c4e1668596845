"""The cost of a campaign, computed without a stack and without a cluster."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import RunRequest
from kafka_pareto_cli.app import app
from kafka_pareto_cli.local_run import run_here
from kafka_pareto_cli.planning import plan_campaign, print_plan

pytestmark = pytest.mark.fast

OURS = {"bootstrap_servers": "a:9092", "ceiling_mib_s": 20.0, "ceiling_gib": 8.0}


def test_a_cluster_of_ones_own_is_shown_with_its_ceilings_and_needs_consent() -> None:
    planned = plan_campaign(RunRequest(record_sizes=[1024], **OURS), Settings())
    assert planned.cluster == "a:9092, at most 20 MiB/s and 8 GiB"
    assert planned.needs_consent
    assert planned.cases == ["1024"]
    assert not plan_campaign(RunRequest(consent=True, **OURS), Settings()).needs_consent
    assert not plan_campaign(RunRequest(), Settings()).needs_consent


@pytest.mark.parametrize("study", ["quick", "steady", "paper", "impact", "ingest", "topologies", "log_pipeline"])
def test_every_kind_of_study_is_planned(study: str) -> None:
    planned = plan_campaign(RunRequest(study=study), Settings())
    assert planned.plan.repetitions > 0
    assert planned.plan.duration_s > 0
    assert planned.cases


def test_a_baseline_and_a_login_are_shown_as_they_were_understood_without_a_secret(tmp_path: Path) -> None:
    baseline, login = tmp_path / "application.yml", tmp_path / "client.properties"
    baseline.write_text("spring:\n  kafka:\n    producer:\n      acks: all\n      batch-size: 64KB\n      retries: 3\n")
    login.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=x password='hunter2';\n")
    planned = plan_campaign(RunRequest(baseline=str(baseline), client_config=str(login), **OURS), Settings())
    assert "batch.size=65536" in planned.baseline[0]
    assert planned.login == f"{login}: security.protocol=SASL_SSL, sasl.mechanism=PLAIN, 1 other property"
    console = Console(record=True, width=80)
    print_plan(planned, console)
    text = console.export_text()
    assert "hunter2" not in text
    assert max(map(len, text.splitlines())) <= 80
    for name in ("Study", "Cluster", "Login", "Baseline", "Repetitions", "Time", "Sent", "Disk", "Topics"):
        assert f"\n{name} " in f"\n{text}"


def test_the_settings_file_that_a_study_names_is_shown_as_it_was_understood(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "schema_version: 1\nkind: compare\ndriver: consumer\nname: mine\ndescription: Polls.\n"
        "testbed: {brokers: 1}\nworkload: {replication_factor: 1, min_insync_replicas: 1}\n"
        "reference: consumer.properties\ntables: [{factor: max.poll.records, levels: [500, 2000]}]\n"
    )
    (tmp_path / "consumer.properties").write_text("fetch.min.bytes=65536\nauto.offset.reset=latest\n")
    planned = plan_campaign(RunRequest(study="mine"), Settings(studies=tmp_path))
    assert planned.baseline == [
        "the study's consumer.properties, read as Java properties: fetch.min.bytes=65536",
        "ignored auto.offset.reset: is always earliest in a measurement, since the group reads the whole topic",
    ]


def test_a_comparisons_baseline_is_refused_before_its_file_is_read_as_a_producers(tmp_path: Path) -> None:
    consumer = tmp_path / "consumer.properties"
    consumer.write_text("max.poll.records=2000\n")
    with pytest.raises(
        BadInputError, match=r"^BASELINE: study impact_consumer is of kind compare.*set the study's ref"
    ):
        plan_campaign(RunRequest(study="impact_consumer", baseline=str(consumer)), Settings())


def test_a_resumed_comparisons_baseline_is_refused_the_same_way(tmp_path: Path) -> None:
    consumer = tmp_path / "consumer.properties"
    consumer.write_text("max.poll.records=2000\n")
    done = CliRunner().invoke(app, ["run", "impact_consumer", "--campaign", "c1", "--baseline", str(consumer)])
    assert done.exit_code == 65
    assert "study impact_consumer is of kind compare" in done.output


def test_a_cluster_of_ones_own_without_ceilings_is_refused_by_the_names_of_the_options() -> None:
    with pytest.raises(BadInputError, match="give both CEILING_MIB_S and CEILING_GIB"):
        plan_campaign(RunRequest(bootstrap_servers="a:9092"), Settings())


def test_the_plan_is_json_for_scripts() -> None:
    done = CliRunner().invoke(app, ["plan", "impact_quick", "--json"])
    assert done.exit_code == 0, done.output
    planned = json.loads(done.stdout)
    assert (planned["kind"], planned["driver"], planned["cases"]) == ("compare", "producer", ["acks", "grid"])


def test_a_file_of_ones_own_is_a_study(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((Settings().studies / "quick.yaml").read_text().replace("name: quick", "name: mine"))
    done = CliRunner().invoke(app, ["plan", str(file), "--record-sizes", "1024", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["study"] == "mine"
    missing = CliRunner().invoke(app, ["plan", str(tmp_path / "none.yaml")])
    assert missing.exit_code == 65
    assert "none.yaml: there is no such file" in missing.output


def test_a_local_run_names_its_folder_as_it_is(tmp_path: Path) -> None:
    said, folder = io.StringIO(), tmp_path / "[bold]results"
    with pytest.raises(BadInputError, match="has no such campaign"):
        run_here(RunRequest(study="quick", campaign="c"), Settings(store_folder=folder), Console(file=said, width=40))
    assert said.getvalue() == f"Campaign c of study quick, stored in {folder}\n"


def test_a_plan_imports_nothing_heavy() -> None:
    code = """
import sys
from kafka_pareto_cli.app import app
try:
    app(["plan", "quick", "--json"])
except SystemExit as end:
    assert not end.code, end.code
heavy = {"airflow", "great_expectations", "matplotlib", "minio", "mlflow", "pandas", "pymoo", "scipy.stats", "xgboost"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"
