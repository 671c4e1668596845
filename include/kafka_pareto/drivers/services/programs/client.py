"""A client that follows the notification's events and reports the events of each run of orders.

Each line of JSON on its standard input names a run and is answered by a line.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from argparse import ArgumentParser
from collections import defaultdict
from dataclasses import dataclass, field

from kafka_pareto.drivers.services.programs.figures import latency_of
from kafka_pareto.drivers.services.programs.messages import DELIVERED, PICKED_UP, Record
from kafka_pareto.drivers.services.programs.notification import EVENTS_PATH, TOKEN_VARIABLE
from kafka_pareto.drivers.services.programs.service import say

_AGAIN_S = 0.2
_Timed = tuple[float, float]
_DATA = b"data: "


@dataclass
class _Seen:
    """The client's view of a run: the kinds of events per order."""

    kinds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    complete: int = 0
    repeated: int = 0
    out_of_order: int = 0
    shipping_s: list[_Timed] = field(default_factory=list)
    notifying_s: list[_Timed] = field(default_factory=list)
    completing_s: list[_Timed] = field(default_factory=list)


class Client:
    """Count events by run, each once."""

    def __init__(self) -> None:
        self._runs: dict[str, _Seen] = defaultdict(_Seen)
        self._alerts: dict[str, Record] = {}
        self._changed = threading.Condition()

    def take(self, event: Record, now: float) -> None:
        """Record an event that arrived at this time."""
        with self._changed:
            if event["kind"] == "alert":
                self._alerts.setdefault(event["alert_id"], event)
            else:
                self._take_of_order(event, now)
            self._changed.notify_all()

    def _take_of_order(self, event: Record, now: float) -> None:
        order_id, kind = event["order_id"], event["kind"]
        seen = self._runs[order_id.rpartition("-")[0]]
        kinds = seen.kinds[order_id]
        if kind in kinds:
            seen.repeated += 1
            return
        seen.out_of_order += kind == DELIVERED and PICKED_UP not in kinds
        kinds.append(kind)
        if kind == DELIVERED:
            seen.shipping_s.append((event["created_at"], event["appended_at"] - event["placed_at"]))
            seen.notifying_s.append((event["created_at"], now - event["appended_at"]))
        if len(kinds) == 3:
            seen.complete += 1
            seen.completing_s.append((event["created_at"], now - event["created_at"]))

    def result_of(
        self,
        run: str,
        orders: int,
        timeout_s: float,
        *,
        began_at: float = 0.0,
        since: float = 0.0,
        alerts_within_s: float = 0.0,
    ) -> Record:
        """Wait until every order of the run is complete or the timeout expires, and report the events.

        Orders created before `since` are excluded from latencies. Alerts are those of rules broken after `began_at`;
        the wait for raised ones to clear is at most `alerts_within_s`.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._runs[run].complete >= orders, timeout_s)
            self._changed.wait_for(lambda: self._all_cleared(began_at), alerts_within_s)
            seen, alerts = self._runs.pop(run, _Seen()), self._alerts_since(began_at)
            self._alerts.clear()
        of_hops = {"shipping": seen.shipping_s, "notifying": seen.notifying_s, "completing": seen.completing_s}
        latencies = {
            name: latency_of([value for created_at, value in values if created_at >= since])
            for name, values in of_hops.items()
        }
        return {
            "run": run,
            "complete": seen.complete,
            "repeated": seen.repeated,
            "out_of_order": seen.out_of_order,
            "alerts": alerts,
            **latencies,
        }

    def _alerts_since(self, began_at: float) -> list[Record]:
        return [alert for alert in self._alerts.values() if alert["since"] >= began_at]

    def _all_cleared(self, began_at: float) -> bool:
        known = {
            state: {(each["rule"], each["since"]) for each in self._alerts_since(began_at) if each["state"] == state}
            for state in ("raised", "cleared")
        }
        return known["raised"] <= known["cleared"]


def follow(client: Client, port: int, token: str) -> None:
    """Follow the events forever; reconnect after a lost connection."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=None)
        try:
            connection.request("GET", EVENTS_PATH, headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            if response.status == http.client.OK:
                say({"ready": "client"})
                for line in response:
                    if line.startswith(_DATA):
                        client.take(json.loads(line[len(_DATA) :]), time.time())
        except (OSError, http.client.HTTPException, ValueError):  # the server sends an incomplete event again
            pass
        finally:
            connection.close()
        time.sleep(_AGAIN_S)


def main() -> None:
    """Follow the events, and answer on standard output until the input ends."""
    parser = ArgumentParser(prog="client")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    client = Client()
    arguments = (client, options.port, os.environ[TOKEN_VARIABLE])
    threading.Thread(target=follow, args=arguments, daemon=True).start()
    for line in sys.stdin:
        say(client.result_of(**json.loads(line)))


if __name__ == "__main__":
    main()
