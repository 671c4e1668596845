from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from random import Random

import pytest

from kafka_pareto.drivers.log_pipeline.shoppers.load import Load, due_times
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.web_load import WebLoad
from kafka_pareto.errors import LoadToolError

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def test_requests_are_due_at_the_rate_and_faster_in_a_burst() -> None:
    wanted = Wanted("run", "1", rate_s=200.0, seconds=90.0, burst_from_s=30.0, burst_until_s=60.0, burst_times=2.0)
    found = list(due_times(wanted, Random(1)))
    by_third = [sum(low <= at < low + 30 for at in found) for low in (0, 30, 60)]

    assert by_third == pytest.approx([6000, 12000, 6000], rel=0.05)
    assert found == sorted(found)
    assert found == list(due_times(wanted, Random(1)))


class _Slow(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.requestline.split()[1]  # `self.path` has one slash where there are two
        self.server.asked.append((time.time(), path, self.headers["X-Replayed"]))  # type: ignore[attr-defined]
        time.sleep(0.3)
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "2")
        self.send_header("X-Request-Id", self.server.id_of(path))  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the server's name for it)
        """Log nothing."""


@pytest.fixture
def slow() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    server.status, server.asked, server.id_of = 200, [], str  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("fails", [False, True])
def test_a_slow_server_does_not_slow_the_load_and_its_errors_are_counted(
    slow: ThreadingHTTPServer, fails: bool
) -> None:
    slow.status = 503 if fails else 200  # type: ignore[attr-defined]
    load = Load(f"http://127.0.0.1:{slow.server_port}", 1)
    began_s = time.monotonic()
    sent = asyncio.run(load.send(Wanted("run", "1", 40.0, 1.0, time.time(), "static")))

    assert 20 <= sent.due == len(sent.late_ms) == len(sent.response_ms) <= 65
    assert time.monotonic() - began_s < 3  # one after the other they would take ten seconds and more
    assert min(sent.response_ms) >= 290
    assert sent.refused == (sent.due if fails else 0)
    assert len(sent.answered_ids) == sent.due  # an error is an answer


def test_a_log_is_replayed_on_this_server_at_its_own_times_until_the_run_ends(slow: ThreadingHTTPServer) -> None:
    slow.status = 404  # type: ignore[attr-defined]
    replayed = [(0.0, "/a?b=1"), (0.1, "//elsewhere.example/a"), (0.4, "/a"), (1.0, "/late")]
    load = Load(f"http://127.0.0.1:{slow.server_port}", 0, replayed)
    begins_at = time.time() + 0.1
    sent = asyncio.run(load.send(Wanted("run", "1", 99.0, 1.0, begins_at, "replay")))
    asked = sorted(slow.asked)  # type: ignore[attr-defined]

    assert [(path, mark) for _, path, mark in asked] == [(path, "1") for _, path in replayed[:3]]
    assert [at - begins_at for at, _, _ in asked] == pytest.approx([0.0, 0.1, 0.4], abs=0.2)
    assert sorted(sent.answered_ids) == sorted(path for _, path in replayed[:3])
    assert (sent.due, sent.refused) == (3, 0)  # that something is not there is an answer


def test_the_ids_of_answered_requests_are_returned_and_a_trickle_may_be_empty(slow: ThreadingHTTPServer) -> None:
    numbers = count()
    slow.id_of = lambda _: str(next(numbers))  # type: ignore[attr-defined]
    never = Wanted("run", "1", rate_s=1e-6, seconds=0.1, workload="static")
    with WebLoad(f"http://127.0.0.1:{slow.server_port}", 2) as load:
        load.trickle(never)
        answered = load.send(Wanted("run", "1", rate_s=60.0, seconds=1.0, workload="static"))
        with pytest.raises(LoadToolError, match="no request was due"):
            load.send(never)

    assert answered.refused == 0
    assert len(set(answered.answered_ids)) == answered.due > 20
