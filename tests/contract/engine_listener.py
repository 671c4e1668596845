"""Takes the place of a container engine behind its socket, to see what arrives there."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer


class Listener(ThreadingUnixStreamServer):
    """Agrees to everything, and remembers what has arrived: method, target and body, and the protocol to change to."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path, _Agreeing)
        self.arrived: list[tuple[str, str, bytes]] = []
        self.upgrades: list[str] = []


class _Agreeing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.arrived.append((self.command, self.path, body))
        self.server.upgrades += self.headers.get_all("Upgrade", [])
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")

    def address_string(self) -> str:
        return "the proxy"
