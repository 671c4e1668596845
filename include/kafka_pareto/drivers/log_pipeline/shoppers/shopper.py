"""A customer of the shop whose next request depends on earlier answers and on chance.

The published study's generator is a state machine with 15 endpoints; the study gives no transition probabilities, so
these are our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

Body = Mapping[str, Any]

_GROUPS = tuple((sex, age) for sex in ("f", "m") for age in ("18-29", "30-44", "45-64", "65+"))
_WORDS = ("red", "blue", "small", "large", "wool", "steel", "glass", "light", "soft", "old")
_ENDPOINTS = {
    "sign_up": ("POST", "/api/users"),
    "log_in": ("POST", "/api/sessions"),
    "log_out": ("DELETE", "/api/sessions"),
    "see_categories": ("GET", "/api/categories"),
    "see_category": ("GET", "/api/categories/{category}/products"),
    "search": ("GET", "/api/search?q={word}"),
    "see_product": ("GET", "/api/products/{product}"),
    "see_reviews": ("GET", "/api/products/{product}/reviews"),
    "write_review": ("POST", "/api/products/{product}/reviews"),
    "add": ("POST", "/api/cart/items"),
    "see_cart": ("GET", "/api/cart"),
    "change": ("PATCH", "/api/cart/items/{in_cart}"),
    "remove": ("DELETE", "/api/cart/items/{in_cart}"),
    "check_out": ("POST", "/api/orders"),
    "see_order": ("GET", "/api/orders/{order}"),
}
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
    """A customer of the shop; pass each `next_request` to `take` with its answer.

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

    def __post_init__(self) -> None:
        self._group = self.chance.choice(_GROUPS)

    def next_request(self) -> Request:
        """Return the next request."""
        actions, weights = zip(*self._likely(), strict=True)
        (action,) = self.chance.choices(actions, weights)
        word = self.chance.choice(_WORDS) if action == "search" else ""
        if action == "see_category":
            likes = [self._likes_of(category) for category in self._categories]
            (self._category,) = self.chance.choices(self._categories, likes)
        elif action == "see_product":
            self._product = self.chance.choice(self._products)
        method, path = _ENDPOINTS[action]
        in_cart = self._cart[-1] if self._cart else 0
        path = path.format(
            category=self._category, word=word, product=self._product, in_cart=in_cart, order=self._order
        )
        return Request(action, method, path, self._body_of(action), self.session)

    def _body_of(self, action: str) -> Body | None:
        match action:
            case "sign_up" | "log_in":
                return {"name": self.name, "password": f"password of {self.name}"}
            case "write_review":
                return {"stars": self.chance.randint(1, 5), "body": " ".join(self.chance.choices(_WORDS, k=8))}
            case "add":
                return {"product_id": self._product, "quantity": self.chance.randint(1, _MOST_OF_ONE)}
            case "change":
                return {"quantity": self.chance.randint(1, _MOST_OF_ONE)}
        return None

    def take(self, asked: Request, status: int, body: Body | None) -> None:
        """Process the answer to a request; an error changes no state except an expired session or a cart."""
        self._pages += 1
        if status == 401:
            self.session, self._cart = "", []
            self._has_account = self._has_account and asked.action != "log_in"
            return
        if status >= 400 or body is None:
            if asked.action in ("add", "change", "remove", "check_out"):
                self._cart = []  # unknown now
            return
        self._learn(asked.action, body)

    def _learn(self, action: str, body: Body) -> None:
        match action:
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

    def _likely(self) -> list[tuple[str, float]]:
        """Return the possible next requests with their weights."""
        if not self.session:
            return [("log_in" if self._has_account else "sign_up", 1.0)]
        if not self._categories:
            return [("see_categories", 1.0)]
        found = [("see_categories", 0.3), ("see_category", 2.0), ("search", 1.0)]
        if self._products:
            found += [("see_product", 4.0)]
        if self._product:
            found += [("see_reviews", 1.5), ("add", 1.2), ("write_review", 0.15)]
        if self._cart:
            found += [("see_cart", 0.8), ("change", 0.3), ("remove", 0.2)]
            found += [("check_out", 0.4 + 0.4 * len(self._cart))]
        if self._order:
            found += [("see_order", 0.5)]
        return [*found, ("log_out", 0.05 + max(self._pages - _PAGES_BEFORE_TIRED, 0) * 0.5)]

    def _likes_of(self, category: int) -> float:
        """Return this sex and age group's affinity to a category, the same in every run."""
        return 0.2 + Random(f"{self._group}.{category}").random() ** 2
