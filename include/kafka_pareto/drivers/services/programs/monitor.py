"""The monitor, which watches orders and brokers, and sends an alert when a rule is broken or cleared."""

from __future__ import annotations

import socket
import threading
import time
from argparse import Namespace
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_pareto.drivers.services.programs.alerts import Alerts, rules_of
from kafka_pareto.drivers.services.programs.figures import latency_of
from kafka_pareto.drivers.services.programs.messages import (
    MONITOR_ALERTS,
    ORDER_CONFIRMATION,
    ORDER_PLACED,
    TOPICS,
    Record,
)
from kafka_pareto.drivers.services.programs.sender import Outgoing
from kafka_pareto.drivers.services.programs.service import Handler, Service, options_of, serve

_WINDOW_S = 5.0
_LOOKED_EVERY_S = 1.0
_ANSWERS_WITHIN_S = 2.0


class ClusterHealth:
    """Poll the brokers' health in a separate thread, so a hanging broker does not delay orders.

    A killed broker stays in the metadata until its session expires, nine seconds by default. If the queried broker is
    down, no metadata may arrive at all. So the monitor also tries to connect to every known broker.
    """

    def __init__(self, bootstrap_servers: str, brokers: int, answers_within_s: float = _ANSWERS_WITHIN_S) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._brokers = brokers
        self._answers_within_s = answers_within_s
        addresses = (each.rpartition(":") for each in bootstrap_servers.split(","))
        self._known = [(host, int(port)) for host, _, port in addresses]
        self.values: dict[str, float] = {}

    def look(self) -> None:
        """Poll once; out-of-sync replicas are known only if a broker answers."""
        found: dict[str, float] = {}
        with suppress(KafkaException):
            metadata = self._admin.list_topics(timeout=self._answers_within_s)
            self._known = [(str(each.host), each.port) for each in metadata.brokers.values()] or self._known
            partitions = [each for topic in metadata.topics.values() for each in topic.partitions.values()]
            found["replicas_out_of_sync"] = float(sum(len(each.replicas) - len(each.isrs) for each in partitions))
        there = sum(_accepts(address, self._answers_within_s) for address in self._known)
        self.values = {**found, "brokers_gone": float(self._brokers - there)}

    def look_for_ever(self) -> None:
        """Poll once a second."""
        while True:
            self.look()
            time.sleep(_LOOKED_EVERY_S)


class Monitor(Handler):
    """Keep the last seconds of orders, and apply the rules once a second."""

    reads: ClassVar = tuple(topic for topic in TOPICS if topic != MONITOR_ALERTS)

    def __init__(self, options: Namespace) -> None:
        self._alerts = Alerts(rules_of(options.rules))
        self._health = ClusterHealth(options.bootstrap_servers, options.brokers)
        self._confirmed: deque[tuple[float, float]] = deque()
        self._placed_ids: set[str] = set()
        self._confirmed_ids: set[str] = set()
        self._open = 0
        self._busy_since = 0.0
        self._looked_at = 0.0
        threading.Thread(target=self._health.look_for_ever, daemon=True).start()

    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Record an order and its confirmation, whichever is read first; duplicates do not count."""
        order_id = record["order_id"]
        if topic == ORDER_PLACED and order_id not in self._placed_ids:
            self._placed_ids.add(order_id)
            if order_id not in self._confirmed_ids:
                self._busy_since = self._busy_since if self._open else appended_at
                self._open += 1
        elif topic == ORDER_CONFIRMATION and order_id not in self._confirmed_ids:
            self._confirmed_ids.add(order_id)
            self._open -= order_id in self._placed_ids
            self._confirmed.append((appended_at, appended_at - record["created_at"]))
        return ()

    def tick(self) -> Iterable[Outgoing]:
        """Return the alerts of this second."""
        now = time.time()
        if now < self._looked_at + _LOOKED_EVERY_S:
            return []
        self._looked_at = now
        alerts = self._alerts.of(self._values(now), now, is_idle=not self._open)
        return [Outgoing(MONITOR_ALERTS, alert) for alert in alerts]

    def _values(self, now: float) -> dict[str, float]:
        while self._confirmed and self._confirmed[0][0] < now - _WINDOW_S:
            self._confirmed.popleft()
        latency = latency_of([latency_s for _, latency_s in self._confirmed])
        values = {"lag_orders": float(self._open), **self._health.values}
        if latency is not None:
            values["latency_p95_ms"] = latency["p95_ms"]
        if self._open and self._busy_since < now - _WINDOW_S:
            values["orders_s"] = len(self._confirmed) / _WINDOW_S
        return values


def _accepts(address: tuple[str, int], within_s: float) -> bool:
    try:
        socket.create_connection(address, timeout=within_s).close()
    except OSError:
        return False
    return True


def main() -> None:
    """Run the monitor until SIGTERM."""
    parser = options_of("monitor")
    parser.add_argument("--brokers", type=int, required=True, help="expected number of brokers")
    parser.add_argument("--rules", default="{}", help="bounds by watched value, as a JSON object")
    options = parser.parse_args()
    serve(Service("monitor", Monitor(options), options))


if __name__ == "__main__":
    main()
