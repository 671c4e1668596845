"""A campaign's runs in MLflow, on a real MLflow server with SQLite and a folder of artifacts."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from mlflow import MlflowClient
from playwright.sync_api import HttpCredentials, expect, sync_playwright

from kafka_pareto.analysis.hypervolume import measured_hypervolume
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import RoundsSoFar
from kafka_pareto.campaign.tables import HYPERVOLUME_COLUMNS, SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import TrackingError
from kafka_pareto.search.stopping import rounds_so_far
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.steps import optimize, train
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.sections import Rounds
from kafka_pareto.tracking import campaign_runs, champions, surrogate_runs
from kafka_pareto.tracking.links import r2_address, run_address
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.browser.chromium import PATIENCE_MS, launched
from tests.mlflow_server import PASSWORDS, MlflowServer, mlflow_server
from tests.recorded import recorded_repetitions
from tests.trained_campaign import recorded_campaign, small_study
from tests.unit import checking

pytestmark = [pytest.mark.servers, pytest.mark.studies]

CASE = "8192"
GENERATIONS = 10
STUDY = small_study((CASE,), generations=GENERATIONS)
EXPERIMENT = "kafka-pareto/paper"


@pytest.fixture(autouse=True)
def configured(server: MlflowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.configure(monkeypatch)


def learn_and_log(campaign: Campaign, round_number: int = 0, rounds: Iterable[RoundsSoFar] = ()) -> None:
    """Trains, which logs R² immediately, searches, and logs the remaining results like the report."""
    train.run(campaign, round_number)
    optimize.run(campaign, CASE, round_number)
    log_the_rest(campaign, round_number, rounds)


def log_the_rest(campaign: Campaign, round_number: int = 0, rounds: Iterable[RoundsSoFar] = ()) -> None:
    campaign_runs.log_r2(campaign, round_number)
    surrogate_runs.log_surrogates(campaign, round_number)
    campaign_runs.log_search(campaign, round_number, rounds)


@pytest.fixture(scope="module")
def trained(server: MlflowServer, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that was trained and searched, each step twice as by a retry."""
    campaign = recorded_campaign(tmp_path_factory.mktemp("store"), STUDY, recorded_repetitions((CASE,)), "first")
    with pytest.MonkeyPatch.context() as patch:
        server.configure(patch)
        for _ in range(2):
            learn_and_log(campaign)
    return campaign


@pytest.fixture
def client(server: MlflowServer) -> MlflowClient:
    return MlflowClient(server.address, server.address)


def runs_of(client: MlflowClient, campaign: str) -> dict[str, mlflow.entities.Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id], f"tags.`kafka_pareto.campaign` = '{campaign}'")
    names = [run.info.run_name for run in found]
    assert len(set(names)) == len(names)
    return dict(zip(names, found, strict=True))


def r2_of_rounds(client: MlflowClient, run: mlflow.entities.Run) -> dict[tuple[str, int], float]:
    """The R² on a campaign's run, by the metric's name and its step; each point must be there once."""
    names = [name for name in run.data.metrics if name.startswith("r2_")]
    points = [(name, each) for name in names for each in client.get_metric_history(run.info.run_id, name)]
    found = {(name, each.step): each.value for name, each in points}
    assert len(found) == len(points)
    return found


def scores_of_rounds(campaign: Campaign, rounds: int) -> dict[tuple[str, int], float]:
    """The same from the store's scores."""
    found = {}
    for number in range(rounds):
        key = campaign.keys.surrogates("scores.parquet", number)
        for row in campaign.read_table(key, SCORE_COLUMNS, factors=False).to_dict("records"):
            scope = "" if pd.isna(row["case"]) else f"/{row['case']}"
            for kind in ("r2_held_out", "r2_cross_validated", "r2_noise_ceiling"):
                found[f"{kind}_{row['objective']}{scope}", number] = row[kind]
    return {name: value for name, value in found.items() if not pd.isna(value)}


