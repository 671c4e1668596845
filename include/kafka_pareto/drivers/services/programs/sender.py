"""Send records to partitions by the topology's rule."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from kafka_pareto.drivers.services.programs.messages import Record, encode

STATISTICS_EVERY_S = 0.1
# Kafka's default of five minutes is longer than any study that adds partitions.
KNOWS_PARTITIONS_WITHIN_MS = 10_000
_POLL_S = 0.02
_STOP_S = 10.0
_BY_KEY = -1  # librdkafka's: the partitioner decides


class Outgoing(NamedTuple):
    """A record to be sent; `key` decides the partition if the topology partitions by key."""

    topic: str
    record: Record


class Sender:
    """Send records to partitions by the topology's rule, and fail as soon as one cannot be stored.

    Attributes:
        failure: Why a record could not be stored; empty if all could.
    """

    def __init__(
        self, options: Namespace, statistics: Callable[[str], None] | None = None, transactional_id: str = ""
    ) -> None:
        self._is_keyed = options.partitioning == "key"
        # Round robin: Kafka's default would stick to one partition for a while.
        self._partitions: defaultdict[str, Iterator[int]] = defaultdict(lambda: cycle(range(options.partitions)))
        self.failure = ""
        settings: dict[str, object] = {
            "bootstrap.servers": options.bootstrap_servers,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "topic.metadata.refresh.interval.ms": KNOWS_PARTITIONS_WITHIN_MS,
            **json.loads(options.producer),
        }
        if transactional_id:
            settings["transactional.id"] = transactional_id
        if statistics is not None:
            settings |= {"statistics.interval.ms": round(STATISTICS_EVERY_S * 1e3), "stats_cb": statistics}
        self._producer = Producer(settings)
        if transactional_id:
            self._producer.init_transactions()

    @contextmanager
    def transaction(self, consumer: Consumer, offsets: Mapping[tuple[str, int], int]) -> Iterator[None]:
        """Store the records sent inside the context and the consumed offsets atomically.

        Raises:
            KafkaException: If it cannot be stored.
        """
        self._producer.begin_transaction()
        try:
            yield
            self._producer.send_offsets_to_transaction(as_partitions(offsets), consumer.consumer_group_metadata())
            self._producer.commit_transaction()
        except KafkaException:
            self._producer.abort_transaction()
            self.restart()
            raise
        self.poll()

    def restart(self) -> None:
        """Process outstanding acknowledgements and clear a failure."""
        self._producer.poll(0)
        self.failure = ""

    def send(self, outgoing: Outgoing, stored: Callable[[], None] = lambda: None) -> None:
        """Send a record; `stored` is called once it is acknowledged.

        Raises:
            KafkaException: If an earlier one could not be stored.
        """

        def answered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                self.failure = self.failure or f"{outgoing.topic}: {error}"
            else:
                stored()

        partition = _BY_KEY if self._is_keyed else next(self._partitions[outgoing.topic])
        value, key = encode(outgoing.record), str(outgoing.record.get("key", "")).encode() or None
        while True:
            try:
                self._producer.produce(outgoing.topic, value, key, partition, on_delivery=answered)
                break
            except BufferError:
                self._producer.poll(_POLL_S)
        self.poll()

    def poll(self, seconds: float = 0.0) -> None:
        """Process acknowledgements.

        Raises:
            KafkaException: If a record could not be stored.
        """
        self._producer.poll(seconds)
        if self.failure:
            raise KafkaException(KafkaError(KafkaError._FAIL, self.failure))

    def flush(self, seconds: float = _STOP_S) -> None:
        """Wait until all records are stored, at most for this long.

        Raises:
            KafkaException: If that fails or takes too long.
        """
        left = self._producer.flush(seconds)
        self.poll()
        if left:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{left} records are not stored"))


def as_partitions(offsets: Mapping[tuple[str, int], int]) -> list[TopicPartition]:
    """Return offsets by topic and partition in the client's form."""
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
