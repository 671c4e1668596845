"""The contract of the lease on a cluster, over a folder and over a real MinIO, with real processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.errors import LeaseHeldError, StoreError
from kafka_pareto.lease import ClusterLease
from kafka_pareto.settings import Settings
from kafka_pareto.store import FolderStore, Store

ROOT = Path(__file__).parent.parent.parent
CLUSTER = "cluster-1"
KEY = f"leases/{CLUSTER}.json"
TERM_S = 4.0
HOLD = f"""
import sys
from kafka_pareto.lease import ClusterLease
from kafka_pareto.settings import load_settings
from kafka_pareto.store import open_store

with ClusterLease(open_store(load_settings()), "{CLUSTER}", wait_s=0, term_s={TERM_S}):
    print("held", flush=True)
    sys.stdin.read()
"""


def lease_on(store: Store, wait_s: float = 0.0) -> ClusterLease:
    return ClusterLease(store, CLUSTER, wait_s, TERM_S)


@contextmanager
def another_process_that_holds(settings: Settings) -> Iterator[subprocess.Popen[str]]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "include")}
    if settings.store_folder is not None:
        environment["KAFKA_PARETO_STORE_FOLDER"] = str(settings.store_folder)
    else:
        environment["KAFKA_PARETO_S3_ENDPOINT"] = settings.s3_endpoint
        environment["KAFKA_PARETO_S3_ACCESS_KEY"] = settings.s3_access_key
        environment["KAFKA_PARETO_S3_SECRET_KEY"] = settings.s3_secret_key.get_secret_value()
        environment["KAFKA_PARETO_S3_BUCKET"] = settings.s3_bucket
    argv = [sys.executable, "-c", HOLD]
    holder = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


class TestLeaseContract:
    def test_a_lease_is_held_within_its_context_and_returned_after(self, store: Store) -> None:
        with lease_on(store) as lease:
            assert lease.is_held()
            assert store.keys("leases/") == [KEY]
        assert store.keys("leases/") == []

    def test_a_returned_lease_may_be_taken_at_once(self, store: Store) -> None:
        with lease_on(store):
            pass
        with lease_on(store) as second:
            assert second.is_held()

    def test_a_second_holder_waits_its_time_and_then_names_the_first(
        self, store: Store, store_settings: Settings
    ) -> None:
        with another_process_that_holds(store_settings) as holder:
            started = time.monotonic()
            with pytest.raises(LeaseHeldError, match=rf"another load runs on this cluster \(.* pid {holder.pid}\)"):
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

    def test_a_lease_that_somebody_else_took_over_is_held_no_longer_and_left_to_them(self, store: Store) -> None:
        with lease_on(store) as lease:
            store.put(KEY, b'{"holder": "somebody else", "nonce": "theirs"}')
            assert _comes_true(lambda: not lease.is_held(), within_s=TERM_S * 3)
        assert store.get(KEY) == b'{"holder": "somebody else", "nonce": "theirs"}'


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
        assert store.keys("leases/") == []

    @pytest.mark.parametrize("fault", ["retried", "timeout"])
    def test_a_lease_is_kept_though_the_answer_to_a_renewal_was_lost(self, tmp_path: Path, fault: str) -> None:
        store = FaultyStore(tmp_path)
        with lease_on(store) as lease:
            store.faults = [fault]
            assert _comes_true(lambda: not store.faults, within_s=TERM_S)
            seen = store.tag(KEY)
            assert _comes_true(lambda: store.tag(KEY) != seen, within_s=TERM_S * 2), "it was renewed no more"
            assert lease.is_held()
        assert store.keys("leases/") == []

    def test_a_lease_is_held_no_longer_when_the_store_stays_away_for_a_term(self, tmp_path: Path) -> None:
        store = FaultyStore(tmp_path)
        with lease_on(store) as lease:
            store.is_away = True
            assert lease.is_held()
            assert _comes_true(lambda: not lease.is_held(), within_s=TERM_S * 2)

    def test_a_store_that_is_away_at_the_end_does_not_hide_how_the_work_ended(self, tmp_path: Path) -> None:
        store = FaultyStore(tmp_path)

        def work() -> None:
            with lease_on(store):
                store.is_away = True
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            work()


def _comes_true(condition: Callable[[], bool], within_s: float) -> bool:
    wait = retry(
        retry=retry_if_result(lambda came: not came),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.02),
        retry_error_callback=lambda _: False,
    )
    return bool(wait(condition)())
