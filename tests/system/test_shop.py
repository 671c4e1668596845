"""The shop through nginx, gunicorn and its database: its endpoints and its errors."""

from __future__ import annotations

import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from kafka_pareto.drivers.log_pipeline.web_parts import Shop
from tests.processes import end_process
from tests.required import needs
from tests.system.running_web import INSTALLER, MARIADB, PYTHON, READY_S, SHOP_TESTS, Web, answered, running_web

pytestmark = SHOP_TESTS


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param(
            "mariadb",
            marks=needs(MARIADB and INSTALLER, "MariaDB's server is not installed: mariadb-server"),
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


def test_a_customer_signs_up_browses_buys_and_writes_a_review(client: httpx.Client) -> None:
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
def test_errors_are_returned_as_json(client: httpx.Client, method: str, path: str, body: object, status: int) -> None:
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


def test_a_cart_bought_by_two_concurrent_requests_is_one_order(client: httpx.Client) -> None:
    logged_in(client, "3")
    for _ in range(5):
        answered(client.post("/api/cart/items", json={"product_id": 5, "quantity": 1}), 201)
        with ThreadPoolExecutor(4) as pool:
            answers = [each.result() for each in [pool.submit(client.post, "/api/orders") for _ in range(4)]]
        assert Counter(each.status_code for each in answers) == {201: 1, 409: 3}


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
    answered(client.get("/api/categories"), 200)


def test_a_restart_of_an_idle_shops_database_fails_no_request(web: Web) -> None:
    if web.mariadb is None:
        pytest.skip("SQLite has no server that could be restarted")
    threads = web.shop.workers * web.shop.threads
    with ExitStack() as stack:
        # Each keeps its connections open, so that together they reach every thread of the shop.
        clients = [stack.enter_context(httpx.Client(base_url=web.url, timeout=30)) for _ in range(4 * threads)]

        def from_all() -> Counter[int]:
            with ThreadPoolExecutor(len(clients)) as pool:
                return Counter(
                    each.status_code for each in pool.map(lambda client: client.get("/api/search?q=a"), clients)
                )

        assert set(from_all()) == {200}
        end_process(web.process["mariadb"], 10)
        web.start_mariadb()
        assert from_all() == {200: len(clients)}


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
