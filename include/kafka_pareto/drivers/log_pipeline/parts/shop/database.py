"""Store the shop in MariaDB, reached by its unix socket, or in SQLite; create its schema and initial contents.

    python -m shop.database create --database sqlite:/folder/shop.db --seed 1

Statements are written once for both: `?` is the placeholder, and no statement holds a literal value or a percent sign.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import random
import secrets
import sqlite3
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import CLIENT, CR, SERVER_STATUS
from pymysql.cursors import DictCursor

Row = dict[str, Any]
DATABASE_ERRORS = (sqlite3.Error, pymysql.err.Error)
DUPLICATE_ERRORS = (sqlite3.IntegrityError, pymysql.err.IntegrityError)
STOCK = 1_000_000
"""Initial stock of each product; no load sells it out."""

_PRODUCTS_OF_EACH, _REVIEWS_OF_EACH, _USERS = 50, 5, 200
_NAME = "shop"
_WAIT_S = 10
# A real shop would use 2**14 or more. This takes 0.5 ms, which does not slow down the log pipeline.
_SCRYPT_COST = 256

# `{number}` is the type of an auto-increment key.
_TABLES = (
    """CREATE TABLE users (
        user_id {number}, name VARCHAR(50) NOT NULL UNIQUE, password VARCHAR(200) NOT NULL)""",
    """CREATE TABLE sessions (
        token VARCHAR(43) PRIMARY KEY, user_id INTEGER NOT NULL, FOREIGN KEY (user_id) REFERENCES users (user_id))""",
    """CREATE TABLE categories (
        category_id {number}, name VARCHAR(50) NOT NULL)""",
    """CREATE TABLE products (
        product_id {number}, category_id INTEGER NOT NULL, name VARCHAR(80) NOT NULL, description VARCHAR(500) NOT NULL,
        price_cents INTEGER NOT NULL, stock INTEGER NOT NULL,
        FOREIGN KEY (category_id) REFERENCES categories (category_id))""",
    """CREATE TABLE reviews (
        review_id {number}, product_id INTEGER NOT NULL, user_id INTEGER NOT NULL, stars INTEGER NOT NULL,
        body VARCHAR(1000) NOT NULL,
        FOREIGN KEY (product_id) REFERENCES products (product_id), FOREIGN KEY (user_id) REFERENCES users (user_id))""",
    """CREATE TABLE cart_items (
        user_id INTEGER NOT NULL, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL,
        PRIMARY KEY (user_id, product_id),
        FOREIGN KEY (user_id) REFERENCES users (user_id),
        FOREIGN KEY (product_id) REFERENCES products (product_id))""",
    """CREATE TABLE orders (
        order_id {number}, user_id INTEGER NOT NULL, total_cents INTEGER NOT NULL,
        FOREIGN KEY (user_id) REFERENCES users (user_id))""",
    """CREATE TABLE order_items (
        order_id INTEGER NOT NULL, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL, price_cents INTEGER NOT NULL,
        PRIMARY KEY (order_id, product_id),
        FOREIGN KEY (order_id) REFERENCES orders (order_id),
        FOREIGN KEY (product_id) REFERENCES products (product_id))""",
    "CREATE INDEX products_of_category ON products (category_id)",
    "CREATE INDEX reviews_of_product ON reviews (product_id)",
)
_CATEGORIES = ("art", "bags", "books", "coats", "games", "garden", "lamps", "music", "pens", "shoes", "tea", "toys")
_WORDS = ("blue", "bright", "folding", "green", "large", "light", "quiet", "red", "round", "small", "soft", "wooden")
_OPINIONS = ("as described", "arrived late", "bought it twice", "a fair price", "smaller than expected", "works well")


class Database:
    """Runs statements, on one persistent connection per thread.

    Args:
        address: `sqlite:<file>` or `mariadb:<unix socket>`; MariaDB authenticates us by operating system user.
        name: MariaDB's database; None before it exists.

    Raises:
        ValueError: If the address has another form.
    """

    def __init__(self, address: str, name: str | None = _NAME) -> None:
        kind, _, self._path = address.partition(":")
        if kind not in ("sqlite", "mariadb") or not self._path:
            raise ValueError(f"database {address!r}: must be sqlite:<file> or mariadb:<unix socket>")
        self.is_sqlite = kind == "sqlite"
        self._name = name
        self._of_thread = threading.local()

    def rows(self, statement: str, *values: object) -> list[Row]:
        """Return the rows of a query."""
        return list(self.run(statement, *values).fetchall())

    def row(self, statement: str, *values: object) -> Row | None:
        """Return the first row of a query."""
        return next(iter(self.rows(statement, *values)), None)

    def run(self, statement: str, *values: object) -> Any:
        """Run a statement and return its cursor; changes outside of a transaction are committed on return."""
        connection = self._connection()
        try:
            return self._executed(connection, statement, values)
        except pymysql.err.OperationalError as error:
            # A thread that was idle while the server restarted still has a connection to the server that ended. The
            # statement was not sent, so it can be sent again, unless it belongs to a transaction that began there.
            in_transaction = connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS
            if error.args[0] != CR.CR_SERVER_GONE_ERROR or in_transaction:
                raise
            self.reconnect()
            return self._executed(self._connection(), statement, values)

    def run_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Run a statement once per row of values."""
        self._connection().cursor().executemany(self._in_dialect(statement), list(rows))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes in the context, or none after an error."""
        # SQLite's plain BEGIN starts as a reader, and fails if another connection has written meanwhile.
        self.run("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(*DATABASE_ERRORS):
                self.run("ROLLBACK")
            raise

    def reconnect(self) -> None:
        """Close the thread's connection after an error; the next statement opens another."""
        if connection := self._of_thread.__dict__.pop("connection", None):
            with suppress(*DATABASE_ERRORS):
                connection.close()

    def _executed(self, connection: Any, statement: str, values: tuple[object, ...]) -> Any:
        cursor = connection.cursor()
        cursor.execute(self._in_dialect(statement), values)
        return cursor

    def _in_dialect(self, statement: str) -> str:
        return statement if self.is_sqlite else statement.replace("?", "%s")

    def _connection(self) -> Any:
        if not hasattr(self._of_thread, "connection"):
            self._of_thread.connection = self._connect_sqlite() if self.is_sqlite else self._connect_mariadb()
        return self._of_thread.connection

    def _connect_sqlite(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
        connection.row_factory = lambda cursor, values: {
            column[0]: value for column, value in zip(cursor.description, values, strict=True)
        }
        # A writer does not block readers, and a killed shop loses no data.
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _connect_mariadb(self) -> Any:
        return pymysql.connect(
            unix_socket=self._path,
            user=getpass.getuser(),
            database=self._name,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_WAIT_S,
            read_timeout=_WAIT_S,
            write_timeout=_WAIT_S,
            # By default statements lock gaps between rows, too, so two customers' carts may wait for each other.
            init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            client_flag=CLIENT.FOUND_ROWS,  # count unchanged rows, too
            cursorclass=DictCursor,
        )


def hashed(password: str, salt: bytes | None = None) -> str:
    """Return a password's scrypt cost, salt and hash, to be stored."""
    salt = salt or secrets.token_bytes(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, n=_SCRYPT_COST, r=8, p=1)
    return f"{_SCRYPT_COST}${salt.hex()}${digest.hex()}"


def is_password(password: str, stored: str) -> bool:
    """Return whether the password matches the stored hash."""
    cost, salt, digest = stored.split("$")
    tried = hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=int(cost), r=8, p=1)
    return hmac.compare_digest(tried.hex(), digest)


