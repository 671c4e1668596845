"""The shop's web application: 15 endpoints, JSON in and out. Gunicorn runs it as `shop.app:create_app()`.

    POST   /api/users                        sign-up          {"name", "password"}         201 {"user_id"}
    POST   /api/sessions                     login            {"name", "password"}         201 {"session"}
    DELETE /api/sessions                   * logout                                        204
    GET    /api/categories                   categories                                    200 {"categories"}
    GET    /api/categories/<id>/products     its products     ?page=1…                     200 {"products"}
    GET    /api/products/<id>                product                                       200
    GET    /api/products/<id>/reviews        its reviews      the last 20                  200 {"reviews"}
    GET    /api/search?q=…                   search           in names                     200 {"products"}
    GET    /api/cart                       * cart                                          200 {"items", "total_cents"}
    POST   /api/cart/items                 * add to cart      {"product_id", "quantity"}   201
    PATCH  /api/cart/items/<product id>    * change quantity  {"quantity"}                 200
    DELETE /api/cart/items/<product id>    * remove from cart                              204
    POST   /api/orders                     * checkout                                      201 {"order_id", …}
    GET    /api/orders/<id>                * order                                         200
    POST   /api/products/<id>/reviews      * write a review   {"stars", "body"}            201 {"review_id"}

`*` requires the header X-Session with the session from the login. An error is {"error": …}: 400 for an invalid body or
argument, 401 without a session, 404 for a missing object, 409 for a taken name, an empty cart or insufficient stock,
503 while the database does not answer.
"""

from __future__ import annotations

import os
import secrets
from typing import cast

from flask import Blueprint, Flask, current_app, request
from werkzeug.exceptions import BadRequest, Conflict, HTTPException, NotFound, Unauthorized
from werkzeug.local import LocalProxy

from shop.database import DATABASE_ERRORS, DUPLICATE_ERRORS, Database, Row, hashed, is_password

DATABASE_VARIABLE = "SHOP_DATABASE"
SESSION_HEADER = "X-Session"
_PAGE = 20
_MOST_OF_ONE = 99

Answer = tuple[Row | str, int]
api = Blueprint("shop", __name__, url_prefix="/api")
database = cast("Database", LocalProxy(lambda: current_app.extensions["database"]))


def create_app(address: str | None = None) -> Flask:
    """Return the shop, on the database at this address (see `Database`) or at the environment's `SHOP_DATABASE`."""
    app = Flask("shop", static_folder=None)
    app.extensions["database"] = Database(address or os.environ.get(DATABASE_VARIABLE, ""))
    app.register_blueprint(api)
    app.register_error_handler(HTTPException, _refused)
    for kind in DATABASE_ERRORS:
        app.register_error_handler(kind, _no_database)
    return app


@api.post("/users")
def sign_up() -> Answer:
    """Add a user."""
    body = _body()
    try:
        name, password = _text(body, "name", 50), hashed(_text(body, "password", 100))
        added = database.run("INSERT INTO users (name, password) VALUES (?, ?)", name, password)
    except DUPLICATE_ERRORS as error:
        raise Conflict("name: is already taken") from error
    return {"user_id": added.lastrowid}, 201


@api.post("/sessions")
def log_in() -> Answer:
    """Open a session."""
    body = _body()
    name, password = _text(body, "name", 50), _text(body, "password", 100)
    user = database.row("SELECT user_id, password FROM users WHERE name = ?", name)
    if user is None or not is_password(password, user["password"]):
        raise Unauthorized("name or password is wrong")
    token = secrets.token_urlsafe(32)
    database.run("INSERT INTO sessions (token, user_id) VALUES (?, ?)", token, user["user_id"])
    return {"session": token}, 201


@api.delete("/sessions")
def log_out() -> Answer:
    """End the session."""
    _user_id()
    database.run("DELETE FROM sessions WHERE token = ?", request.headers[SESSION_HEADER])
    return "", 204


