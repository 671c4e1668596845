"""Lease in the store that allows one load at a time per cluster."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from tenacity import retry, retry_if_exception_type, retry_if_result, stop_after_delay, wait_exponential, wait_fixed

from kafka_pareto.errors import ArtifactError, LeaseHeldError, StoreError
from kafka_pareto.storage.store import Store

LEASE_SECONDS = 20.0
_POLL_S = 1.0
_STORE_DEADLINE_S = 300.0
_INSTALLATION = "_installation/id"


class Lease(Protocol):
    """Exclusive right to load a cluster."""

    def is_held(self) -> bool:
        """Return whether the lease is valid by this process's clock; checked before each repetition."""

    def renew(self) -> bool:
        """Return whether the lease was held without a gap; checked before a repetition is stored."""


def seconds_since_boot() -> float:
    """Return the time since boot, including time suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class ClusterLease:
    """Context in which this process alone may load the cluster.

    The holder renews the lease every quarter of its term; unrenewed, it lapses after one term by the waiters' own
    clocks, so machines' clocks need not agree. If a virtual machine is suspended, its clocks stop too: `renew` detects
    that afterwards, because only the last holder's conditional write succeeds. Releasing is a write, because few S3
    stores support conditional deletes.

    Args:
        store: Shared by all processes that load the cluster.
        cluster_id: The ID that Kafka gave the cluster.
        wait_s: How long to wait for another holder before LeaseHeldError.
        term_s: The term after which an unchanged lease lapses.
        clock: The holder's seconds, including time suspended.
    """

    def __init__(
        self,
        store: Store,
        cluster_id: str,
        wait_s: float,
        term_s: float = LEASE_SECONDS,
        clock: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._store = store
        self._key = f"leases/{cluster_id}.json"
        self._wait_s = wait_s
        self._term_s = term_s
        self._clock = clock
        self._holder = f"{socket.gethostname()} pid {os.getpid()}"
        self._nonce = secrets.token_hex(8)
        self._writes = 0
        self._tag: str | None = None
        self._renewed_at = 0.0
        self._turn = threading.Lock()
        self._released = threading.Event()
        self._renewal = threading.Thread(target=self._keep_renewing, name="lease-renewal", daemon=True)

    def __enter__(self) -> Self:
        self._watched: tuple[str | None, float] = (None, time.monotonic())
        acquire = retry(
            retry=retry_if_result(lambda acquired: not acquired),
            stop=stop_after_delay(self._wait_s),
            wait=wait_fixed(_POLL_S),
            retry_error_callback=lambda _: False,
        )(self._try_to_acquire)
        if not acquire():
            raise LeaseHeldError(
                f"another load is running on this cluster ({self._describe_holder()}) and did not end within "
                f"{self._wait_s:.0f} s; wait for it, or stop it"
            )
        self._renewal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._renewal.join(self._term_s)
        # An unreachable store must not mask the block's error; the lease lapses.
        with suppress(StoreError):
            if self._tag is not None and not self._renewal.is_alive():
                self._write(self._tag, returned=True)
        self._tag = None

    def is_held(self) -> bool:
        """Return whether the lease is valid by this machine's clock; checked before each repetition."""
        return self._tag is not None and self._clock() - self._renewed_at < self._term_s

    def renew(self) -> bool:
        """Renew the lease and return whether it was held without a gap; checked before a repetition is stored.

        Waits for an unreachable store, because no other process can take the lease meanwhile; raises StoreError after
        minutes.
        """
        persistently = retry(
            retry=retry_if_exception_type(StoreError),
            stop=stop_after_delay(_STORE_DEADLINE_S),
            wait=wait_exponential(max=15),
            reraise=True,
        )
        return persistently(self._renew)()

    def _try_to_acquire(self) -> bool:
        current = self._store.tag(self._key)
        now = time.monotonic()
        if current is not None and current != self._watched[0]:
            self._watched = (current, now)
        lapsed = current is None or now - self._watched[1] >= self._term_s
        if not lapsed and "returned" not in self._stored():
            return False
        return self._write(current)

    def _renew(self) -> bool:
        with self._turn:
            if self._tag is not None and not self._write(self._tag):
                self._tag = None
            return self._tag is not None

    def _write(self, expected_tag: str | None, *, returned: bool = False) -> bool:
        at = self._clock()
        self._writes += 1
        state = {"returned": True} if returned else {"nonce": self._nonce, "write": self._writes}
        content = json.dumps({"holder": self._holder, **state}).encode()
        tag = self._store.put_if(self._key, content, expected_tag)
        if tag is None and (own_tag := self._tag_if_ours()) is not None:
            # The response to our earlier write was lost, but the write changed the tag.
            tag = self._store.put_if(self._key, content, own_tag)
        if tag is None:
            return False
        self._tag, self._renewed_at = tag, at
        return True

    def _tag_if_ours(self) -> str | None:
        tag = self._store.tag(self._key)  # read before the content, so a takeover in between makes the tag stale
        return tag if self._stored().get("nonce") == self._nonce else None

    def _keep_renewing(self) -> None:
        while not self._released.wait(self._term_s / 4):
            with suppress(StoreError):  # is_held() turns false if the store is unreachable for a whole term
                if not self._renew():
                    return

    def _describe_holder(self) -> str:
        try:
            return self._stored().get("holder", "holder unknown")
        except StoreError:
            return "holder unknown"

    def _stored(self) -> dict[str, str]:
        try:
            content = json.loads(self._store.get(self._key))
        except (ArtifactError, ValueError):
            return {}
        return {key: str(value) for key, value in content.items()} if isinstance(content, dict) else {}


def installation_id(store: Store) -> str:
    """Return the random ID shared by all users of this store, creating it at first use."""
    store.put_if(_INSTALLATION, secrets.token_hex(8).encode(), None)
    return store.get(_INSTALLATION).decode()


def require_ours(is_ours: bool) -> None:
    """Raise LeaseHeldError if the lease is no longer held."""
    if not is_ours:
        raise LeaseHeldError("the lease on the cluster was lost; the task's next try resumes from here")
