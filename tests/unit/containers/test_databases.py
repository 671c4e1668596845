"""The preparation of Postgres, as far as it goes without a server."""

from __future__ import annotations

import pytest

from kafka_pareto_containers.databases import DatabaseError, make_databases

pytestmark = pytest.mark.fast


def test_a_refused_login_says_which_password_postgres_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "9")  # nobody listens there
    with pytest.raises(DatabaseError, match=r"refused[\s\S]*; it keeps the POSTGRES_PASSWORD of its first start: "):
        make_databases("127.0.0.1", "changed", {})