@pytest.mark.long
def test_a_campaign_that_dies_after_its_training_leaves_its_run_with_r2(tmp_path: Path, client: MlflowClient) -> None:
    campaign = recorded_campaign(tmp_path, STUDY, recorded_repetitions((CASE,), configurations=20), "died")
    train.run(campaign)
    runs = runs_of(client, "died")
    assert set(runs) == {"died"}
    assert r2_of_rounds(client, runs["died"]) == pytest.approx(scores_of_rounds(campaign, 1))
    assert {f"r2_held_out_{objective}/{CASE}" for objective in PRODUCER.objective_names} <= set(
        runs["died"].data.metrics
    )
    assert runs["died"].info.status == "RUNNING"  # it may be resumed


@pytest.mark.long
def test_an_outage_of_mlflow_loses_nothing_and_the_report_logs_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "mlflow"
    folder.mkdir()
    campaign = recorded_campaign(tmp_path / "store", STUDY, recorded_repetitions((CASE,), configurations=20), "cut")
    with mlflow_server(folder) as server:
        server.configure(monkeypatch)
        server.kill()
        with caplog.at_level("WARNING"):
            manifest = train.run(campaign)
    assert "cannot be reached" in caplog.text
    assert "the campaign continues, and the report logs the missing metrics" in caplog.text
    assert manifest.counts["surrogates"] == 4
    assert all(campaign.store.get(key) for key in manifest.artifacts)
    optimize.run(campaign, CASE)

    with mlflow_server(folder) as server:
        server.configure(monkeypatch)
        client = MlflowClient(server.address, server.address)
        killed = threading.Thread(target=kill_when_a_surrogate_is_logged, args=(server, client))
        killed.start()
        with pytest.raises(TrackingError, match="cannot be reached"):
            log_the_rest(campaign)
        killed.join()

    with mlflow_server(folder) as server:
        server.configure(monkeypatch)
        client = MlflowClient(server.address, server.address)
        assert set(runs_of(client, "cut")) < {"cut", *(f"train {each}" for each in PRODUCER.objective_names)}
        log_the_rest(campaign)
        runs = runs_of(client, "cut")
        assert {run.info.status for run in runs.values()} == {"FINISHED"}
        assert len(runs) == 2 + len(PRODUCER.objective_names)
        assert r2_of_rounds(client, runs["cut"]) == pytest.approx(scores_of_rounds(campaign, 1))
        assert len(client.search_model_versions()) == len(PRODUCER.objective_names)


def kill_when_a_surrogate_is_logged(server: MlflowServer, client: MlflowClient) -> None:
    def look() -> bool:
        experiment = client.get_experiment_by_name(EXPERIMENT)
        return experiment is not None and len(client.search_runs([experiment.experiment_id])) > 1

    wait_until("the first surrogate's run is there", look, 120, poll_s=0.05)
    server.kill()


@pytest.mark.usefixtures("trained")
def test_the_run_list_that_our_link_opens_shows_r2_in_a_browser(client: MlflowClient) -> None:
    address = r2_address(load_settings(), CampaignKeys("paper", "first"))
    assert address is not None
    r2 = runs_of(client, "first")["first"].data.metrics
    login = HttpCredentials(username=ADMIN, password=PASSWORDS[ADMIN])
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_context(viewport={"width": 1900, "height": 800}, http_credentials=login).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        for objective in PRODUCER.objective_names:
            name = f"r2_held_out_{objective}"
            expect(page.get_by_role("columnheader").filter(has_text=re.compile(f"^{name}$"))).to_be_visible()
            shown = page.locator(f'[role=gridcell][col-id="metrics.`{name}`"]').first
            expect(shown).to_have_text(re.compile(rf"^{re.escape(str(r2[name])[:5])}"))


@pytest.mark.usefixtures("trained")
def test_a_retried_campaign_has_one_parent_and_one_child_per_objective_and_search(client: MlflowClient) -> None:
    runs = runs_of(client, "first")
    assert set(runs) == {"first", f"optimize {CASE}", *(f"train {objective}" for objective in PRODUCER.objective_names)}
    parent = runs.pop("first")
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert {run.info.status for run in [parent, *runs.values()]} == {"FINISHED"}


