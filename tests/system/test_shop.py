"""The shop through nginx, gunicorn and its database: its endpoints, its errors, and the log lines of its requests."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import last_lines, tied
from kafka_pareto.drivers.log_pipeline.web_parts import MariaDb, Nginx, Shop, find_program
from tests.processes import end_process

TOOLS = Path(__file__).parents[2] / ".state/log-pipeline"
PYTHON = TOOLS / "venv/bin/python"
NGINX = find_program("nginx")
MARIADB, INSTALLER = find_program("mariadbd"), find_program("mariadb-install-db")

pytestmark = [
    pytest.mark.studies,
    pytest.mark.skipif(not PYTHON.exists(), reason="the shop's environment is not there: make .state/stamps/shop"),
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
]

READY_S = 30
FIELDS = ["request_id", "t0", "method", "uri", "status", "bytes", "request_s", "upstream_s", "session", "user_agent"]


def started(argv: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a server, which gets TERM when we are killed: nginx, if it was killed, would leave its workers behind."""
    with log.open("ab") as out:
        return subprocess.Popen(
            tied(argv, "TERM"), cwd=log.parent, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@dataclass
class Web:
    """A shop that runs, behind an nginx for each form of log lines."""

    folder: Path
    shop: Shop
    mariadb: MariaDb | None
    nginx: dict[str, Nginx]
    process: dict[str, subprocess.Popen[bytes]]

    @property
    def url(self) -> str:
        return self.nginx["multi"].url

    def start(self, name: str, argv: list[str], is_ready: Callable[[], bool]) -> None:
        log = self.folder / f"{name}.out"
        process = self.process[name] = started(argv, self.shop.environment, log)
        deadline = time.monotonic() + READY_S
        while not is_ready():
            assert process.poll() is None, f"{name} has ended: {last_lines(log)}"
            assert time.monotonic() < deadline, f"{name} is not ready: {last_lines(log)}"
            time.sleep(0.02)

    def start_mariadb(self) -> None:
        assert self.mariadb is not None
        socket_of_it = self.mariadb.socket
        self.start("mariadb", self.mariadb.argv, lambda: accepts(socket_of_it))

    def start_nginx(self, form: str) -> None:
        nginx = self.nginx[form]
        nginx.folder.mkdir()
        nginx.configuration_file.write_text(nginx.configuration)
        self.start(form, nginx.argv, lambda: is_listening(nginx.port))


@contextmanager
def running_web(folder: Path, database: str) -> Iterator[Web]:
    mariadb = MariaDb(folder, getpass.getuser(), str(MARIADB), str(INSTALLER)) if database == "mariadb" else None
    shop = Shop(folder, PYTHON, mariadb.address if mariadb else f"sqlite:{folder}/shop.db")
    nginx = {
        form: Nginx(
            folder=folder / form,
            port=port,
            log_file=folder / f"{form}.log",
            shop_socket=shop.socket,
            user=getpass.getuser(),
            log_lines=form,  # type: ignore[arg-type]
            workers=workers,
            program=str(NGINX),
        )
        for form, port, workers in zip(("multi", "single"), free_ports(2), (1, 2), strict=True)
    }
    web = Web(folder, shop, mariadb, nginx, {})
    try:
        if mariadb:
            subprocess.run(mariadb.install_argv, capture_output=True, timeout=READY_S, check=True)
            web.start_mariadb()
        subprocess.run(shop.create_argv(1), env=shop.environment, timeout=READY_S, check=True)
        web.start("shop", shop.argv, lambda: accepts(shop.socket))
        for form in nginx:
            web.start_nginx(form)
        yield web
    finally:
        for process in reversed(web.process.values()):
            end_process(process, 10)


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param(
            "mariadb",
            marks=pytest.mark.skipif(
                MARIADB is None or INSTALLER is None, reason="MariaDB's server is not installed: mariadb-server"
            ),
        ),
    ],
)
def web(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running_web(tmp_path_factory.mktemp(request.param), request.param) as running:
        yield running


@pytest.fixture
def client(web: Web) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.url, timeout=30) as opened:
        yield opened


