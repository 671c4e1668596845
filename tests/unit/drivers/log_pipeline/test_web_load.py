from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.web_load import WebLoad
from kafka_pareto.errors import LoadToolError

pytestmark = pytest.mark.fast

NEVER = Wanted("run", "1", rate_s=1e-6, seconds=0.1, workload="static")


class _Naming(BaseHTTPRequestHandler):
    numbers = count()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-Request-Id", str(next(self.numbers)))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the server's name for it)
        """Says nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Naming)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_the_ids_of_what_was_answered_are_told_and_a_trickle_may_be_nothing_at_all(url: str) -> None:
    with WebLoad(url, 2) as load:
        load.trickle(NEVER)
        answered = load.send(Wanted("run", "1", rate_s=60.0, seconds=1.0, workload="static"))
        with pytest.raises(LoadToolError, match="no request was due"):
            load.send(NEVER)

    assert answered.refused == 0
    assert len(set(answered.answered_ids)) == answered.due > 20
