from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS, MariaDb, Nginx, Shop
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast

FOLDER = Path("/run/web")


def nginx(**changes: object) -> Nginx:
    given = Nginx(FOLDER, 8080, Path("/logs/access.log"), FOLDER / "shop.sock", "somebody")
    return replace(given, **changes)  # type: ignore[arg-type]


def test_mariadb_is_reached_by_its_socket_alone() -> None:
    mariadb = MariaDb(FOLDER, "somebody")

    assert mariadb.argv == [
        *("mariadbd", "--no-defaults", "--datadir=/run/web/data", "--socket=/run/web/mariadb.sock"),
        *("--pid-file=/run/web/mariadb.pid", "--tmpdir=/run/web", "--skip-networking", "--skip-log-bin"),
    ]
    assert "--auth-root-socket-user=somebody" in mariadb.install_argv
    assert mariadb.address == "mariadb:/run/web/mariadb.sock"


def test_the_shop_listens_on_a_socket_of_ours_and_learns_of_its_database_by_the_environment() -> None:
    shop = Shop(FOLDER, Path("/venv/bin/python"), "sqlite:/run/web/shop.db")

    assert shop.argv == [
        *("/venv/bin/python", "-m", "gunicorn", "--bind", "unix:/run/web/shop.sock", "--umask", "0o077"),
        *("--workers", "2", "--worker-class", "gthread", "--threads", "4"),
        *("--keep-alive", "75", "--worker-tmp-dir", "/run/web"),
        *("--no-control-socket", "--log-level", "warning", "shop.app:create_app()"),
    ]
    assert shop.create_argv(7) == [
        *("/venv/bin/python", "-m", "shop.database", "create"),
        *("--database", "sqlite:/run/web/shop.db", "--seed", "7"),
    ]
    assert shop.environment["SHOP_DATABASE"] == "sqlite:/run/web/shop.db"
    assert shop.environment["PYTHONPATH"] == str(PROGRAMS)


def test_nginx_is_configured_with_its_folder_port_and_log() -> None:
    text = nginx(log_lines="single", workers=2).configuration

    for line in (
        "worker_processes 2;",
        'pid "/run/web/nginx.pid";',
        'access_log "/logs/access.log" single;',
        'server "unix:/run/web/shop.sock" fail_timeout=0;',
        "listen 127.0.0.1:8080;",
    ):
        assert f"{line}\n" in text
    assert "@{" not in text
    assert "user " not in text
    # It answers what is replayed before it asks the shop.
    assert 0 < text.index("if ($http_x_replayed) {") < text.index('return 200 \'{"replayed"') < text.index("proxy_pass")


def test_root_runs_them_as_root() -> None:
    assert MariaDb(FOLDER, "root").argv[-1] == MariaDb(FOLDER, "root").install_argv[-1] == "--user=root"
    assert "user root;\n" in nginx(user="root").configuration


@pytest.mark.parametrize("name", ['a"b', "a$b", "a{b"])
def test_a_path_that_would_mean_something_to_nginx_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match=r"nginx does not support .* in paths"):
        _ = nginx(folder=FOLDER / name).configuration


def test_a_socket_whose_path_is_too_long_is_refused() -> None:
    with pytest.raises(BadInputError, match="must not exceed 107 bytes; set TMPDIR"):
        _ = Shop(FOLDER / ("a" * 100), Path("python"), "sqlite:shop.db").argv
