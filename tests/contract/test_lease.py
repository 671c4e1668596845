"""The contract of the lease on a cluster, over a folder and over a real MinIO, with real processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_pareto.errors import LeaseHeldError, StoreError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.storage.store import Store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.contract.child import child_process

CLUSTER = "cluster-1"
KEY = f"leases/{CLUSTER}.json"
TERM_S = 2.5
HOLD = f"""
import sys
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import open_store

with ClusterLease(open_store(load_settings()), "{CLUSTER}", wait_s=0, term_s={TERM_S}):
    print("held", flush=True)
    sys.stdin.read()
"""


def lease_on(store: Store, wait_s: float = 0.0) -> ClusterLease:
    return ClusterLease(store, CLUSTER, wait_s, TERM_S)


def is_returned(store: Store) -> bool:
    return "returned" in json.loads(store.get(KEY))


@contextmanager
def another_process_that_holds(settings: Settings) -> Iterator[subprocess.Popen[str]]:
    with child_process(HOLD, settings) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder


class TestLeaseContract:
    def test_a_lease_is_held_within_its_context_and_returned_after(self, store: Store) -> None:
        with lease_on(store) as lease:
            assert lease.is_held()
            assert not is_returned(store)
        assert is_returned(store)

    def test_a_returned_lease_may_be_taken_immediately(self, store: Store) -> None:
        with lease_on(store):
            pass
        with lease_on(store) as second:
            assert second.is_held()

    def test_a_second_holder_waits_its_time_and_then_names_the_first(
        self, store: Store, store_settings: Settings
    ) -> None:
        with another_process_that_holds(store_settings) as holder:
            started = time.monotonic()
            with pytest.raises(LeaseHeldError, match=rf"another load is running on .* \(.* pid {holder.pid}\)"):
                lease_on(store, wait_s=TERM_S * 1.25).__enter__()
            assert time.monotonic() - started >= TERM_S * 1.25 - 1.0

    def test_a_waiting_holder_follows_when_the_first_returns_the_lease(self, store: Store) -> None:
        first = lease_on(store).__enter__()
        returning = threading.Timer(0.5, first.__exit__, (None, None, None))
        returning.start()
        with lease_on(store, wait_s=20) as second:
            assert second.is_held()
            assert not returning.is_alive()
        returning.join()

    def test_a_killed_holders_lease_lapses_after_its_term_and_not_before(
        self, store: Store, store_settings: Settings
    ) -> None:
        with another_process_that_holds(store_settings) as holder:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            started = time.monotonic()
            with lease_on(store, wait_s=30) as second:
                assert time.monotonic() - started >= TERM_S
                assert second.is_held()

    def test_renewal_keeps_the_lease_beyond_its_term(self, store: Store) -> None:
        with lease_on(store) as lease:
            with pytest.raises(LeaseHeldError):
                lease_on(store, wait_s=TERM_S * 2).__enter__()
            assert lease.is_held()

    def test_a_lease_taken_over_by_another_is_no_longer_held_and_left_to_them(self, store: Store) -> None:
        with lease_on(store) as lease:
            store.put(KEY, b'{"holder": "somebody else", "nonce": "theirs"}')
            wait_until("the lease is held no longer", lambda: not lease.is_held(), TERM_S * 3)
        assert store.get(KEY) == b'{"holder": "somebody else", "nonce": "theirs"}'

    def test_a_lease_that_was_taken_over_in_the_last_moment_is_not_returned_for_its_new_holder(
        self, store: Store
    ) -> None:
        with lease_on(store):
            store.put(KEY, b'{"holder": "somebody else", "nonce": "theirs"}')
        assert store.get(KEY) == b'{"holder": "somebody else", "nonce": "theirs"}'

    def test_after_a_suspension_no_clock_counted_renewing_detects_another_owner(self, store: Store) -> None:
        """The holder's clock stops with it, as in a suspended virtual machine."""
        lease = ClusterLease(store, CLUSTER, 0, term_s=3600.0, clock=lambda: 0.0).__enter__()
        assert lease.renew()
        with lease_on(store, wait_s=20):
            pass
        assert lease.is_held(), "which no clock of its machine denies"
        assert not lease.renew()
        assert not lease.is_held()
        lease.__exit__(None, None, None)

    def test_a_lease_is_no_longer_held_once_the_machine_was_suspended_for_a_term(self, store: Store) -> None:
        since_boot_s = 0.0
        with ClusterLease(store, CLUSTER, 0, term_s=3600.0, clock=lambda: since_boot_s) as lease:
            assert lease.is_held()
            since_boot_s = 3601.0
            assert not lease.is_held()