@api.get("/categories")
def categories() -> Answer:
    """List the categories."""
    found = database.rows(
        "SELECT c.category_id, c.name, COUNT(*) AS products FROM categories c JOIN products p"
        " ON p.category_id = c.category_id GROUP BY c.category_id, c.name ORDER BY c.category_id"
    )
    return {"categories": found}, 200


@api.get("/categories/<int:category_id>/products")
def products_of_category(category_id: int) -> Answer:
    """List a page of a category's products."""
    page = request.args.get("page", 1, int)
    if not 1 <= page <= 1_000_000:
        raise BadRequest("page: must be at least 1")
    found = database.rows(
        "SELECT product_id, name, price_cents FROM products WHERE category_id = ? ORDER BY product_id LIMIT ? OFFSET ?",
        *(category_id, _PAGE, (page - 1) * _PAGE),
    )
    if not found:
        _there(f"category {category_id}", database.row("SELECT 1 FROM categories WHERE category_id = ?", category_id))
    return {"products": found}, 200


@api.get("/products/<int:product_id>")
def product(product_id: int) -> Answer:
    """Show a product."""
    return _product(product_id), 200


@api.get("/products/<int:product_id>/reviews")
def reviews(product_id: int) -> Answer:
    """List the latest reviews of a product."""
    _product(product_id)
    found = database.rows(
        "SELECT r.review_id, u.name, r.stars, r.body FROM reviews r JOIN users u ON u.user_id = r.user_id"
        " WHERE r.product_id = ? ORDER BY r.review_id DESC LIMIT ?",
        product_id,
        _PAGE,
    )
    return {"reviews": found}, 200


@api.get("/search")
def search() -> Answer:
    """List products by text in their names, which are all lowercase."""
    text = request.args.get("q", "").lower()
    if not 1 <= len(text) <= 50:
        raise BadRequest("q: must be text of 1 to 50 characters")
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    found = database.rows(
        "SELECT product_id, name, price_cents FROM products WHERE name LIKE ? ESCAPE '!' ORDER BY product_id LIMIT ?",
        f"%{escaped}%",
        _PAGE,
    )
    return {"products": found}, 200


@api.get("/cart")
def cart() -> Answer:
    """Show the cart."""
    items = _cart_items(_user_id())
    return {"items": items, "total_cents": _total_cents(items)}, 200


@api.post("/cart/items")
def add_to_cart() -> Answer:
    """Put a product into the cart, or more of it."""
    user_id, body = _user_id(), _body()
    product_id = _number(body, "product_id", 1, 2**31 - 1)
    quantity = _number(body, "quantity", 1, _MOST_OF_ONE)
    _product(product_id)
    more = "UPDATE cart_items SET quantity = quantity + ? WHERE user_id = ? AND product_id = ?"
    new = "INSERT INTO cart_items (user_id, product_id, quantity) VALUES (?, ?, ?)"
    if not database.run(more, quantity, user_id, product_id).rowcount:
        try:
            database.run(new, user_id, product_id, quantity)
        except DUPLICATE_ERRORS:  # a concurrent request was faster
            database.run(more, quantity, user_id, product_id)
    return {"product_id": product_id, "quantity": quantity}, 201


@api.patch("/cart/items/<int:product_id>")
def change_quantity(product_id: int) -> Answer:
    """Change the quantity of a product in the cart."""
    user_id, quantity = _user_id(), _number(_body(), "quantity", 1, _MOST_OF_ONE)
    change = "UPDATE cart_items SET quantity = ? WHERE user_id = ? AND product_id = ?"
    _change_cart(product_id, change, quantity, user_id, product_id)
    return {"product_id": product_id, "quantity": quantity}, 200


@api.delete("/cart/items/<int:product_id>")
def remove_from_cart(product_id: int) -> Answer:
    """Remove a product from the cart."""
    remove = "DELETE FROM cart_items WHERE user_id = ? AND product_id = ?"
    _change_cart(product_id, remove, _user_id(), product_id)
    return "", 204


