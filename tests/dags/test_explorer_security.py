"""Who gets to see the explorer: asked of Airflow's own API server with the plugin in it, without a socket."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kafka_pareto.campaign.keys import CheckKeys, InForceKeys
from kafka_pareto.drift.check_records import Check, CheckedCase
from kafka_pareto.storage.folder_store import FolderStore
from tests.dags.conftest import PROJECT
from tests.unit.embedded.test_rollout import activate

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("airflow_database")]

PASSWORDS = {name: f"of {name}" for name in ("reader", "stranger", "berliner", "owner")}
CASE = "1024"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
EXAMPLES = {
    "study": "quick", "campaign": "c1", "case": "1024", "name": "explorer.js", "name:path": "07_report/report.html",
    "configuration": "c0123456789", "file": "producer.properties", "path:path": "docs",
}  # fmt: skip


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "passwords.json").write_text(json.dumps(PASSWORDS))
    environment = {
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.dags.by_cluster.ByCluster",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "reader:viewer,stranger:,berliner:viewer,owner:viewer",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(folder / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": "j" * 64,
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "plugins"),
        "KAFKA_PARETO_STORE_FOLDER": str(folder / "store"),
        "KAFKA_PARETO_STUDIES": str(folder / "studies"),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        from airflow.api_fastapi.app import create_app, purge_cached_app

        store = FolderStore(folder / "store")
        store.put("quick/c1/study.yaml", b"no study at all")
        for kind, study in (("tune", "there"), ("compare", "compared")):
            store.put(f"{study}/b1/study.yaml", f"kind: {kind}\ncluster:\n  name: berlin\n".encode())
        (folder / "studies").mkdir()
        for study in ("there", "moved", "early"):
            (folder / "studies" / f"{study}.yaml").write_text("cluster: {name: berlin}")
        _write_moved_studies(store)
        store.put("there/b1/payload.txt", b"records of a topic")
        purge_cached_app()
        yield TestClient(create_app(), base_url="http://127.0.0.1", follow_redirects=False)


def _write_moved_studies(store: FolderStore) -> None:
    """A study that was of the installation's own cluster before, and one whose version does not name its cluster."""
    in_berlin = b"kind: tune\ncluster:\n  name: berlin\n"
    for campaign, head in (("moved/c1", b"kind: tune\n"), ("moved/b1", in_berlin), ("early/b1", in_berlin)):
        store.put(f"{campaign}/study.yaml", head)
    activate(store, "moved", CASE, version=1, campaign="c1", cluster="")
    activate(store, "moved", CASE, version=2, campaign="b1", cluster="berlin")
    unnamed = activate(store, "early", CASE, campaign="b1").model_dump(mode="json", exclude={"cluster"})
    store.put(InForceKeys("early", CASE).version(1), json.dumps(unnamed).encode())
    for check, head in (("c2", b"kind: tune\n"), ("b2", in_berlin)):
        keys = CheckKeys("moved", check)
        store.put(keys.frozen_study(), head)
        checked = CheckedCase(
            case=CASE, version=None, configuration_id=None, outcome="new_record_size", tune=True, reasons=[]
        )
        found = Check(study="moved", check=check, at="2026-11-22T01:02:03+00:00", drift_fraction=0.1, cases=[checked])
        store.put(keys.check(), found.model_dump_json().encode())


@pytest.fixture(scope="module")
def addresses() -> list[str]:
    """An address of every route of the app, and some that it does not have."""
    from kafka_pareto_airflow.explorer.explorer_app import create_app

    found = [re.sub(r"\{([^}]+)\}", lambda part: EXAMPLES[part[1]], route.path) for route in create_app().routes]
    return [f"/kafka-pareto{path}" for path in [*found, "/openapi.json", "/redoc", "/static/../index.html", "/api"]]


def headers_of(airflow: TestClient, user: str) -> dict[str, str]:
    answer = airflow.post("/auth/token", json={"username": user, "password": PASSWORDS[user]})
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def test_without_a_session_every_route_refuses_by_every_method(airflow: TestClient, addresses: list[str]) -> None:
    assert len(addresses) > 12
    answers = {(method, path): airflow.request(method, path).status_code for method in METHODS for path in addresses}
    assert {key: status for key, status in answers.items() if status != 401} == {}