def logged_in(client: httpx.Client, user: str) -> httpx.Client:
    answer = client.post("/api/sessions", json={"name": f"user-{user}", "password": f"password-{user}"})
    assert answer.status_code == 201
    client.headers["X-Session"] = answer.json()["session"]
    return client


def answered(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_a_customer_signs_up_looks_around_buys_and_says_what_it_was_like(client: httpx.Client) -> None:
    user = {"name": "ada", "password": "lovelace"}
    answered(client.post("/api/users", json=user), 201)
    client.headers["X-Session"] = answered(client.post("/api/sessions", json=user), 201)["session"]

    categories = answered(client.get("/api/categories"), 200)["categories"]
    assert (len(categories), categories[0]["products"]) == (12, 50)
    products = answered(client.get(f"/api/categories/{categories[2]['category_id']}/products?page=3"), 200)["products"]
    assert len(products) == 10
    product_id, price_cents = products[0]["product_id"], products[0]["price_cents"]
    assert answered(client.get(f"/api/products/{product_id}"), 200)["name"] == products[0]["name"]
    assert len(answered(client.get(f"/api/products/{product_id}/reviews"), 200)["reviews"]) == 5
    found = answered(client.get("/api/search", params={"q": products[0]["name"].upper()}), 200)["products"]
    assert [each["product_id"] for each in found] == [product_id]

    for quantity in (1, 2):
        answered(client.post("/api/cart/items", json={"product_id": product_id, "quantity": quantity}), 201)
    answered(client.post("/api/cart/items", json={"product_id": product_id + 1, "quantity": 1}), 201)
    assert [each["quantity"] for each in answered(client.get("/api/cart"), 200)["items"]] == [3, 1]
    for _ in range(2):  # the second time it is so already
        answered(client.patch(f"/api/cart/items/{product_id}", json={"quantity": 4}), 200)
    answered(client.delete(f"/api/cart/items/{product_id + 1}"), 204)
    order = answered(client.post("/api/orders"), 201)
    assert order["total_cents"] == 4 * price_cents
    assert answered(client.get(f"/api/orders/{order['order_id']}"), 200)["items"] == [
        {"product_id": product_id, "quantity": 4, "price_cents": price_cents}
    ]
    assert answered(client.get(f"/api/products/{product_id}"), 200)["stock"] == 1_000_000 - 4
    assert answered(client.get("/api/cart"), 200) == {"items": [], "total_cents": 0}

    answered(client.post(f"/api/products/{product_id}/reviews", json={"stars": 5, "body": "très bien 👍"}), 201)
    newest = answered(client.get(f"/api/products/{product_id}/reviews"), 200)["reviews"][0]
    assert (newest["name"], newest["stars"], newest["body"]) == ("ada", 5, "très bien 👍")
    answered(client.delete("/api/sessions"), 204)
    answered(client.get("/api/cart"), 401)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/users", {"name": "user-1", "password": "taken"}, 409),
        ("POST", "/api/users", {"name": "", "password": "x"}, 400),
        ("POST", "/api/users", "no object", 400),
        ("POST", "/api/sessions", {"name": "user-1", "password": "wrong"}, 401),
        ("POST", "/api/sessions", {"name": "nobody", "password": "wrong"}, 401),
        ("GET", "/api/categories/99/products", None, 404),
        ("GET", "/api/categories/1/products?page=0", None, 400),
        ("GET", "/api/products/9999", None, 404),
        ("GET", "/api/products/9999/reviews", None, 404),
        ("GET", "/api/search", None, 400),
        ("POST", "/api/cart/items", {"product_id": 9999, "quantity": 1}, 404),
        ("POST", "/api/cart/items", {"product_id": 1, "quantity": 0}, 400),
        ("POST", "/api/cart/items", {"product_id": 1, "quantity": True}, 400),
        ("PATCH", "/api/cart/items/3", {"quantity": 1}, 404),
        ("DELETE", "/api/cart/items/3", None, 404),
        ("POST", "/api/orders", None, 409),
        ("GET", "/api/orders/9999", None, 404),
        ("POST", "/api/products/1/reviews", {"stars": 6, "body": "x"}, 400),
        ("POST", "/api/categories", None, 405),
        ("GET", "/nowhere", None, 404),
    ],
)
def test_what_cannot_be_done_is_told_as_json(
    client: httpx.Client, method: str, path: str, body: object, status: int
) -> None:
    answer = logged_in(client, "7").request(method, path, json=body)

    assert list(answered(answer, status)) == ["error"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/cart"), ("POST", "/api/orders"), ("GET", "/api/orders/1"), ("DELETE", "/api/sessions")],
)
def test_who_has_no_session_is_asked_to_log_in(client: httpx.Client, method: str, path: str) -> None:
    assert "log in first" in answered(client.request(method, path), 401)["error"]
    assert "log in first" in answered(client.request(method, path, headers={"X-Session": "guessed"}), 401)["error"]