@api.post("/orders")
def checkout() -> Answer:
    """Turn the cart into an order, and reduce the stock."""
    user_id = _user_id()
    with database.transaction():
        items = _cart_items(user_id)
        if not items:
            raise Conflict("the cart is empty")
        if database.run("DELETE FROM cart_items WHERE user_id = ?", user_id).rowcount != len(items):
            raise Conflict("another request has changed the cart; try again")
        # A fixed order prevents deadlocks between checkouts.
        for item in items:
            take = "UPDATE products SET stock = stock - ? WHERE product_id = ? AND stock >= ?"
            if not database.run(take, item["quantity"], item["product_id"], item["quantity"]).rowcount:
                raise Conflict(f"product {item['product_id']}: has insufficient stock")
        total_cents = _total_cents(items)
        added = database.run("INSERT INTO orders (user_id, total_cents) VALUES (?, ?)", user_id, total_cents)
        database.run_many(
            "INSERT INTO order_items (order_id, product_id, quantity, price_cents) VALUES (?, ?, ?, ?)",
            ((added.lastrowid, item["product_id"], item["quantity"], item["price_cents"]) for item in items),
        )
    return {"order_id": added.lastrowid, "total_cents": total_cents}, 201


@api.get("/orders/<int:order_id>")
def order(order_id: int) -> Answer:
    """Show one of the user's orders."""
    of_user = "SELECT order_id, total_cents FROM orders WHERE order_id = ? AND user_id = ?"
    found = _there(f"order {order_id}", database.row(of_user, order_id, _user_id()))
    items = database.rows(
        "SELECT product_id, quantity, price_cents FROM order_items WHERE order_id = ? ORDER BY product_id", order_id
    )
    return {**found, "items": items}, 200


@api.post("/products/<int:product_id>/reviews")
def write_review(product_id: int) -> Answer:
    """Add a review of a product."""
    user_id, body = _user_id(), _body()
    stars, text = _number(body, "stars", 1, 5), _text(body, "body", 1000)
    _product(product_id)
    added = database.run(
        "INSERT INTO reviews (product_id, user_id, stars, body) VALUES (?, ?, ?, ?)", product_id, user_id, stars, text
    )
    return {"review_id": added.lastrowid}, 201


def _user_id() -> int:
    token = request.headers.get(SESSION_HEADER, "")
    session = database.row("SELECT user_id FROM sessions WHERE token = ?", token) if token else None
    if session is None:
        raise Unauthorized(f"{SESSION_HEADER}: is not an open session; log in first")
    return int(session["user_id"])


def _product(product_id: int) -> Row:
    query = "SELECT product_id, category_id, name, description, price_cents, stock FROM products WHERE product_id = ?"
    return _there(f"product {product_id}", database.row(query, product_id))


def _there(what: str, found: Row | None) -> Row:
    if found is None:
        raise NotFound(f"{what}: does not exist")
    return found


def _change_cart(product_id: int, statement: str, *values: object) -> None:
    if not database.run(statement, *values).rowcount:
        raise NotFound(f"product {product_id}: is not in the cart")


def _cart_items(user_id: int) -> list[Row]:
    return database.rows(
        "SELECT c.product_id, p.name, c.quantity, p.price_cents FROM cart_items c JOIN products p"
        " ON p.product_id = c.product_id WHERE c.user_id = ? ORDER BY c.product_id",
        user_id,
    )


def _total_cents(items: list[Row]) -> int:
    return sum(item["quantity"] * item["price_cents"] for item in items)


def _body() -> Row:
    body = request.get_json(force=True)
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    return body


def _text(body: Row, name: str, longest: int) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise BadRequest(f"{name}: must be text of 1 to {longest} characters")
    return value


def _number(body: Row, name: str, least: int, most: int) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequest(f"{name}: must be a whole number from {least} to {most}")
    return value


def _refused(error: HTTPException) -> Answer:
    return {"error": error.description or error.name}, error.code or 500


def _no_database(error: Exception) -> Answer:
    current_app.logger.error("database: %s", error)
    database.reconnect()
    return {"error": "the database does not answer"}, 503
