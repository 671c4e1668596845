"""The log that nginx writes of the shop's requests, in both forms, and of those that it answers by itself."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import last_lines
from kafka_pareto.drivers.log_pipeline.web_parts import Nginx
from tests.processes import end_process
from tests.system.running_web import NGINX, READY_S, SHOP_TESTS, Web, answered, running_web, started

pytestmark = SHOP_TESTS

FIELDS = ["request_id", "t0", "method", "uri", "status", "bytes", "request_s", "upstream_s", "session", "user_agent"]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running_web(tmp_path_factory.mktemp("sqlite"), "sqlite") as running:
        yield running


def log_objects(log_file: Path, form: str) -> list[dict[str, Any]]:
    """Return the objects in a log of this form."""
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


def test_nginx_answers_and_logs_replayed_requests_by_itself(web: Web) -> None:
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
