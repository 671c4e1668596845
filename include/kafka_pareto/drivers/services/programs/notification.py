"""The notification, which pushes order events to clients as server-sent events on loopback."""

from __future__ import annotations

import hmac
import json
import os
import threading
from collections.abc import Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import ClassVar

from kafka_pareto.drivers.services.programs.messages import MONITOR_ALERTS, ORDER_CONFIRMATION, SHIPMENT_STATUS, Record
from kafka_pareto.drivers.services.programs.sender import Outgoing
from kafka_pareto.drivers.services.programs.service import Handler, Service, options_of, serve

TOKEN_VARIABLE = "KAFKA_PARETO_SERVICES_TOKEN"  # noqa: S105 (its name)
EVENTS_PATH = "/events"
_LOOPBACK = "127.0.0.1"


class Notification(Handler):
    """Keep events until a client has received them; duplicates are dropped."""

    reads: ClassVar = (ORDER_CONFIRMATION, SHIPMENT_STATUS, MONITOR_ALERTS)

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._passed_on: set[str] = set()
        self._clients: list[tuple[BufferedIOBase, threading.Event]] = []
        self._lock = threading.Lock()

    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Keep the event for the clients."""
        kind = "alert" if topic == MONITOR_ALERTS else record.get("status", "confirmed")
        event_id = f"{record.get('order_id') or record.get('alert_id')}/{kind}"
        if event_id not in self._passed_on:
            self._passed_on.add(event_id)
            event = json.dumps(record | {"kind": kind, "appended_at": appended_at}, separators=(",", ":"))
            self._waiting.append(f"id: {event_id}\ndata: {event}\n\n".encode())
        return ()

    def tick(self) -> Iterable[Outgoing]:
        """Send every client its missing events."""
        if self._waiting and self._write(b"".join(self._waiting)):
            self._waiting.clear()
        return ()

    def has_passed_on(self) -> bool:
        """Return whether a client has all events."""
        return not self._waiting

    def add(self, client: BufferedIOBase) -> threading.Event:
        """Add a client, and return an event set once it is gone."""
        gone = threading.Event()
        with self._lock:
            self._clients.append((client, gone))
        return gone

    def _write(self, events: bytes) -> bool:
        """Return whether at least one client took the events."""
        with self._lock:
            for client, gone in self._clients.copy():
                try:
                    client.write(events)
                    client.flush()
                except OSError:
                    self._clients.remove((client, gone))
                    gone.set()
            return bool(self._clients)


def server_for(notification: Notification, token: str, port: int) -> ThreadingHTTPServer:
    """Return a server that lets clients with the token follow the events."""

    class Events(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
                self.send_error(HTTPStatus.UNAUTHORIZED)
                return
            if self.path != EVENTS_PATH:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.flush()
            notification.add(self.wfile).wait()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the server's name for it)
            """Log nothing per request."""

    server = ThreadingHTTPServer((_LOOPBACK, port), Events)
    server.daemon_threads = True
    return server


def main() -> None:
    """Run the notification until SIGTERM."""
    parser = options_of("notification")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    notification = Notification()
    server = server_for(notification, os.environ[TOKEN_VARIABLE], options.port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    serve(Service("notification", notification, options))


if __name__ == "__main__":
    main()
