"""Run a service: read topics as a group, pass each record to the handler, and commit once its output is stored.

A killed service rereads uncommitted records: this causes duplicates, recognized by their order id, but no losses.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from kafka_pareto.drivers.services.programs.messages import MalformedRecordError, Record, decode
from kafka_pareto.drivers.services.programs.sender import KNOWS_PARTITIONS_WITHIN_MS, Outgoing, Sender, as_partitions

_MOST_AT_ONCE = 500
_POLL_S = 0.02
# Each commit is a replicated record; a commit after each read would distort the measurement.
_COMMIT_EVERY_S = 1.0
# How long records are gathered for one transaction, as Kafka Streams does it (commit.interval.ms with exactly once).
_TRANSACTION_S = 0.1
_MOST_MEMBERS = 5
# After losing its coordinator, a group may mistake a static member for another.
_OF_THE_MEMBER = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID, KafkaError.UNKNOWN_MEMBER_ID)


class Handler(ABC):
    """A service's processing of records."""

    reads: ClassVar[tuple[str, ...]]

    @abstractmethod
    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Return the response to a record appended at this time (seconds since 1970)."""

    def tick(self) -> Iterable[Outgoing]:
        """Return the records due by time; called after each poll."""
        return ()

    def has_passed_on(self) -> bool:
        """Return whether all output that does not go through Kafka is delivered; if not, its input is reread."""
        return True


class OrderHandler(Handler):
    """A handler whose only output is records, once per order; input and output can share a transaction."""

    def __init__(self) -> None:
        self._handled: set[str] = set()

    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:  # noqa: ARG002
        """Return the order's records; none for a duplicate."""
        if record["order_id"] in self._handled:
            return ()
        self._handled.add(record["order_id"])
        return self.records_for(record, appended_at)

    @abstractmethod
    def records_for(self, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Return the response to an order's first record."""

    def forget(self, order_ids: Iterable[str]) -> None:
        """Forget that these orders were handled: their output was not stored, and they will be reread."""
        self._handled.difference_update(order_ids)


@dataclass
class _Batch:
    """The offsets read so far, and the number of their outputs not stored yet."""

    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    outstanding: int = 0


class Service:
    """Run one handler until told to stop."""

    def __init__(self, name: str, handler: Handler, options: Namespace) -> None:
        self._malformed = 0
        self._name = name
        self._handler = handler
        is_exactly_once = options.delivery == "exactly_once"
        self._transactional = handler if is_exactly_once and isinstance(handler, OrderHandler) else None
        member = f"{name}-{options.instance}"
        self._sender = Sender(options, transactional_id=member if self._transactional else "")
        self._open: deque[_Batch] = deque()
        self._stopping = False
        self._committed_at = 0.0
        self._consumer_settings: dict[str, str | int | bool] = {
            "bootstrap.servers": options.bootstrap_servers,
            "group.id": f"{options.groups}{name}",
            "group.instance.id": member,  # a restarted service gets its partitions back immediately
            "session.timeout.ms": 10_000,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "topic.metadata.refresh.interval.ms": KNOWS_PARTITIONS_WITHIN_MS,
        }

    def stop(self) -> None:
        """End the loop after the current records."""
        self._stopping = True

    def run(self) -> None:
        """Report when partitions are assigned, and handle records until stopped.

        A group that lost its coordinator may fence this member: the service then rejoins and rereads what it has not
        committed.

        Raises:
            KafkaException: If a record cannot be stored, or the cluster refuses.
        """
        begun = 1
        while not self._stopping:
            try:
                self._run_as_member()
            except KafkaException as error:
                # A fatal consumer error ends the membership; a fatal producer error ends the service.
                is_of_the_member = error.args[0].code() in _OF_THE_MEMBER or self._transactional
                if begun == _MOST_MEMBERS or not is_of_the_member or self._sender.failure:
                    raise
                begun += 1
                print(f"{self._name}: rejoins the group after {error}", file=sys.stderr, flush=True)

    def _run_as_member(self) -> None:
        self._consumer = Consumer(self._consumer_settings)
        self._consumer.subscribe(
            list(self._handler.reads),
            on_assign=lambda *_: say({"ready": self._name}),
            on_revoke=lambda *_: self._settle(),
            on_lost=lambda *_: self._open.clear(),
        )
        try:
            while not self._stopping:
                if self._transactional:
                    self._handle_at_once(self._transactional, self._consumer.consume(_MOST_AT_ONCE, _TRANSACTION_S))
                else:
                    self._handle(self._read())
                    self._send(self._handler.tick(), _Batch())
                    if time.monotonic() > self._committed_at + _COMMIT_EVERY_S:
                        self._commit()
            self._settle()
        except KafkaException:
            self._sender.flush()  # handled records are not handled again, so their output must be stored
            self._open.clear()  # they are committed when they are read again
            raise
        finally:
            with suppress(KafkaException):  # a member unknown to the group cannot leave it
                self._consumer.close()

    def _read(self) -> list[Message]:
        """Wait briefly for a record and return it with all that have arrived; `consume` alone would wait for more."""
        first = self._consumer.poll(_POLL_S)
        return [] if first is None else [first, *self._consumer.consume(_MOST_AT_ONCE - 1, 0.0)]

    def _handle_at_once(self, handler: OrderHandler, messages: list[Message]) -> None:
        """Handle records, and store their output and the offsets in one transaction."""
        if not messages:
            return
        offsets: dict[tuple[str, int], int] = {}
        try:
            with self._sender.transaction(self._consumer, offsets):
                self._handle(messages)
                offsets |= self._open.pop().offsets
        except KafkaException:
            self._open.clear()
            handler.forget(_order_ids(messages))
            raise

    def _handle(self, messages: list[Message]) -> None:
        batch = _Batch()
        self._open.append(batch)
        for message in messages:
            if error := message.error():
                if error.code() in _OF_THE_MEMBER:
                    raise KafkaException(error)
                print(f"{self._name}: {error}", file=sys.stderr, flush=True)
                continue
            topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
            batch.offsets[topic, partition] = offset + 1
            try:
                record = decode(message.value(), topic)
            except MalformedRecordError as error:
                self._malformed += 1
                where = f"{topic}/{partition} at {offset}"
                said = f"{self._name}: {where}: {error}; skipped, {self._malformed} malformed so far"
                print(said, file=sys.stderr, flush=True)
                continue
            self._send(self._handler.handle(topic, record, message.timestamp()[1] / 1e3), batch)
        self._sender.poll()

    def _send(self, records: Iterable[Outgoing], batch: _Batch) -> None:
        def stored() -> None:
            batch.outstanding -= 1

        for outgoing in records:
            batch.outstanding += 1
            self._sender.send(outgoing, stored)

    def _commit(self, *, and_waits: bool = False) -> None:
        """Commit up to the first batch with output not stored yet."""
        self._committed_at = time.monotonic()
        done: dict[tuple[str, int], int] = {}
        while self._open and not self._open[0].outstanding and self._handler.has_passed_on():
            done |= self._open.popleft().offsets
        if done and and_waits:
            self._consumer.commit(offsets=as_partitions(done), asynchronous=False)
        elif done:
            self._consumer.commit(offsets=as_partitions(done))

    def _settle(self) -> None:
        if not self._transactional:
            self._sender.flush()
            self._commit(and_waits=True)


def _order_ids(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        with suppress(MalformedRecordError):
            if message.error() is None:
                yield decode(message.value(), message.topic() or "")["order_id"]


def options_of(name: str) -> ArgumentParser:
    """Return the options every service has."""
    parser = ArgumentParser(prog=name)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--partitions", type=int, required=True, help="partitions of each topic")
    parser.add_argument("--partitioning", choices=("round_robin", "key"), required=True)
    parser.add_argument("--delivery", choices=("at_least_once", "exactly_once"), default="at_least_once")
    parser.add_argument("--instance", type=int, default=1, help="number of this instance in the service's group")
    parser.add_argument("--groups", default="", help="prefix of the service's consumer group")
    parser.add_argument("--producer", default="{}", help="librdkafka settings of the producer, as a JSON object")
    return parser


def serve(service: Service) -> None:
    """Run a service until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: service.stop())
    service.run()


def say(record: Record) -> None:
    """Print a line of JSON for the parent process."""
    print(json.dumps(record), flush=True)
