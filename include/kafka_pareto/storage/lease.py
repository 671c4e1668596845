"""Allows one load at a time per cluster, by a lease in the store. A killed holder's lease lapses after one term."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.errors import ArtifactError, LeaseHeldError, StoreError
from kafka_pareto.storage.store import Store

LEASE_SECONDS = 20.0
_POLL_S = 1.0


class ClusterLease:
    """Opens a context in which this process alone may load the cluster.

    The holder renews the lease every quarter of its term. A killed holder's lease lapses after one term. The waiting
    process measures that term with its own clock: it takes over once it has seen an unchanged lease for a whole term.
    The clocks of two machines need not agree.

    Args:
        store: Where the lease is kept; all who load the cluster must share it.
        cluster_id: Kafka's own id of the cluster.
        wait_s: How long to wait for another holder before LeaseHeldError.
    """

    def __init__(self, store: Store, cluster_id: str, wait_s: float, term_s: float = LEASE_SECONDS) -> None:
        self._store = store
        self._key = f"leases/{cluster_id}.json"
        self._wait_s = wait_s
        self._term_s = term_s
        self._holder = f"{socket.gethostname()} pid {os.getpid()}"
        self._nonce = secrets.token_hex(8)
        self._writes = 0
        self._tag: str | None = None
        self._renewed_at = 0.0
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
                f"another load runs on this cluster ({self._describe_holder()}) and did not end within "
                f"{self._wait_s:.0f} s; wait for it, or stop it"
            )
        self._renewal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._renewal.join(self._term_s)
        with suppress(StoreError):  # an unreachable store must not hide the work's own error; the lease lapses
            if self.is_held() and self._store.tag(self._key) == self._tag:
                self._store.delete(self._key)
        self._tag = None

    def is_held(self) -> bool:
        """Tells whether the lease is certainly still ours; asked before each repetition."""
        return self._tag is not None and time.monotonic() - self._renewed_at < self._term_s

    def _try_to_acquire(self) -> bool:
        current = self._store.tag(self._key)
        now = time.monotonic()
        if current is not None and current != self._watched[0]:
            self._watched = (current, now)
        if current is not None and now - self._watched[1] < self._term_s:
            return False
        return self._write(current)

    def _write(self, expected_tag: str | None) -> bool:
        at = time.monotonic()
        self._writes += 1
        content = json.dumps({"holder": self._holder, "nonce": self._nonce, "write": self._writes}).encode()
        tag = self._store.put_if(self._key, content, expected_tag)
        if tag is None and (own_tag := self._tag_if_ours()) is not None:
            # The answer to an earlier write of ours was lost, and that write has changed the tag.
            tag = self._store.put_if(self._key, content, own_tag)
        if tag is None:
            return False
        self._tag, self._renewed_at = tag, at
        return True

    def _tag_if_ours(self) -> str | None:
        tag = self._store.tag(self._key)  # before the content: after a takeover in between, this tag is outdated
        return tag if self._stored().get("nonce") == self._nonce else None

    def _keep_renewing(self) -> None:
        while not self._released.wait(self._term_s / 4):
            try:
                if not self._write(self._tag):
                    self._tag = None
                    return
            except StoreError:
                continue  # is_held() turns false if the store is unreachable for a whole term

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
