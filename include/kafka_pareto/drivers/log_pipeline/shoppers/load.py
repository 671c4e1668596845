"""Process of the load generator: sends each request when it is due, even if earlier ones are unanswered.

It reads one JSON line per run from standard input and answers it with one JSON line of results.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import REPLAY, TimedPath
from kafka_pareto.drivers.log_pipeline.shoppers.shopper import Request, Shopper
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted

_STATIC = Request("static", "GET", "/static")
_ANSWERED_BY_NGINX = {"X-Replayed": "1"}
_ID = "X-Request-Id"
_MS = 1e3
_ANSWER_S = 30.0
_SERVER_ERROR = 500


@dataclass
class Sent:
    """Results of a run's requests.

    Attributes:
        refused: Answered with a server error, or not at all.
        late_ms: Send delay of each.
        response_ms: Time from each due time to the answer, including that delay.
        answered_ids: IDs by which the log identifies the answered requests, errors included.
    """

    due: int = 0
    refused: int = 0
    late_ms: list[float] = field(default_factory=list)
    response_ms: list[float] = field(default_factory=list)
    answered_ids: list[str] = field(default_factory=list)


def due_times(wanted: Wanted, chance: Random) -> Iterator[float]:
    """Yield the seconds after the beginning at which requests are due: a Poisson process."""
    at = 0.0
    while True:
        is_burst = wanted.burst_from_s <= at < wanted.burst_until_s
        at += chance.expovariate(wanted.rate_s * (wanted.burst_times if is_burst else 1.0))
        if at >= wanted.seconds:
            return
        yield at


class Load:
    """Sends one run after another to a web server.

    `replayed` is its share of a log's requests, with the seconds after a run's beginning at which they are due.
    """

    def __init__(self, address: str, process: int, replayed: Sequence[TimedPath] = ()) -> None:
        self._address = address
        self._process = process
        self._replayed = replayed

    async def send(self, wanted: Wanted) -> Sent:
        """Send the requests and wait for the answers."""
        sent, chance = Sent(), Random(f"{wanted.seed}.{self._process}")
        idle: deque[Shopper] = deque()
        numbers = count(1)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_ANSWER_S)
        timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            answers = set()
            for due_s, request in self._due(wanted, chance):
                due_at = wanted.begins_at + due_s
                if (wait_s := due_at - time.time()) > 0:
                    await asyncio.sleep(wait_s)
                elif sent.due % 16 == 0:
                    await asyncio.sleep(0)  # when late, still process answers
                sent.due += 1
                if wanted.workload == "shop" and not idle:
                    process, number = self._process, next(numbers)
                    chance_of = Random(f"{wanted.seed}.{process}.{number}")
                    idle.append(Shopper(f"{wanted.run}-{process}-{number}", chance_of))
                asks = idle.popleft() if wanted.workload == "shop" else request
                answer = asyncio.create_task(self._ask(session, asks, sent, due_at, idle))
                answers.add(answer)
                answer.add_done_callback(answers.discard)
            while answers:
                await asyncio.wait(answers)
        return sent

    def _due(self, wanted: Wanted, chance: Random) -> Iterable[tuple[float, Request]]:
        """Return when a request is due, and the request, unless a shopper decides."""
        if wanted.workload == REPLAY:
            return [(due_s, Request(REPLAY, "GET", path)) for due_s, path in self._replayed if due_s < wanted.seconds]
        return ((due_s, _STATIC) for due_s in due_times(wanted, chance))

    async def _ask(
        self, session: aiohttp.ClientSession, asks: Request | Shopper, sent: Sent, due_at: float, idle: deque[Shopper]
    ) -> None:
        shopper = asks if isinstance(asks, Shopper) else None
        request = asks.next_request() if isinstance(asks, Shopper) else asks
        # A logged path may begin with two slashes, which alone would name another server.
        url = f"{self._address}{request.path}"
        sent.late_ms.append((time.time() - due_at) * _MS)
        status, body = _SERVER_ERROR, None
        with suppress(aiohttp.ClientError, TimeoutError):
            async with session.request(request.method, url, json=request.body, headers=_headers(request)) as response:
                content = await response.read()
                status = response.status
                if _ID in response.headers:
                    sent.answered_ids.append(response.headers[_ID])
                body = _object(content) if shopper else None
        sent.response_ms.append((time.time() - due_at) * _MS)
        sent.refused += status >= _SERVER_ERROR
        if shopper:
            shopper.take(request, status, body)
            idle.append(shopper)


def _headers(request: Request) -> dict[str, str]:
    if request.action == REPLAY:
        return _ANSWERED_BY_NGINX
    return {"X-Session": request.session} if request.session else {}


def _object(content: bytes) -> dict[str, Any] | None:
    with suppress(ValueError):
        found = json.loads(content or b"{}")
        return found if isinstance(found, dict) else None
    return None


def main() -> None:
    """Send runs until standard input ends."""
    parser = ArgumentParser(prog="load")
    parser.add_argument("--address", required=True, help="URL of the web server: http://host:port")
    parser.add_argument("--process", type=int, required=True, help="number of this process, from 0")
    parser.add_argument("--processes", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--replayed", type=Path, help="JSON file with due times and paths of a log, shared by all processes"
    )
    options = parser.parse_args()
    replayed = json.loads(options.replayed.read_text()) if options.replayed else []
    load = Load(options.address, options.process, replayed[options.process :: options.processes])
    print(json.dumps({"ready": "load"}), flush=True)
    for line in sys.stdin:
        sent = asyncio.run(load.send(Wanted(**json.loads(line))))
        print(json.dumps(asdict(sent)), flush=True)


if __name__ == "__main__":
    main()