def test_a_forged_session_is_refused(airflow: TestClient, addresses: list[str]) -> None:
    forged = {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsInJvbGUiOiJhZG1pbiJ9."}
    assert {airflow.get(path, headers=forged).status_code for path in addresses} == {403}
    assert airflow.get("/kafka-pareto/", cookies={"_token": "forged"}).status_code == 403


def test_who_may_not_read_the_dag_is_refused_everywhere(airflow: TestClient, addresses: list[str]) -> None:
    headers = headers_of(airflow, "stranger")
    answers = {path: airflow.get(path, headers=headers).status_code for path in addresses}
    assert {path: status for path, status in answers.items() if status != 403} == {}


def test_who_may_read_one_clusters_dag_sees_that_cluster_alone(airflow: TestClient, addresses: list[str]) -> None:
    named = [path for path in addresses if "/quick" in path]
    assert len(named) > 12
    theirs = [path.replace("/quick", "/there").replace("/c1", "/b1") for path in named if "/comparisons/" not in path]
    theirs += [path.replace("/quick", "/compared").replace("/c1", "/b1") for path in named if "/comparisons/" in path]
    of_both = {"berliner": (named, theirs), "owner": (theirs, named)}
    for user, (hidden, seen) in of_both.items():
        headers = headers_of(airflow, user)
        answers = {path: airflow.get(path, headers=headers).status_code for path in hidden}
        assert {path: status for path, status in answers.items() if status != 403} == {}
        assert 403 not in {airflow.get(path, headers=headers).status_code for path in seen}


@pytest.mark.parametrize(
    ("user", "versions", "checks"), [("reader", [1, 2], ["c2", "b2"]), ("berliner", [2], ["b2"]), ("owner", 403, 403)]
)
def test_settings_left_on_a_studys_former_cluster_are_shown_only_to_that_clusters_readers(
    airflow: TestClient, user: str, versions: list[int] | int, checks: list[str] | int
) -> None:
    headers = headers_of(airflow, user)
    answer = airflow.get(f"/kafka-pareto/api/in-force/moved/{CASE}", headers=headers)
    shown = [each["version"] for each in answer.json()["versions"]] if answer.is_success else answer.status_code
    assert shown == versions
    answer = airflow.get(f"/kafka-pareto/api/checks/moved/{CASE}", headers=headers)
    found = sorted(each["check"] for each in answer.json()) if answer.is_success else answer.status_code
    assert found == (sorted(checks) if isinstance(checks, list) else checks)


def test_a_move_shows_no_active_settings_of_a_cluster_the_user_may_not_read(airflow: TestClient) -> None:
    address = f"/kafka-pareto/api/campaigns/moved/c1/{CASE}/c0123456789/move"
    move = airflow.get(address, headers=headers_of(airflow, "owner")).json()
    assert "you need permission to read tune_producer_berlin" in move["refused"]
    assert (move["from_version"], move["changes"]) == (None, [])


def test_a_version_that_does_not_name_its_cluster_is_shown_to_the_readers_of_its_campaigns(airflow: TestClient) -> None:
    answers = {
        user: airflow.get(f"/kafka-pareto/api/in-force/early/{CASE}", headers=headers_of(airflow, user)).status_code
        for user in ("berliner", "owner")
    }
    assert answers == {"berliner": 200, "owner": 403}


@pytest.mark.parametrize(("user", "campaigns", "comparisons"), [("berliner", {"b1"}, {"b1"}), ("owner", {"c1"}, set())])
def test_only_clusters_with_readable_dags_are_listed(
    airflow: TestClient, user: str, campaigns: set[str], comparisons: set[str]
) -> None:
    headers = headers_of(airflow, user)
    assert "Pareto explorer" in airflow.get("/kafka-pareto/", headers=headers).text
    for name, expected in (("campaigns", campaigns), ("comparisons", comparisons)):
        listed = airflow.get(f"/kafka-pareto/api/{name}", headers=headers).json()
        assert {each["campaign"] for each in listed} == expected
    for page in ("doctor", "audit"):
        assert (airflow.get(f"/kafka-pareto/{page}", headers=headers).status_code == 403) == (user == "berliner")


def test_the_records_that_a_study_sends_are_shown_to_nobody(airflow: TestClient) -> None:
    for user in ("berliner", "reader"):
        address = "/kafka-pareto/api/campaigns/there/b1/artifacts/payload.txt"
        answer = airflow.get(address, headers=headers_of(airflow, user))
        assert (answer.status_code, "are not shown" in answer.text) == (404, True)


def test_who_may_read_the_dag_sees_the_page_and_its_campaigns(airflow: TestClient) -> None:
    headers = headers_of(airflow, "reader")
    assert "Pareto explorer" in airflow.get("/kafka-pareto/", headers=headers).text
    listed = airflow.get("/kafka-pareto/api/campaigns", headers=headers).json()
    assert {each["campaign"] for each in listed} == {"c1", "b1"}


def test_comparisons_have_a_page_of_their_own_and_are_no_campaigns_of_the_pareto_views(airflow: TestClient) -> None:
    headers = headers_of(airflow, "reader")
    assert "<h1>Comparisons</h1>" in airflow.get("/kafka-pareto/comparisons", headers=headers).text
    assert "then reload this page" in airflow.get("/kafka-pareto/comparisons").text
    listed = airflow.get("/kafka-pareto/api/comparisons", headers=headers).json()
    assert [each["study"] for each in listed] == ["compared"]


@pytest.mark.parametrize("page", ["doctor", "audit"])
def test_a_page_that_cannot_inspect_the_cluster_gives_the_error(
    airflow: TestClient, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    assert "then reload this page" in airflow.get(f"/kafka-pareto/{page}").text
    headers = headers_of(airflow, "reader")
    answer = airflow.get(f"/kafka-pareto/{page}", headers=headers)
    assert answer.status_code == 404
    assert "this installation has no cluster" in answer.text
    monkeypatch.setenv("KAFKA_PARETO_BOOTSTRAP_SERVERS", "<b>:1")
    answer = airflow.get(f"/kafka-pareto/{page}", headers=headers)
    assert answer.status_code == 503
    assert "could not be inspected" in answer.text
    assert "<b>" not in answer.text


def test_every_answer_forbids_foreign_scripts_frames_and_guesses(airflow: TestClient, addresses: list[str]) -> None:
    headers = headers_of(airflow, "reader")
    for given in ({}, headers):
        for path in addresses:
            answer = airflow.get(path, headers=given)
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'self'" in policy
            assert not re.search(r"script-src[^;]*unsafe", policy)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/api/campaigns/%3Cscript%3Ealert(1)%3C%2Fscript%3E/c1",
        "/api/campaigns/quick/%2e%2e%2f%2e%2e%2fetc",
        "/api/campaigns/quick/c1/artifacts/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/api/campaigns/quick/c1/artifacts/..%2F..%2Fsecret",
        "/api/campaigns/quick/c1/-1",
        "/api/campaigns/quick/c1/1024/c0/producer.properties",
        "/api/campaigns/quick/c1/1024/c0123456789/passwd",
        "/api/campaigns/quick/c1/1024/choice?p95_latency_ms=nan",
        "/api/campaigns/quick/c1/1024/choice?durability=%3Cscript%3E",
        "/static/..%2f..%2f..%2fpyproject.toml",
        "/api/comparisons/%3Cscript%3E/c1",
        "/api/comparisons/quick/%2e%2e%2f%2e%2e%2fetc",
        "/api/comparisons/quick/c1/..%2F..%2Fstudy",
        "/api/comparisons/quick/c1/%3Cscript%3E/levels.csv",
    ],
)
def test_an_invalid_name_reaches_no_file_and_is_not_echoed(airflow: TestClient, path: str) -> None:
    answer = airflow.get(f"/kafka-pareto{path}", headers=headers_of(airflow, "reader"))
    assert answer.status_code == 404
    assert "script" not in answer.text
    assert "etc" not in answer.text