@pytest.mark.usefixtures("trained")
def test_the_campaigns_run_is_found_without_mlflows_package_by_a_login_that_only_reads(
    client: MlflowClient, server: MlflowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs_of(client, "first")["first"]
    server.configure(monkeypatch, EXPLORER_USER)
    settings = load_settings()
    address = run_address(settings, CampaignKeys("paper", "first"))
    listed = f"{server.address}/#/experiments/{run.info.experiment_id}/runs"
    assert address == f"{listed}/{run.info.run_id}?workflowType=machine_learning"
    assert r2_address(settings, CampaignKeys("paper", "first")) == (
        f"{listed}?viewStateShareKey=r2&workflowType=machine_learning"
    )
    assert run_address(settings, CampaignKeys("paper", "another")) is None
    assert run_address(settings, CampaignKeys("unheard-of", "first")) is None
    with pytest.raises(TrackingError, match="refused a request without a login; set KAFKA_PARETO_MLFLOW_USERNAME"):
        run_address(Settings(mlflow_tracking_uri=server.address, mlflow_username=""), CampaignKeys("paper", "first"))


@pytest.mark.usefixtures("trained")
def test_each_objective_has_one_version_however_often_its_step_ran(client: MlflowClient) -> None:
    for objective in PRODUCER.objective_names:
        versions = client.search_model_versions(f"name = 'kafka-pareto.paper.{objective}'")
        own = [version for version in versions if version.tags["kafka_pareto.campaign"] == "first"]
        assert len(own) == 1


def test_the_metrics_of_a_child_are_the_scores_in_the_store(trained: Campaign, client: MlflowClient) -> None:
    scores = trained.read_table(trained.keys.surrogates("scores.parquet"), SCORE_COLUMNS, factors=False)
    for objective in PRODUCER.objective_names:
        run = runs_of(client, "first")[f"train {objective}"]
        pooled = scores[(scores["objective"] == objective) & scores["case"].isna()].iloc[0]
        names = ("r2_train", "r2_held_out", "mae_held_out", "rmse_held_out", "r2_noise_ceiling")
        assert {name: run.data.metrics[name] for name in names} == pytest.approx({name: pooled[name] for name in names})
        assert run.data.metrics[f"r2_held_out_{CASE}"] == pytest.approx(pooled["r2_held_out"])
        assert run.data.params["max_depth"] == "6"
        curve = client.get_metric_history(run.info.run_id, "learning_curve_r2_held_out")
        assert len({point.step for point in curve}) == len(curve) == 4


@pytest.mark.usefixtures("trained")
def test_a_child_has_its_figures_and_its_data_set_with_the_hash(client: MlflowClient) -> None:
    run = runs_of(client, "first")["train p95_latency_ms"]
    pictures = {Path(file.path).name for file in client.list_artifacts(run.info.run_id, "figures")}
    kinds = ("estimated_vs_measured", "importance", "learning_curve")
    assert pictures == {f"p95_latency_ms_{kind}.png" for kind in kinds}
    (data,) = run.inputs.dataset_inputs
    assert run.data.params["trials_sha256"].startswith(data.dataset.digest)


def test_a_registered_model_has_a_signature_and_estimates_like_the_one_in_the_store(
    trained: Campaign, client: MlflowClient
) -> None:
    version = client.search_model_versions("name = 'kafka-pareto.paper.throughput_mib_s'")[0]
    uri = f"models:/{version.name}/{version.version}"
    info = mlflow.models.get_model_info(uri)
    assert info.signature.inputs.input_names()[-1] == "record_size_bytes"
    trials = trained.read_table(trained.keys.trials(), TRIAL_COLUMNS)
    surrogate = optimize._surrogates(trained, 0)["throughput_mib_s"]
    loaded = mlflow.pyfunc.load_model(uri)
    assert loaded.predict(surrogate.encoding.encode(trials)) == pytest.approx(surrogate.predict(trials))


@pytest.mark.usefixtures("trained")
def test_nothing_in_a_stored_model_is_a_pickle(client: MlflowClient, tmp_path: Path) -> None:
    version = client.search_model_versions("name = 'kafka-pareto.paper.throughput_mib_s'")[0]
    folder = mlflow.artifacts.download_artifacts(f"models:/{version.name}/{version.version}", dst_path=str(tmp_path))
    suffixes = {file.suffix for file in Path(folder).rglob("*") if file.is_file()}
    assert ".ubj" in suffixes
    assert not suffixes & {".pkl", ".pickle", ".joblib"}


def test_the_hypervolume_of_every_generation_is_a_metric_with_its_step(trained: Campaign, client: MlflowClient) -> None:
    run = runs_of(client, "first")[f"optimize {CASE}"]
    history = client.get_metric_history(run.info.run_id, "hypervolume")
    stored = trained.read_table(trained.keys.hypervolume(CASE), HYPERVOLUME_COLUMNS, factors=False)
    logged = {point.step: point.value for point in history}
    assert logged == pytest.approx(dict(zip(stored["generation"], stored["hypervolume"], strict=True)))
    assert len(history) == GENERATIONS


@pytest.mark.long
def test_other_data_replaces_a_campaigns_runs_and_versions(tmp_path: Path, client: MlflowClient) -> None:
    learn_and_log(recorded_campaign(tmp_path, STUDY, recorded_repetitions((CASE,), configurations=20), "replaced"))
    before = runs_of(client, "replaced")["train latency_cv"].info.run_id
    learn_and_log(recorded_campaign(tmp_path, STUDY, recorded_repetitions((CASE,), configurations=30), "replaced"))
    assert runs_of(client, "replaced")["train latency_cv"].info.run_id != before
    versions = client.search_model_versions("name = 'kafka-pareto.paper.latency_cv'")
    assert [version.tags["kafka_pareto.campaign"] for version in versions].count("replaced") == 1


@pytest.mark.long
def test_the_last_rounds_models_and_searches_are_the_campaigns_and_every_rounds_hypervolume_is_a_step(
    tmp_path: Path, client: MlflowClient
) -> None:
    study = STUDY.model_copy(
        update={
            "name": "rounds",
            "strategy": "rounds",
            "rounds": Rounds(maximum=1),
            "search": STUDY.search.model_copy(update={"generations": 2}),
        }
    )
    campaign = recorded_campaign(tmp_path, study, recorded_repetitions((CASE,), configurations=15), "c1")
    more = summarise_trials(recorded_repetitions((CASE,), configurations=25), study)
    campaign.write_table(campaign.keys.trials(1), more, TRIAL_COLUMNS)
    trials = [campaign.read_table(campaign.keys.trials(number), TRIAL_COLUMNS) for number in (0, 1)]
    train.run(campaign, 0)
    learn_and_log(campaign, 1, [rounds_so_far(study, CASE, trials)])

    experiment = client.get_experiment_by_name("kafka-pareto/rounds")
    assert experiment is not None
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    parts = [f"optimize {CASE}", *(f"train {objective}" for objective in PRODUCER.objective_names)]
    assert set(runs) == {"c1", *parts}
    assert {runs[part].data.params["round"] for part in parts} == {"1"}
    (version,) = client.search_model_versions("name = 'kafka-pareto.rounds.p95_latency_ms'")
    assert version.run_id == runs["train p95_latency_ms"].info.run_id
    assert r2_of_rounds(client, runs["c1"]) == pytest.approx(scores_of_rounds(campaign, 2))
    volumes = client.get_metric_history(runs["c1"].info.run_id, f"measured_hypervolume_{CASE}")
    assert {point.step: point.value for point in volumes} == {
        number: pytest.approx(measured_hypervolume(trials[number], study)) for number in (0, 1)
    }


def test_the_champion_moves_only_to_a_smaller_error(tmp_path: Path, client: MlflowClient) -> None:
    study = STUDY.model_copy(update={"name": "champions"})
    repetitions = recorded_repetitions((CASE,))
    halved = [r.with_values({"latency_p95_ms": (r.number("latency_p95_ms") or 0) / 2}) for r in repetitions]
    wrong = recorded_campaign(tmp_path, study, halved, "wrong")
    right = recorded_campaign(tmp_path, study, repetitions, "right")
    confirmation = right.read_table(right.keys.trials(), TRIAL_COLUMNS)
    learn_and_log(wrong)
    learn_and_log(right)

    first = {outcome.objective: outcome for outcome in champions.judge_champions(wrong, confirmation)}
    assert all(outcome.moved and outcome.champion_version is None for outcome in first.values())

    second = {outcome.objective: outcome for outcome in champions.judge_champions(right, confirmation)}
    latency = second["p95_latency_ms"]
    assert latency.moved
    assert latency.champion_error is not None
    assert latency.error < latency.champion_error
    assert not second["throughput_mib_s"].moved  # equally good: the champion stays

    again = {outcome.objective: outcome for outcome in champions.judge_champions(right, confirmation)}
    assert not any(outcome.moved for outcome in again.values())
    alias = client.get_model_version_by_alias("kafka-pareto.champions.p95_latency_ms", "champion")
    assert alias.version == latency.version == again["p95_latency_ms"].champion_version
    run = client.get_run(alias.run_id)
    assert run.data.metrics["confirmation_error"] == pytest.approx(latency.error)
    assert run.data.metrics["confirmation_error_of_champion"] == pytest.approx(latency.champion_error)


def test_without_a_confirmed_point_no_champion_is_made(trained: Campaign, client: MlflowClient) -> None:
    nothing = trained.read_table(trained.keys.trials(), TRIAL_COLUMNS).iloc[:0]
    assert champions.judge_champions(trained, nothing) == []
    assert client.get_registered_model("kafka-pareto.paper.latency_cv").aliases == {}


def test_the_report_is_stored_with_the_campaigns_run(trained: Campaign, client: MlflowClient, tmp_path: Path) -> None:
    campaign_runs.log_report(trained, "<p>β</p>".encode())
    run_id = runs_of(client, "first")["first"].info.run_id
    stored = client.download_artifacts(run_id, "report.html", str(tmp_path))
    assert Path(stored).read_text(encoding="utf-8") == "<p>β</p>"


def test_a_server_that_is_down_is_one_clear_message_within_half_a_minute(
    trained: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", f"http://somebody:secret@{address}")
    started = time.monotonic()
    with pytest.raises(TrackingError) as raised:
        campaign_runs.log_report(trained, b"")
    assert time.monotonic() - started < 30
    assert f"MLflow at http://{address} cannot be reached" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.long
def test_a_server_that_never_answers_times_out_within_half_a_minute(
    trained: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        with pytest.raises(TrackingError, match="cannot be reached"):
            campaign_runs.log_report(trained, b"")
        assert time.monotonic() - started < 35


def test_without_a_tracking_uri_nothing_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", "")
    campaign = Campaign(STUDY, CampaignKeys("paper", "untracked"), FolderStore(tmp_path))
    assert champions.judge_champions(campaign, pd.DataFrame()) == []
    campaign_runs.log_report(campaign, b"")


def test_the_checks_of_a_study_are_one_run_with_a_step_each_however_often_one_is_compared(
    client: MlflowClient, tmp_path: Path
) -> None:
    checking.activate(checking.confirmed(tmp_path))
    found = [checking.checked(tmp_path, "k1"), checking.checked(tmp_path, "k2", checking.slower(0.5))]
    checking.outcome(tmp_path, "k2")

    experiment = client.get_experiment_by_name("kafka-pareto/quick")
    assert experiment is not None
    [run] = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == ("checks", "FINISHED")

    def series(name: str) -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)]

    assert series(f"drifted_{CASE}") == series(f"change_point_{CASE}") == [(1, 0.0), (2, 1.0)]
    ratios = [each.ratios["throughput_mib_s"].ratio for each in found]
    assert series(f"throughput_mib_s_ratio_{CASE}") == [(1, pytest.approx(ratios[0])), (2, pytest.approx(ratios[1]))]
