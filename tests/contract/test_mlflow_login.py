"""Access to MLflow, and the harm a planted model can do, on a real server with a login."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import mlflow
import pytest
import yaml
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.errors import ArtifactError, TrackingError
from kafka_pareto.steps import train
from kafka_pareto.study.tune import Tune
from kafka_pareto.tracking import campaign_runs, champions, surrogate_runs
from kafka_pareto.tracking.champions import ChampionOutcome
from kafka_pareto.tracking.connection import CHAMPION, MODEL_TAG, registered_model_name
from kafka_pareto.tracking.links import CAMPAIGN_TAG
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER, STEPS_USER
from tests.mlflow_server import PASSWORDS, MlflowServer, mlflow_server
from tests.recorded import recorded_repetitions
from tests.trained_campaign import recorded_campaign, small_study

pytestmark = [pytest.mark.servers, pytest.mark.studies]

CASE = "8192"
OBJECTIVE = "p95_latency_ms"
API = "/api/2.0/mlflow"


@pytest.fixture(autouse=True)
def configured(server: MlflowServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.configure(monkeypatch)


def named(study_name: str) -> Tune:
    return small_study((CASE,), generations=2).model_copy(update={"name": study_name})


def trained(folder: Path, study: Tune, campaign_id: str) -> Campaign:
    return tracked(recorded_campaign(folder, study, recorded_repetitions((CASE,), configurations=20), campaign_id))


def tracked(campaign: Campaign) -> Campaign:
    train.run(campaign)
    surrogate_runs.log_surrogates(campaign, 0)
    return campaign


def judged(campaign: Campaign) -> ChampionOutcome:
    confirmed = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    [outcome] = [each for each in champions.judge_champions(campaign, confirmed) if each.objective == OBJECTIVE]
    return outcome


def version_of(client: MlflowClient, campaign: Campaign) -> ModelVersion:
    found = client.search_model_versions(f"name = '{registered_model_name(campaign.keys, OBJECTIVE)}'")
    [version] = [each for each in found if each.tags[CAMPAIGN_TAG] == campaign.keys.campaign]
    return version


def make_evil(client: MlflowClient, version: ModelVersion, folder: Path) -> Path:
    """Puts code into the version's model, for every loader of MLflow's; returns the file that the code writes."""
    proof, code = folder / "i-was-here", folder / "evil" / "code"
    code.mkdir(parents=True)
    (code / "evil.py").write_text(f"open({str(proof)!r}, 'w').close()\n")
    path = Path(mlflow.artifacts.download_artifacts(version.source, dst_path=str(folder / "genuine")))
    description = yaml.safe_load((path / "MLmodel").read_text())
    description["flavors"]["python_function"] |= {"loader_module": "evil", "code": "code"}
    description["flavors"]["xgboost"] |= {"model_class": "evil.Model", "code": "code"}
    (code.parent / "MLmodel").write_text(yaml.safe_dump(description))
    client.log_model_artifacts(version.source.rpartition("/")[2], str(code.parent))
    return proof


def loaded_by_its_flavour(server: MlflowServer, version: ModelVersion, flavour: str) -> None:
    """Loads the version as anybody may who does not know better."""
    environment = {**os.environ, "MLFLOW_TRACKING_URI": server.address, "MLFLOW_DISABLE_TELEMETRY": "true"}
    program = f"import mlflow; mlflow.{flavour}.load_model('models:/{version.name}/{version.version}')"
    subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120, check=False)


@dataclass(frozen=True)
class Poisoned:
    """A campaign whose champion contains code, and a later one compared with it."""

    client: MlflowClient
    first: Campaign
    error: float
    second: Campaign
    version: ModelVersion
    proof: Path


@pytest.fixture(scope="module")
def poisoned(server: MlflowServer, tmp_path_factory: pytest.TempPathFactory) -> Poisoned:
    folder, study = tmp_path_factory.mktemp("poisoned"), named("poisoned")
    with pytest.MonkeyPatch.context() as patch:
        server.configure(patch)
        client = MlflowClient(server.address, server.address)
        first, second = (trained(folder / "store", study, name) for name in ("first", "second"))
        error, version = judged(first).error, version_of(client, first)
        return Poisoned(client, first, error, second, version, make_evil(client, version, folder))


@pytest.fixture
def proof(poisoned: Poisoned) -> Iterator[Path]:
    """The file that the evil model writes; nothing of ours may have it written."""
    poisoned.proof.unlink(missing_ok=True)
    yield poisoned.proof
    poisoned.proof.unlink(missing_ok=True)


@pytest.mark.parametrize("flavour", ["xgboost", "pyfunc"])
def test_the_evil_model_is_evil(server: MlflowServer, poisoned: Poisoned, proof: Path, flavour: str) -> None:
    loaded_by_its_flavour(server, poisoned.version, flavour)
    assert proof.exists()


def test_code_in_place_of_the_champions_model_never_runs_and_the_stores_model_is_judged(
    poisoned: Poisoned, proof: Path
) -> None:
    poisoned.client.set_registered_model_alias(poisoned.version.name, CHAMPION, poisoned.version.version)
    outcome = judged(poisoned.second)
    assert not proof.exists()
    assert outcome.champion_version == poisoned.version.version
    assert outcome.champion_error == pytest.approx(poisoned.error)


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ({CAMPAIGN_TAG: "first", MODEL_TAG: "0" * 64}, f"is a different model: .*, MLflow has {'0' * 64}"),
        ({CAMPAIGN_TAG: "first"}, "is a different model: .*, MLflow has none"),
        ({CAMPAIGN_TAG: "../other"}, "campaign: '../other': must be"),
        ({CAMPAIGN_TAG: "gone"}, "there is no campaign .*/gone in the store"),
        ({}, "campaign: '': must be"),
    ],
)
def test_a_version_that_somebody_made_champion_by_hand_is_refused_by_its_hash_and_a_campaigns_takes_its_place(
    poisoned: Poisoned, proof: Path, caplog: pytest.LogCaptureFixture, tags: dict[str, str], reason: str
) -> None:
    caplog.set_level(logging.WARNING)
    name = poisoned.version.name
    source = poisoned.version.source
    evil = poisoned.client.create_model_version(name, source, tags=tags, model_id=source.rpartition("/")[2])
    poisoned.client.set_registered_model_alias(name, CHAMPION, evil.version)
    outcome = judged(poisoned.second)
    poisoned.client.delete_model_version(name, evil.version)
    assert not proof.exists()
    assert (outcome.champion_version, outcome.champion_error, outcome.moved) == (str(evil.version), None, True)
    assert re.search(f"{OBJECTIVE}: champion v{evil.version} is not used: .*{reason}", caplog.text)


def test_a_model_that_was_changed_in_the_store_is_refused_by_its_hash(
    poisoned: Poisoned, caplog: pytest.LogCaptureFixture
) -> None:
    poisoned.client.set_registered_model_alias(poisoned.version.name, CHAMPION, poisoned.version.version)
    store, key = poisoned.first.store, poisoned.first.keys.surrogates(f"{OBJECTIVE}.ubj")
    genuine = store.get(key)
    store.put(key, genuine[:-1])
    try:
        assert judged(poisoned.second).moved
        assert f"is not used: {key}: is not the model that its encoding.json describes" in caplog.text
        with pytest.raises(ArtifactError, match=r"is not the model that its encoding\.json describes"):
            judged(poisoned.first)
    finally:
        store.put(key, genuine)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", f"{API}/experiments/search?max_results=1"),
        ("GET", "/ajax-api/2.0/mlflow/experiments/search?max_results=1"),
        ("POST", f"{API}/runs/create"),
        ("POST", "/graphql"),
        ("GET", "/api/2.0/mlflow-artifacts/artifacts?path=0"),
        ("GET", "/api/2.0/mlflow-artifacts/artifacts/0/secret"),
        ("PUT", "/api/2.0/mlflow-artifacts/artifacts/0/evil"),
        ("POST", f"{API}/users/create"),
    ],
)
def test_without_a_login_nothing_is_shown_or_taken(server: MlflowServer, method: str, path: str) -> None:
    assert server.ask(method, path).status_code == 401
    shipped = httpx.request(method, f"{server.address}{path}", auth=("admin", "password1234"), trust_env=False)
    assert shipped.status_code == 401


def test_whoever_asks_only_whether_it_is_up_needs_no_login(server: MlflowServer) -> None:
    assert server.ask("GET", "/health").status_code == 200


def test_the_explorers_user_reads_and_changes_nothing(server: MlflowServer, poisoned: Poisoned) -> None:
    version = poisoned.version
    experiment = server.ask(
        "GET", f"{API}/experiments/get-by-name", EXPLORER_USER, params={"experiment_name": "kafka-pareto/poisoned"}
    ).json()["experiment"]["experiment_id"]
    refused = [
        server.ask("POST", f"{API}/runs/create", EXPLORER_USER, json={"experiment_id": experiment}),
        server.ask("PUT", f"/api/2.0/mlflow-artifacts/artifacts/{experiment}/evil", EXPLORER_USER, content=b"1"),
        server.ask(
            "POST",
            f"{API}/registered-models/alias",
            EXPLORER_USER,
            json={"name": version.name, "alias": "champion", "version": version.version},
        ),
    ]
    assert {answer.status_code for answer in refused} == {403}


def test_the_steps_user_makes_no_users(server: MlflowServer) -> None:
    wanted = {"username": "somebody", "password": "a-long-password"}
    assert server.ask("POST", f"{API}/users/create", STEPS_USER, json=wanted).status_code == 403
    assert server.ask("POST", f"{API}/users/create", ADMIN, json=wanted).status_code == 200


def test_a_wrong_login_is_one_clear_message_without_the_password(
    server: MlflowServer, poisoned: Poisoned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_MLFLOW_PASSWORD", "not-the-password")
    with pytest.raises(TrackingError) as raised:
        campaign_runs.log_report(poisoned.first, b"")
    assert str(raised.value).startswith(f"MLflow at {server.address} refused the login kafka-pareto; set KAFKA_PARETO_")
    assert "not-the-password" not in str(raised.value)


@pytest.mark.long
def test_users_may_be_made_again_with_other_passwords_and_the_administrators_stays(tmp_path: Path) -> None:
    with mlflow_server(tmp_path) as server:
        server.provide({**PASSWORDS, EXPLORER_USER: "another-password"})
        path = f"{API}/experiments/search?max_results=1"
        assert server.ask("GET", path, EXPLORER_USER).status_code == 401
        assert server.ask("GET", path, STEPS_USER).status_code == 200
        server.provide()
        assert server.ask("GET", path, EXPLORER_USER).status_code == 200
        with pytest.raises(TrackingError, match="refused the password of its user admin"):
            server.provide({**PASSWORDS, ADMIN: "not-the-password"})


@pytest.mark.long
def test_runs_tracked_before_mlflow_required_a_login_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, folder = named("upgraded"), tmp_path / "mlflow"
    folder.mkdir()
    with mlflow_server(folder, asks_for_a_login=False) as before:
        before.configure(monkeypatch)
        first = trained(tmp_path, study, "first")
        assert judged(first).moved
        client = MlflowClient(before.address, before.address)
        version = version_of(client, first)
        client.delete_model_version_tag(version.name, version.version, MODEL_TAG)  # as earlier releases left it
    with mlflow_server(folder) as after:
        after.configure(monkeypatch)
        second = trained(tmp_path, study, "second")
        assert judged(second).moved
        others = recorded_repetitions((CASE,), configurations=25)
        tracked(recorded_campaign(tmp_path, study, others, "first"))  # replaces its runs and its version
        client = MlflowClient(after.address, after.address)
        assert version_of(client, first).version != version.version
        assert not judged(second).moved