def test_a_damaged_study_is_reported_in_one_message(airflow: TestClient) -> None:
    answer = airflow.get("/kafka-pareto/api/campaigns/quick/c1/1024", headers=headers_of(airflow, "reader"))
    assert answer.status_code == 404
    assert "quick/c1/study.yaml" in answer.json()["detail"]


def test_plotly_is_the_bundled_one_and_is_kept_by_the_browser(airflow: TestClient) -> None:
    headers = headers_of(airflow, "reader")
    page = airflow.get("/kafka-pareto/", headers=headers).text
    (source,) = re.findall(r'href="(static/plotly[^"]+)"', page)
    answer = airflow.get(f"/kafka-pareto/{source}", headers=headers)
    assert "immutable" in answer.headers["Cache-Control"]
    assert "private" in answer.headers["Cache-Control"]
    assert len(answer.content) > 1_000_000
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)


def test_the_part_of_the_plugin_loaded_by_every_airflow_process_is_light() -> None:
    program = (
        "import sys; sys.path.insert(0, 'plugins'); import kafka_pareto_explorer; "
        "print([name for name in ('fastapi', 'pandas', 'kafka_pareto') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "include")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_page_writes_no_markup_from_data() -> None:
    folder: Path = PROJECT / "plugins" / "kafka_pareto_explorer"
    scripts = "".join(path.read_text() for path in folder.glob("*.js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", scripts)
    pages = "".join(path.read_text() for path in folder.glob("*.html"))
    assert not re.search(r"<script>|\son\w+=|style=", pages)
