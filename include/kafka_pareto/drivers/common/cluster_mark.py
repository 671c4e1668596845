"""Keep several installations from loading one cluster at once, by a mark on the cluster itself.

The lease in the store separates users of one store. The mark is a topic whose creation is the lock: Kafka lets only one
creator succeed. Its records name the holder, the start, and the term of each record.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Self

from kafka_pareto.errors import ClusterError, LeaseHeldError
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.kafka.topic_mark import MarkEnd, TopicMark
from kafka_pareto.measurement.own_topics import PREFIX
from kafka_pareto.storage.lease import LEASE_SECONDS, ClusterLease, Lease, installation_id, seconds_since_boot
from kafka_pareto.storage.store import Store

log = logging.getLogger(__name__)

MARK_TOPIC = f"{PREFIX}lock"
_CONFIGS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
    "retention.ms": str(24 * 3_600_000),
    "retention.bytes": str(1 << 20),
    "segment.bytes": str(1 << 20),
}
_MOST_REPLICAS = 3
_POLL_S = 1.0


@contextmanager
def exclusive_load(store: Store, cluster: Cluster, description: ClusterDescription, wait_s: float) -> Iterator[Lease]:
    """Hold the cluster's lease in the store and its mark while the context is open.

    Args:
        store: Shared by all loads of this installation.
        cluster: The open cluster.
        description: Of the cluster.
        wait_s: The longest wait for another holder of either.

    Raises:
        LeaseHeldError: If another load runs on the cluster.
    """
    with (
        ClusterLease(store, description.cluster_id, wait_s) as lease,
        ClusterMark(cluster, lease, len(description.brokers), installation_id(store), wait_s) as mark,
    ):
        yield mark


class ClusterMark:
    """While the context is open, no other installation loads the cluster, if this user's rights allow a mark.

    The holder appends a record every quarter of the term. A waiting installation takes over a mark without a new record
    for a whole term by its own clock. It takes over the mark of a killed process of its own installation immediately,
    since it has the lease. A mark is deleted by its topic's ID, so only one of two deleters can create the next. Within
    an installation the mark belongs to the holder of the lease; a holder that lost the lease leaves it to its
    successor.

    Args:
        cluster: The open cluster, which must stay open.
        lease: Only its holder, within this installation, may create, renew and delete the mark.
        brokers: The number of live brokers.
        installation: Identifies all processes that share a store, and thus a lease.
        wait_s: The longest wait for another holder before LeaseHeldError.
        term_s: A mark lapses this long after its last renewal.
    """

    def __init__(
        self,
        cluster: Cluster,
        lease: Lease,
        brokers: int,
        installation: str,
        wait_s: float,
        term_s: float = LEASE_SECONDS,
    ) -> None:
        self._lease = lease
        self._mark: TopicMark = cluster.mark(MARK_TOPIC)
        self._replicas = min(brokers, _MOST_REPLICAS)
        self._installation = installation
        self._wait_s = wait_s
        self._term_s = term_s
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._topic_id: str | None = None
        self._is_lost = False
        self._renewed_at = 0.0
        self._seen: tuple[object, float] = (None, 0.0)
        self._holder = ""
        self._turn = threading.Lock()
        self._released = threading.Event()
        self._renewal = threading.Thread(target=self._keep_renewing, name="mark-renewal", daemon=True)
        self._trouble: ClusterError | None = None

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._wait_s
        while not (acquired := self._try_to_acquire()) and not self._is_refused and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if acquired:
            self._renewal.start()
        elif self._trouble is None:
            raise LeaseHeldError(
                f"another installation is using this cluster ({self._holder or 'holder unknown'}; topic {MARK_TOPIC}) "
                f"and did not finish within {self._wait_s:.0f} s; wait for it, or stop it"
            )
        else:
            self._delete()
            if not self._is_refused:
                raise self._trouble
            log.warning(
                "other installations can load this cluster, too: its mark (topic %s) could not be created: %s",
                MARK_TOPIC,
                self._trouble,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        if self._renewal.is_alive():
            self._renewal.join(self._term_s)
        if not self._is_lost:
            self._delete()

    @property
    def _is_refused(self) -> bool:
        return self._trouble is not None and is_refusal(self._trouble)

    def is_held(self) -> bool:
        """Return whether lease and mark are still held; ask the cluster if the mark was not renewed for a term."""
        if not self._lease.is_held():
            return False
        if self._is_refused or seconds_since_boot() - self._renewed_at < self._term_s:
            return not self._is_lost
        return self._is_ours()

    def renew(self) -> bool:
        """Renew the lease and return whether both were held throughout; nobody can take an unreachable one."""
        return self._lease.renew() and self._is_ours()

    def _is_ours(self) -> bool:
        """Return whether this holder has the mark; create it again if somebody deleted it."""
        with self._turn, suppress(ClusterError):
            if self._is_refused or self._is_lost:
                return not self._is_lost
            topic_id = self._mark.topic_id()
            if topic_id is None and self._lease.is_held():
                self._topic_id = self._mark.make(self._replicas, _CONFIGS) or self._topic_id
            else:
                self._is_lost = topic_id != self._topic_id
        return not self._is_lost

    def _try_to_acquire(self) -> bool:
        """Create the mark, or delete a lapsed one; retry after transient cluster trouble."""
        self._trouble = None
        try:
            self._topic_id = self._mark.make(self._replicas, _CONFIGS) or self._found()
            if self._topic_id is None:
                return False
            self._append()
        except ClusterError as error:
            self._trouble = error
            return False
        return True

    def _found(self) -> str | None:
        """Return the ID of the existing mark if it is ours; delete a lapsed one of another installation."""
        topic_id: str | None = None
        end: MarkEnd | None = None
        with suppress(ClusterError):  # being created or deleted, or invisible to this user: treated as held
            topic_id = self._mark.topic_id()
            end = self._mark.end()
        holder: dict[str, str] = {}
        with suppress(ValueError):
            content = json.loads((end and end.value) or "{}")
            holder = {key: str(each) for key, each in content.items()} if isinstance(content, dict) else {}
        self._holder = f"{holder['holder']} since {holder.get('since', '?')}" if "holder" in holder else ""
        if topic_id is not None and (topic_id == self._topic_id or holder.get("installation") == self._installation):
            return topic_id
        now = time.monotonic()
        seen = (topic_id, end.end_offset) if topic_id is not None and end is not None else None
        if seen is None or seen != self._seen[0]:  # without a visible end, it may still be renewed
            self._seen = (seen, now)
        elif now - self._seen[1] >= self._term_s:
            self._mark.delete(seen[0])
        return None

    def _append(self) -> None:
        at = seconds_since_boot()
        self._mark.append(
            json.dumps(
                {
                    "holder": f"{socket.gethostname()} pid {os.getpid()}",
                    "installation": self._installation,
                    "since": self._since,
                    "term_s": self._term_s,
                }
            )
        )
        self._renewed_at = at

    def _keep_renewing(self) -> None:
        while not self._released.wait(self._term_s / 4):
            with suppress(ClusterError):  # is_held() checks the mark's owner once it is a term old
                if not self._is_ours():
                    return
                self._append()

    def _delete(self) -> None:
        if self._topic_id is not None and self._lease.is_held():
            with suppress(ClusterError):  # must not hide the work's own error; the mark lapses
                self._mark.delete(self._topic_id)


def why_no_mark(cluster: Cluster, brokers: int) -> str:
    """Return why this user may not create the mark, without creating it; empty if they may."""
    try:
        cluster.mark(MARK_TOPIC).make(min(brokers, _MOST_REPLICAS), _CONFIGS, only_asks=True)
    except ClusterError as error:
        if not is_refusal(error):
            raise
        return str(error)
    return ""


def is_refusal(error: ClusterError) -> bool:
    """Return whether this user's rights, or the cluster's rules or version, rule out a mark."""
    return error.kafka_error.endswith(
        ("AuthorizationException", "PolicyViolationException", "UnsupportedVersionException")
    )