def test_nobody_sees_the_order_of_another(client: httpx.Client) -> None:
    answered(logged_in(client, "1").post("/api/cart/items", json={"product_id": 1, "quantity": 1}), 201)
    order_id = answered(client.post("/api/orders"), 201)["order_id"]

    answered(logged_in(client, "2").get(f"/api/orders/{order_id}"), 404)


def test_search_takes_a_pattern_by_the_letter(client: httpx.Client) -> None:
    assert answered(client.get("/api/search", params={"q": "%"}), 200)["products"] == []
    assert answered(client.get("/api/search", params={"q": "!'\"?"}), 200)["products"] == []


def test_a_cart_that_is_bought_by_two_requests_at_once_is_one_order(client: httpx.Client) -> None:
    logged_in(client, "3")
    for _ in range(5):
        answered(client.post("/api/cart/items", json={"product_id": 5, "quantity": 1}), 201)
        with ThreadPoolExecutor(4) as pool:
            answers = [each.result() for each in [pool.submit(client.post, "/api/orders") for _ in range(4)]]
        assert Counter(each.status_code for each in answers) == {201: 1, 409: 3}


def log_objects(log_file: Path, form: str) -> list[dict[str, Any]]:
    """Returns what a log holds; each object as the form says."""
    text = log_file.read_text(encoding="utf-8")
    if form == "single":
        return [json.loads(line) for line in text.splitlines()]
    assert text.startswith("{\n  ")
    objects = ["{\n" + rest for rest in text.split("{\n")[1:]]
    assert all(each.endswith("\n}\n") and len(each.splitlines()) == len(FIELDS) + 2 for each in objects)
    return [json.loads(each) for each in objects]


@pytest.mark.parametrize("form", ["multi", "single"])
def test_each_request_is_an_object_in_the_log_with_every_field(web: Web, form: str) -> None:
    nginx = web.nginx[form]
    before = time.time()
    with httpx.Client(base_url=nginx.url, headers={"User-Agent": 'a "test"\tof nginx'}) as client:
        client.get("/api/categories")
        client.get("/api/nowhere?q=%22", headers={"X-Session": "some-session"})
        client.get("/static/anything")
        client.post("/api/sessions", content="{")
    deadline = time.monotonic() + 1
    while (last := log_objects(nginx.log_file, form)[-4:])[-1]["method"] != "POST":
        assert time.monotonic() < deadline

    assert [list(each) for each in last] == [FIELDS] * 4
    assert [(each["method"], each["uri"], each["status"], each["session"]) for each in last] == [
        ("GET", "/api/categories", 200, ""),
        ("GET", "/api/nowhere?q=%22", 404, "some-session"),
        ("GET", "/static/anything", 200, ""),
        ("POST", "/api/sessions", 400, ""),
    ]
    assert {each["user_agent"] for each in last} == {'a "test"\tof nginx'}
    assert len({each["request_id"] for each in last}) == 4
    assert all(before - 0.01 <= each["t0"] <= time.time() and each["bytes"] > 0 for each in last)
    assert [each["upstream_s"] != "" for each in last] == [True, True, False, True]


