from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from kafka_pareto.drivers.log_pipeline.shoppers.shopper import Request, Shopper

pytestmark = pytest.mark.fast

ANSWERS: dict[str, tuple[int, dict[str, Any] | None]] = {
    "sign_up": (201, {"user_id": 7}),
    "log_in": (201, {"session": "token"}),
    "log_out": (204, {}),
    "see_categories": (200, {"categories": [{"category_id": number} for number in (1, 2, 3)]}),
    "see_category": (200, {"products": [{"product_id": number} for number in range(10, 30)]}),
    "search": (200, {"products": [{"product_id": 11}]}),
    "see_cart": (200, {"items": [{"product_id": 11}], "total_cents": 100}),
    "check_out": (201, {"order_id": 5, "total_cents": 100}),
}


def walk(steps: int, seed: int = 1, refused: str = "") -> list[Request]:
    shopper, asked = Shopper("ada", Random(seed)), []
    for _ in range(steps):
        asked.append(shopper.next_request())
        action = asked[-1].action
        shopper.take(asked[-1], *((409, {"error": "no"}) if action == refused else ANSWERS.get(action, (200, {}))))
    return asked


def test_all_fifteen_endpoints_are_asked_for_in_the_same_order_by_the_same_seed() -> None:
    found = Counter(each.action for each in walk(3000))

    assert walk(300, seed=5) == walk(300, seed=5) != walk(300, seed=6)
    assert len(found) == 15
    assert found.pop("sign_up") == 1
    assert min(found.values()) >= 5


def test_a_session_begins_with_an_account_and_a_login_and_later_requests_carry_its_token() -> None:
    asked = walk(200)

    assert [each.action for each in asked[:3]] == ["sign_up", "log_in", "see_categories"]
    assert {each.session for each in asked if each.action not in ("sign_up", "log_in")} == {"token"}
    after_logout = [later.action for each, later in pairwise(asked) if each.action == "log_out"]
    assert set(after_logout) == {"log_in"}


def test_nothing_is_asked_of_a_cart_or_an_order_that_is_not_there() -> None:
    in_cart, ordered = 0, False
    for each in walk(2000, seed=3):
        if each.action in ("change", "remove", "check_out"):
            assert in_cart
        if each.action == "see_order":
            assert ordered
            assert each.path == "/api/orders/5"
        ordered = ordered or each.action == "check_out"
        in_cart = {"add": in_cart + 1, "remove": in_cart - 1, "check_out": 0, "log_out": 0, "see_cart": 1}.get(
            each.action, in_cart
        )
        ordered = ordered and each.action != "log_out"


def test_a_refused_request_does_not_end_the_session() -> None:
    found = Counter(each.action for each in walk(1000, refused="check_out"))

    assert found["check_out"] > 10
    assert found["see_order"] == 0


def test_who_has_no_session_any_more_logs_in_again() -> None:
    shopper = Shopper("ada", Random(1))
    for answer in (ANSWERS["sign_up"], ANSWERS["log_in"], (401, {"error": "no session"})):
        shopper.take(shopper.next_request(), *answer)

    assert shopper.next_request().action == "log_in"


@pytest.mark.slow
def test_people_of_different_groups_like_different_categories() -> None:
    favorites = set()
    for seed in range(40):
        visits = Counter(each.path for each in walk(400, seed=seed) if each.action == "see_category")
        favorites.add(visits.most_common(1)[0][0])

    assert len(favorites) > 1
