"""The main job through kills of every process: `paper` scaled down, by the DAG on the embedded stack."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from statistics import geometric_mean

import pandas as pd
import pytest

from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.report.cards import Cards
from kafka_pareto.study.cases import case_label
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from tests.stack.embedded_stack import EmbeddedStack
from tests.stack.kills import Survived

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(1500)]

CASES = ["1024", "8192"]
TABLES = [
    *("table1_best_and_worst.csv", "table2_best_per_objective.csv"),
    *("r2_per_objective.csv", "estimated_vs_measured.csv"),
]


def test_ends_with_one_card_per_record_size_and_the_addresses_of_everything(
    survived: Survived, stack: EmbeddedStack
) -> None:
    for case in CASES:
        assert re.search(rf"\b{case_label(case)}\b", survived.said), survived.said
    for address in (stack.stack.airflow_url, stack.stack.mlflow_url, "report.html", "index.html"):
        assert address in survived.said


def test_all_artifacts_of_the_design_lie_in_minio(survived: Survived) -> None:
    keys = survived.campaign.keys
    found = set(survived.campaign.store.keys(keys.prefix))
    expected = {keys.frozen_study(), keys.plan(), keys.design(), keys.trials(), keys.validation("data_docs/index.html")}
    expected |= {keys.surrogates(f"{objective}.ubj") for objective in PRODUCER.objective_names}
    expected |= {keys.report(name) for name in ("report.html", "cards.txt", "cards.json")}
    expected |= {keys.report(f"tables/{name}") for name in TABLES}
    for case in CASES:
        expected |= {keys.front(case), keys.hypervolume(case), keys.confirmation(case, "decision.json")}
        expected |= {keys.report(f"{case}/producer.properties"), keys.fingerprint(case)}
    assert expected <= found
    figures = [key for key in found if key.startswith(keys.report("figures/"))]
    assert len(figures) >= 5
    assert all(survived.campaign.store.get(key).startswith(b"\x89PNG") for key in figures)


def test_the_tables_are_the_papers_of_this_campaigns_trials(survived: Survived) -> None:
    keys = survived.campaign.keys

    def table(name: str) -> pd.DataFrame:
        return pd.read_csv(io.BytesIO(survived.campaign.store.get(keys.report(f"tables/{name}"))))

    assert set(table("r2_per_objective.csv")["objective"]) == set(PRODUCER.objective_names)
    assert set(table("estimated_vs_measured.csv")["case"].astype(str)) == set(CASES)
    trials = survived.campaign.read_table(keys.trials(), TRIAL_COLUMNS)
    extremes = table("table1_best_and_worst.csv").astype({"case": str}).set_index("case")
    for case, of_case in trials[~trials.is_baseline].groupby("case"):
        assert extremes.best_throughput_mib_s[case] == pytest.approx(of_case.throughput_mib_s.max())
        assert extremes.worst_p95_latency_ms[case] == pytest.approx(of_case.p95_latency_ms.max())
    winners = table("table2_best_per_objective.csv")
    assert len(winners) == len(CASES) * len(PRODUCER.objective_names)
    named = trials.set_index(["case", "configuration_id"])
    for _, row in winners.iterrows():
        assert named.loc[(str(row["case"]), row["configuration_id"]), row["objective"]] == pytest.approx(row["value"])


def test_every_number_of_a_decision_traces_to_repetitions_of_this_campaign(survived: Survived) -> None:
    campaign = survived.campaign
    for case in CASES:
        decision = campaign.read_record(campaign.keys.confirmation(case, "decision.json"), Decision)
        stored = {
            r.repetition_id: r for r in campaign.read_repetitions(campaign.keys.confirmation(case, "repetitions/"))
        }
        for gain in decision.gains:
            used = [stored[name] for name in gain.reference_repetition_ids]
            if gain.objective == "throughput_mib_s":
                assert gain.reference_value == pytest.approx(
                    geometric_mean([r.number("throughput_mib_s") for r in used])
                )
            assert {r.phase for r in used} <= {"gain", "final"}


def test_trials_summarise_the_repetitions_that_they_name(survived: Survived) -> None:
    campaign = survived.campaign
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    named = [name for ids in trials.repetition_ids for name in ids]
    assert len(set(named)) == len(named) == int(trials.repetitions_valid.sum())
    assert trials.groupby("case").is_baseline.sum().tolist() == [1, 1]


def test_the_producer_properties_are_those_of_the_decision(survived: Survived) -> None:
    """Those of the card: the stored decisions have not yet been adjusted across the record sizes."""
    campaign = survived.campaign
    cards = campaign.read_record(campaign.keys.report("cards.json"), Cards).cards
    for case, decision in zip(CASES, cards, strict=True):
        text = campaign.store.get(campaign.keys.report(f"{case}/producer.properties")).decode()
        wanted = decision.pick_properties if decision.verdict == "recommended" else decision.baseline_properties
        assert wanted is not None
        assert parse_properties(text) == {name: str(value).lower() for name, value in wanted.items()}


def test_the_run_is_green_in_airflow_with_tasks_labelled_by_record_size(
    survived: Survived, airflow: AirflowClient
) -> None:
    runs = airflow.latest_runs("tune_producer")
    [run] = [run for run in runs if run.parameters.get("campaign") == survived.campaign.keys.campaign]
    assert run.state == "success"
    tasks = airflow.tasks("tune_producer", run.dag_run_id)
    # `paper_small` is a one shot: round 1's propose finds nothing to do, and the rounds' other tasks are skipped.
    of_rounds = {task.task_id: task.state for task in tasks if task.task_id.startswith("round_")}
    assert of_rounds.pop("round_1.propose") == "success"
    assert set(of_rounds.values()) == {"skipped"}
    others = {task.task_id: task.state for task in tasks if not task.task_id.startswith("round_")}
    assert others.pop("ask") == "skipped"  # nobody has to decide
    assert set(others.values()) == {"success"}
    for step in ("measure", "optimize", "confirm"):
        labels = {task.label for task in tasks if task.task_id == step}
        assert labels == {f"{case} B" for case in CASES}


@pytest.mark.usefixtures("survived")
def test_mlflow_shows_the_r2_of_four_models(stack: EmbeddedStack) -> None:
    program = (
        "import json, mlflow\n"
        "runs = mlflow.search_runs(experiment_names=['kafka-pareto/paper_small'], output_format='list')\n"
        "print(json.dumps([run.data.metrics for run in runs]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **stack.mlflow_environment()},
        cwd=stack.state,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    metrics = json.loads(done.stdout.splitlines()[-1])
    assert sum("r2_held_out" in run and "r2_train" in run for run in metrics) == 4
