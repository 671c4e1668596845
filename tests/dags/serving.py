"""A real Airflow with the real DAGs over stand-in steps, a store, another team's DAG, and people to notify."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, encode_table
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.measurement.cost import plan_campaign
from kafka_pareto.report.cards import Cards
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.study_file import dump_study
from kafka_pareto_embedded.airflow_api.administrator import administrator
from kafka_pareto_embedded.airflow_api.client import PAGE, AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.stack.stack import Stack
from tests.dags.airflow_server import running_airflow
from tests.dags.conftest import PROJECT
from tests.dags.receivers import mail_server, webhook
from tests.recorded import paper_study

HERE = Path(__file__).parent
STEPS = (
    *("design", "propose", "measure", "validate", "train", "optimize", "confirm", "report", "accept", "roll_back"),
    *("check", "check_measure", "check_compare", "clean_up"),
    *("list_load_machines", "run_load_machine", "stop_load_machines"),
)

# The decision of the one record size, as `stand_in_step.py` tells of it.
RECOMMENDED = {
    "case": "1024",
    "verdict": "recommended",
    "recommended_configuration_id": "c0123456789",
    "pick_configuration_id": "c0123456789",
    "pick_properties": {"acks": "1"},
    "pick_durability": "acks_1",
    "baseline_properties": {"acks": "all"},
    "baseline_durability": "acks_all_idempotent",
    "in_force": None,
}


@dataclass(frozen=True)
class Served:
    """The servers of this folder's tests: `stack` is Airflow's, `store` the folder that the steps write to."""

    stack: Stack
    store: Path
    mails: list[Message]
    posts: list[dict[str, Any]]
    client: AirflowClient

    def noted(self, name: str) -> list[list[Any]]:
        """The lines that the stand-in steps, or the DAG that reacts, have written to this file."""
        path = self.store / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        self.client.trigger(dag_id, conf, run_id)

    def log(self, dag_id: str, run_id: str, task_id: str) -> list[str]:
        """Return the log of the task's last try, its folds included."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}"
        number = self.ask("GET", path)["try_number"]
        return [str(line["event"]) for line in self.ask("GET", f"{path}/logs/{number}?full_content=true")["content"]]

    def ended(self, dag_id: str, run_id: str) -> str:
        """The state in which the run has ended, once it has."""
        soon(f"{run_id} has ended", lambda: self.client.run(dag_id, run_id).has_ended)
        return self.client.run(dag_id, run_id).state

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send Airflow's REST API, as administrator, a request that the client has no method for."""
        return dict(self.client.ask(method, path, body))


def soon(what: str, condition: Callable[[], bool]) -> None:
    """Wait for an effect in this Airflow."""
    wait_until(what, condition, 240, "see the logs of this test's Airflow", poll_s=0.5)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Run all of it below an empty folder; nothing of it is left afterwards."""
    store, project, dags = (folder / name for name in ("store", "project", "dags"))
    _write_study(store / "paper")
    (project / "tasks").mkdir(parents=True)
    for step in STEPS:
        (project / "tasks" / f"{step}.py").symlink_to(HERE / "stand_in_step.py")
    (project / "include").symlink_to(PROJECT / "include")
    dags.mkdir()
    for path in [*(PROJECT / "dags").glob("*.py"), HERE / "reacting_dag.py"]:
        (dags / path.name).symlink_to(path)
    studies = folder / "studies"
    studies.mkdir()
    for path in (PROJECT / "include" / "studies").glob("*.yaml"):
        (studies / path.name).symlink_to(path)
    (studies / "elsewhere.yaml").write_text("name: elsewhere\ncluster: {name: berlin}\n")
    machines = "protocol: {load_machines: 2}\n"
    (studies / "together.yaml").write_text(f"name: together\ncluster: {{name: hamburg}}\n{machines}")
    with mail_server() as (port, mails), webhook() as (address, posts):
        plain = {"disable_ssl": True, "disable_tls": True, "from_email": "kafka@example.org"}
        smtp = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": plain}
        environment = {
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "KAFKA_PARETO_PROJECT_ROOT": str(project),
            "KAFKA_PARETO_STORE_FOLDER": str(store),
            "KAFKA_PARETO_STUDIES": str(studies),
            "KAFKA_PARETO_CLIENT_CONFIGS": str(folder / "stack" / "client-configs"),
            "KAFKA_PARETO_NOTIFY": "log,smtp:ops@example.org,slack:our_team",
            "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(smtp),
            "AIRFLOW_CONN_OUR_TEAM": json.dumps({"conn_type": "slackwebhook", "password": address}),
        }
        with running_airflow(folder / "stack", environment) as stack, administrator(stack) as client:
            soon("Airflow has loaded every DAG", lambda: _has_loaded(dags, client))
            yield Served(stack, store, mails, posts, client)


def _has_loaded(dags: Path, airflow: AirflowClient) -> bool:
    """Returns true once Airflow, which parses one file after another, has a DAG from each file of the folder."""
    failures = airflow.import_failures()
    assert not failures, failures[0].stack_trace
    loaded = {dag["relative_fileloc"] for dag in airflow.ask("GET", "dags", query={"limit": PAGE})["dags"]}
    return loaded >= {file.name for file in dags.glob("*.py")}


def _write_study(folder: Path) -> None:
    study = paper_study().model_copy(update={"record_sizes_bytes": [1024, 65636]})
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(dump_study(study))
    (folder / "plan.json").write_text(plan_campaign(study, ProducerRuntime()).model_dump_json())
    (folder / "design.parquet").write_bytes(encode_table(design_table(study), DESIGN_COLUMNS, study))
    recorded = PROJECT / "tests" / "golden" / "recorded_store" / "golden" / "c1" / "07_report" / "cards.json"
    kept = decode_record(recorded.read_bytes(), str(recorded), Cards)
    decision = kept.cards[0].model_copy(update=RECOMMENDED)
    cards = Cards(study="paper", campaign="", cards=[decision], contexts=kept.contexts[:1])
    (folder / "cards.json").write_text(cards.model_dump_json())