def create(address: str, seed: int) -> None:
    """Create the schema, and contents that depend only on the seed, except for the passwords' salts.

    Users are `user-1`, …, with passwords `password-1`, …

    Raises:
        ValueError: If the shop's database already exists.
    """
    database = Database(address)
    if database.is_sqlite:
        if Path(address.partition(":")[2]).exists():
            raise ValueError(f"database {address!r}: already exists")
    else:
        server = Database(address, name=None)
        if server.row("SHOW DATABASES LIKE ?", _NAME):
            raise ValueError(f"database {address!r}: already has a database {_NAME}")
        server.run("CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    number = "INTEGER PRIMARY KEY" if database.is_sqlite else "INTEGER PRIMARY KEY AUTO_INCREMENT"
    for table in _TABLES:
        database.run(table.format(number=number))
    drawn = random.Random(seed)  # noqa: S311 (goods, not secrets)
    ids = range(1, len(_CATEGORIES) * _PRODUCTS_OF_EACH + 1)
    with database.transaction():
        database.run_many(
            "INSERT INTO users (name, password) VALUES (?, ?)",
            ((f"user-{index}", hashed(f"password-{index}")) for index in range(1, _USERS + 1)),
        )
        database.run_many("INSERT INTO categories (name) VALUES (?)", ((name,) for name in _CATEGORIES))
        database.run_many(
            "INSERT INTO products (category_id, name, description, price_cents, stock) VALUES (?, ?, ?, ?, ?)",
            (_product(drawn, (product_id - 1) // _PRODUCTS_OF_EACH, product_id) for product_id in ids),
        )
        database.run_many(
            "INSERT INTO reviews (product_id, user_id, stars, body) VALUES (?, ?, ?, ?)",
            (
                (product_id, drawn.randint(1, _USERS), drawn.randint(1, 5), drawn.choice(_OPINIONS))
                for product_id in ids
                for _ in range(_REVIEWS_OF_EACH)
            ),
        )


def _product(drawn: random.Random, index: int, product_id: int) -> tuple[object, ...]:
    name = f"{drawn.choice(_WORDS)} {drawn.choice(_WORDS)} {_CATEGORIES[index]} {product_id}"
    description = " ".join(drawn.choices(_WORDS, k=30))
    return (index + 1, name, description, drawn.randint(100, 50_000), STOCK)


def main() -> None:
    """Run the command."""
    parser = ArgumentParser(prog="python -m shop.database", description="Creates the shop's database.")
    making = parser.add_subparsers(required=True).add_parser("create", help="create schema and initial contents")
    making.add_argument("--database", required=True, help="sqlite:<file> or mariadb:<unix socket>")
    making.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        create(options.database, options.seed)
    except (ValueError, OSError, *DATABASE_ERRORS) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
