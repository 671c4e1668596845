"""A server to which Filebeat sends: Beats' protocol, also called lumberjack, version 2."""

from __future__ import annotations

import io
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self

Event = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """Events that the sender wants acknowledged together."""

    received_ms: int
    events: list[Event]


class Receiver:
    """Takes batches while the context is open, of one connection at a time; the port is free again afterwards.

    One that holds back reads on, and acknowledges nothing before it is released.
    """

    def __init__(self, port: int, holds_back: bool = False) -> None:
        self.batches: list[Batch] = []
        self._holds_back = holds_back
        self._owed: list[int] = []
        self._lock = threading.Lock()
        self._connection = socket.socket()
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, self._connection):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    @property
    def events(self) -> list[Event]:
        return [event for batch in list(self.batches) for event in batch.events]

    @property
    def messages(self) -> list[str]:
        return [event["message"] for event in self.events]

    def release(self) -> None:
        """Acknowledges the withheld batches, and from now on each one immediately."""
        with self._lock:
            self._holds_back = False
            self._acknowledge()

    def _serve(self) -> None:
        with self._listener, suppress(OSError):
            while True:
                self._connection, _ = self._listener.accept()
                with self._connection, self._connection.makefile("rb") as stream, suppress(ConnectionError):
                    self._take(stream)

    def _take(self, stream: BinaryIO) -> None:
        self._owed.clear()
        expected, events = 0, []
        for kind, number, payload in _frames(stream):
            if kind == b"W":
                expected, events = number, []
            else:
                events.append(json.loads(payload))
            if len(events) == expected:
                self.batches.append(Batch(time.time_ns() // 1_000_000, events))
                with self._lock:
                    self._owed.append(expected)
                    if not self._holds_back:
                        self._acknowledge()

    def _acknowledge(self) -> None:
        while self._owed:
            self._connection.sendall(b"2A" + struct.pack(">I", self._owed.pop(0)))


def _frames(stream: BinaryIO) -> Iterator[tuple[bytes, int, bytes]]:
    """Reads kind, number and payload: `W` and a batch's size, or `J`, the event's place in it, and the event."""
    while head := stream.read(6):
        if len(head) < 6:
            raise ConnectionError("the connection ended within a frame")
        version, kind, number = struct.unpack(">ccI", head)
        assert version == b"2", head
        if kind == b"C":
            yield from _frames(io.BytesIO(zlib.decompress(_read(stream, number))))
        elif kind == b"J":
            yield kind, number, _read(stream, *struct.unpack(">I", _read(stream, 4)))
        else:
            yield kind, number, b""


def _read(stream: BinaryIO, size: int) -> bytes:
    """Reads that many bytes, since a file over a socket returns fewer only at its end."""
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError("the connection ended within a frame")
    return data