def test_the_holders_clock_counts_the_time_that_the_machine_was_suspended() -> None:
    """In a time namespace whose boot was an hour earlier, though the monotonic clock says nothing of it."""
    read = "from kafka_pareto.storage.lease import seconds_since_boot as s; import time; print(s() - time.monotonic())"
    argv = ["unshare", "--time", "--boottime", "3600", "--fork", sys.executable, "-c", read]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(f"this machine allows no time namespace: {done.stderr.strip()}")
    suspended_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    assert float(done.stdout) == pytest.approx(3600 + suspended_s, abs=1)


class FaultyStore(FolderStore):
    """A store on which a conditional write may land and its answer be lost."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.faults: list[str] = []
        self.is_away = False

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        if self.is_away:
            raise StoreError("the store is away")
        written = super().put_if(key, content, tag)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "retried":  # the HTTP client sent it twice: the second finds what the first wrote
            return super().put_if(key, content, tag)
        if fault == "timeout":
            raise StoreError("no answer came")
        return written

    def tag(self, key: str) -> str | None:
        if self.is_away:
            raise StoreError("the store is away")
        return super().tag(key)


@pytest.mark.servers
class TestLostAnswers:
    def test_a_lease_is_acquired_though_the_answer_to_the_first_write_was_lost(self, tmp_path: Path) -> None:
        store = FaultyStore(tmp_path)
        store.faults = ["retried"]
        with lease_on(store) as lease:
            assert lease.is_held()
        assert is_returned(store)

    @pytest.mark.parametrize("fault", ["retried", "timeout"])
    def test_a_lease_is_kept_though_the_answer_to_a_renewal_was_lost(self, tmp_path: Path, fault: str) -> None:
        store = FaultyStore(tmp_path)
        with lease_on(store) as lease:
            store.faults = [fault]
            wait_until("the fault has struck", lambda: not store.faults, TERM_S)
            seen = store.tag(KEY)
            wait_until("it is renewed again", lambda: store.tag(KEY) != seen, TERM_S * 2)
            assert lease.is_held()
        assert is_returned(store)

    def test_a_lease_is_no_longer_held_when_the_store_is_unreachable_for_a_term(self, tmp_path: Path) -> None:
        store = FaultyStore(tmp_path)
        with lease_on(store) as lease:
            store.is_away = True
            assert lease.is_held()
            wait_until("the lease is held no longer", lambda: not lease.is_held(), TERM_S * 2)

    def test_renewing_waits_for_a_store_that_is_away_beyond_the_term_and_has_the_lease_still(
        self, tmp_path: Path
    ) -> None:
        store = FaultyStore(tmp_path)
        with lease_on(store) as lease:
            store.is_away = True
            wait_until("the lease is held no longer", lambda: not lease.is_held(), TERM_S * 2)
            returning = threading.Timer(0.5, setattr, (store, "is_away", False))
            returning.start()
            assert lease.renew()
            assert lease.is_held()
            returning.join()

    def test_a_store_that_is_away_at_the_end_does_not_hide_how_the_work_ended(self, tmp_path: Path) -> None:
        store = FaultyStore(tmp_path)

        def work() -> None:
            with lease_on(store):
                store.is_away = True
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            work()
