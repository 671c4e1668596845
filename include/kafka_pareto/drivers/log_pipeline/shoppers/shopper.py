"""A customer of the shop, whose next request depends on what they have seen, and on chance.

The published study's generator is a state machine with 15 endpoints; it states no transition probabilities, so these
are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

Body = Mapping[str, Any]

_GROUPS = tuple((sex, age) for sex in ("f", "m") for age in ("18-29", "30-44", "45-64", "65+"))
_WORDS = ("red", "blue", "small", "large", "wool", "steel", "glass", "light", "soft", "old")
_PAGES_BEFORE_TIRED = 25
_MOST_OF_ONE = 3


@dataclass(frozen=True)
class Request:
    """One request; `session` is empty for a guest."""

    action: str
    method: str
    path: str
    body: Body | None = None
    session: str = ""


@dataclass
class Shopper:
    """A customer of the shop; pass the answer to each `next_request` to `take`.

    Attributes:
        name: Unique account name.
        chance: Source of all randomness.
        session: Token of the open session; empty for a guest.
    """

    name: str
    chance: Random
    session: str = ""
    _has_account: bool = False
    _pages: int = 0
    _category: int = 0
    _categories: list[int] = field(default_factory=list)
    _products: list[int] = field(default_factory=list)
    _product: int = 0
    _cart: list[int] = field(default_factory=list)
    _order: int = 0
    _asked: Request | None = None

    def __post_init__(self) -> None:
        self._group = self.chance.choice(_GROUPS)

    def next_request(self) -> Request:
        """Return the next request."""
        asks, weights = zip(*self._likely(), strict=True)
        (ask,) = self.chance.choices(asks, weights)
        self._asked = ask()
        return self._asked

    def take(self, status: int, body: Body | None) -> None:
        """Process the answer to the last request; an error changes no state except an expired session or a cart."""
        asked, self._asked = self._asked, None
        if asked is None:
            return
        self._pages += 1
        if status == 401:
            self.session, self._cart = "", []
            self._has_account = self._has_account and asked.action != "log_in"
            return
        if status >= 400 or body is None:
            if asked.action in ("add", "change", "remove", "check_out"):
                self._cart = []  # unknown now
            return
        self._learn(asked, body)

    def _learn(self, asked: Request, body: Body) -> None:
        match asked.action:
            case "sign_up":
                self._has_account = True
            case "log_in":
                self.session, self._pages = str(body.get("session", "")), 0
            case "log_out":
                self.session, self._cart, self._order, self._pages = "", [], 0, 0
            case "see_categories":
                self._categories = [int(each["category_id"]) for each in body.get("categories", [])]
            case "see_category" | "search":
                self._products = [int(each["product_id"]) for each in body.get("products", [])] or self._products
            case "see_cart":
                self._cart = [int(each["product_id"]) for each in body.get("items", [])]
            case "add":
                self._cart = [*self._cart, self._product]
            case "remove":
                self._cart = self._cart[:-1]
            case "check_out":
                self._cart, self._order = [], int(body.get("order_id", 0))

    def _likely(self) -> list[tuple[Callable[[], Request], float]]:
        """Return the possible next requests with their weights."""
        if not self.session:
            return [(self._log_in if self._has_account else self._sign_up, 1.0)]
        if not self._categories:
            return [(self._see_categories, 1.0)]
        found = [(self._see_categories, 0.3), (self._see_category, 2.0), (self._search, 1.0)]
        if self._products:
            found += [(self._see_product, 4.0)]
        if self._product:
            found += [(self._see_reviews, 1.5), (self._add, 1.2), (self._write_review, 0.15)]
        if self._cart:
            found += [(self._see_cart, 0.8), (self._change, 0.3), (self._remove, 0.2)]
            found += [(self._check_out, 0.4 + 0.4 * len(self._cart))]
        if self._order:
            found += [(self._see_order, 0.5)]
        return [*found, (self._log_out, 0.05 + max(self._pages - _PAGES_BEFORE_TIRED, 0) * 0.5)]

    def _sign_up(self) -> Request:
        return Request("sign_up", "POST", "/api/users", self._account())

    def _log_in(self) -> Request:
        return Request("log_in", "POST", "/api/sessions", self._account())

    def _log_out(self) -> Request:
        return self._own("log_out", "DELETE", "/api/sessions")

    def _see_categories(self) -> Request:
        return self._own("see_categories", "GET", "/api/categories")

    def _see_category(self) -> Request:
        likes = [self._likes_of(category) for category in self._categories]
        (self._category,) = self.chance.choices(self._categories, likes)
        return self._own("see_category", "GET", f"/api/categories/{self._category}/products")

    def _search(self) -> Request:
        return self._own("search", "GET", f"/api/search?q={self.chance.choice(_WORDS)}")

    def _see_product(self) -> Request:
        self._product = self.chance.choice(self._products)
        return self._own("see_product", "GET", f"/api/products/{self._product}")

    def _see_reviews(self) -> Request:
        return self._own("see_reviews", "GET", f"/api/products/{self._product}/reviews")

    def _write_review(self) -> Request:
        body = {"stars": self.chance.randint(1, 5), "body": " ".join(self.chance.choices(_WORDS, k=8))}
        return self._own("write_review", "POST", f"/api/products/{self._product}/reviews", body)

    def _add(self) -> Request:
        body = {"product_id": self._product, "quantity": self.chance.randint(1, _MOST_OF_ONE)}
        return self._own("add", "POST", "/api/cart/items", body)

    def _see_cart(self) -> Request:
        return self._own("see_cart", "GET", "/api/cart")

    def _change(self) -> Request:
        body = {"quantity": self.chance.randint(1, _MOST_OF_ONE)}
        return self._own("change", "PATCH", f"/api/cart/items/{self._cart[-1]}", body)

    def _remove(self) -> Request:
        return self._own("remove", "DELETE", f"/api/cart/items/{self._cart[-1]}")

    def _check_out(self) -> Request:
        return self._own("check_out", "POST", "/api/orders")

    def _see_order(self) -> Request:
        return self._own("see_order", "GET", f"/api/orders/{self._order}")

    def _own(self, action: str, method: str, path: str, body: Body | None = None) -> Request:
        return Request(action, method, path, body, self.session)

    def _account(self) -> Body:
        return {"name": self.name, "password": f"password of {self.name}"}

    def _likes_of(self, category: int) -> float:
        """Return this sex and age group's affinity to a category, the same in every run."""
        return 0.2 + Random(f"{self._group}.{category}").random() ** 2
