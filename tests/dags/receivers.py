"""Real receivers of notices: a mail server, and a stand-in for Slack's webhook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from kafka_pareto.brokers.ports import free_ports

WEBHOOK_SECRET = "T0/B0/the-webhooks-own-secret"  # noqa: S105 (nobody's)


@contextmanager
def mail_server() -> Iterator[tuple[int, list[Message]]]:
    """Its port, and the mails that arrive."""
    mails: list[Message] = []

    class Mailbox:
        async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
            mails.append(message_from_bytes(envelope.content or b""))
            return "250 OK"

    controller = Controller(Mailbox(), hostname="127.0.0.1", port=free_ports(1)[0])
    controller.start()
    try:
        yield controller.port, mails
    finally:
        controller.stop()


@contextmanager
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Its address, secret included as Slack has it, and what is posted there."""
    posts: list[dict[str, Any]] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Webhook) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/services/{WEBHOOK_SECRET}", posts
        finally:
            server.shutdown()
            thread.join()


def body_of(mail: Message) -> str:
    """The text of a mail's one part."""
    [part] = [part for part in mail.walk() if not part.is_multipart()]
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.decode()
