"""A client of the Beats protocol (Lumberjack v2) that sends windows of events as Filebeat does."""

from __future__ import annotations

import json
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

_CONNECT_S = 10.0
_ACKNOWLEDGEMENT = struct.Struct(">2sI")


class ConnectionEndedError(Exception):
    """The aggregator has closed the connection."""


class BeatsClient:
    """Opens a context in which it is connected to an aggregator."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, events: Sequence[dict[str, Any]]) -> None:
        """Sends a window."""
        frames = bytearray()
        for number, event in enumerate(events, 1):
            text = json.dumps(event).encode()
            frames += struct.pack(">2sII", b"2J", number, len(text)) + text
        packed = zlib.compress(frames, 1)
        self._socket.settimeout(_CONNECT_S)
        self._socket.sendall(struct.pack(">2sI2sI", b"2W", len(events), b"2C", len(packed)) + packed)

    def acknowledged(self, within_s: float = 30.0) -> int | None:
        """Returns of how many events the next acknowledgement is; None if there is none in time.

        Raises:
            ConnectionEndedError: If there can be none any more.
        """
        deadline = time.monotonic() + within_s
        while len(self._read) < _ACKNOWLEDGEMENT.size:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                read = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except ConnectionResetError as error:
                raise ConnectionEndedError from error
            if not read:
                raise ConnectionEndedError
            self._read += read
        kind, count = _ACKNOWLEDGEMENT.unpack(self._read[: _ACKNOWLEDGEMENT.size])
        self._read = self._read[_ACKNOWLEDGEMENT.size :]
        assert kind == b"2A"
        return int(count)


def event_of(request_id: str, **changes: Any) -> dict[str, Any]:
    """Makes an event of a request logged now by the web server and sent immediately by Filebeat."""
    now = time.time()
    request = {
        "request_id": request_id,
        "t0": int(now * 1000) / 1000,
        "method": "GET",
        "uri": "/cart",
        "status": 200,
        "bytes": 512,
        "request_s": 0.012,
        "upstream_s": "0.011",
        "session": "s-1",
        "user_agent": "load",
    }
    seconds, ms = divmod(int(now * 1000), 1000)
    return {
        "@timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{ms:03d}Z",
        "@metadata": {"beat": "filebeat", "type": "_doc", "version": "7.17.29"},
        "log": {"offset": 0, "file": {"path": "/access.log"}},
        "message": json.dumps(request),
        "t2": int(now * 1000),
        **changes,
    }