def test_nginx_answers_and_logs_what_is_replayed_by_itself(web: Web) -> None:
    nginx = web.nginx["single"]
    paths = ["/wp-login.php?a=%2F", "//elsewhere.example/a", "/static/a", "/api/categories"]
    for path in paths:
        assert httpx.get(f"{nginx.url}{path}", headers={"X-Replayed": "1"}).status_code == 200
    assert httpx.get(f"{nginx.url}/wp-login.php").status_code == 404
    deadline = time.monotonic() + 1
    while len(last := [each for each in log_objects(nginx.log_file, "single")[-5:] if each["status"] == 200]) != 4:
        assert time.monotonic() < deadline

    assert [(each["uri"], each["upstream_s"]) for each in last] == [(path, "") for path in paths]


def test_a_request_is_in_the_log_once_it_is_answered(web: Web) -> None:
    nginx = web.nginx["single"]
    for number in range(20):
        httpx.get(f"{nginx.url}/static/{number}")
        deadline = time.monotonic() + 1  # nginx writes the line after the answer, but waits for no further one
        while log_objects(nginx.log_file, "single")[-1]["uri"] != f"/static/{number}":
            assert time.monotonic() < deadline


def test_a_database_is_not_made_twice(web: Web) -> None:
    again = subprocess.run(
        web.shop.create_argv(1), env=web.shop.environment, capture_output=True, text=True, timeout=READY_S, check=False
    )

    assert again.returncode == 1
    assert again.stderr.startswith("error: database ")
    assert again.stderr.count("\n") == 1


def test_a_shop_whose_database_is_gone_says_so_and_comes_back_with_it(web: Web, client: httpx.Client) -> None:
    if web.mariadb is None:
        pytest.skip("SQLite has no server that could be gone")
    answered(client.get("/api/categories"), 200)
    end_process(web.process["mariadb"], 10)
    for _ in range(10):
        assert answered(client.get("/api/categories"), 503) == {"error": "the database does not answer"}
    web.start_mariadb()
    deadline = time.monotonic() + READY_S
    while client.get("/api/categories").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for _ in range(10):
        answered(client.get("/api/categories"), 200)


def test_the_same_seed_makes_the_same_goods(tmp_path: Path) -> None:
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        shop = Shop(tmp_path, PYTHON, f"sqlite:{tmp_path}/{name}.db")
        subprocess.run(shop.create_argv(seed), env=shop.environment, timeout=READY_S, check=True)
        with sqlite3.connect(tmp_path / f"{name}.db") as made:
            found.append(made.execute("SELECT * FROM products JOIN reviews USING (product_id)").fetchall())

    assert len(found[0]) == 12 * 50 * 5
    assert found[0] == found[1] != found[2]


def test_passwords_are_not_stored_as_they_are(tmp_path: Path) -> None:
    shop = Shop(tmp_path, PYTHON, f"sqlite:{tmp_path}/shop.db")
    subprocess.run(shop.create_argv(1), env=shop.environment, timeout=READY_S, check=True)

    assert b"user-199" in (tmp_path / "shop.db").read_bytes()
    assert b"password-199" not in (tmp_path / "shop.db").read_bytes()


def test_nginx_runs_as_a_user_too(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("the other tests run as a user already")
    nobody = 65_534
    folder = Path(tempfile.mkdtemp())  # pytest's are for their user alone
    try:
        nginx = Nginx(
            folder, free_ports(1)[0], folder / "access.log", folder / "shop.sock", "nobody", program=str(NGINX)
        )
        nginx.configuration_file.write_text(nginx.configuration)
        os.chown(folder, nobody, nobody)
        as_nobody = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", "--", *nginx.argv]
        process = started(as_nobody, {"PATH": os.environ["PATH"]}, tmp_path / "nginx.out")
        try:
            deadline = time.monotonic() + READY_S
            while not is_listening(nginx.port):
                assert time.monotonic() < deadline, last_lines(tmp_path / "nginx.out")
                time.sleep(0.02)
            assert answered(httpx.get(f"{nginx.url}/static"), 200) == {"static": True}
        finally:
            end_process(process, 10)
        assert len(log_objects(nginx.log_file, "multi")) == 1
        assert nginx.log_file.stat().st_uid == nobody
    finally:
        shutil.rmtree(folder)
