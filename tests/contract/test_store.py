"""The contract of a store, over a folder and over a real MinIO."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Barrier
from urllib.parse import urlsplit

import pytest

from kafka_pareto.errors import ArtifactError, BadInputError, StoreError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.s3_store import S3Store
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.contract.child import child_process
from tests.contract.minio_fixture import RunningMinio

CONTENDERS = 8
LARGE_BYTES = 256 << 20
WRITE_A_LARGE_OBJECT = f"""
import os, resource, signal
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import open_store

settings = load_settings()
store, content = open_store(settings), os.urandom({LARGE_BYTES})
if settings.store_folder is not None:
    # Writing a file is too fast to be hit halfway from outside: the kernel kills the writer there, without a last word.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({LARGE_BYTES // 2}, {LARGE_BYTES // 2}))
store.put("a", content)
"""


class TestStoreContract:
    def test_an_object_is_read_as_it_was_written(self, store: Store) -> None:
        content = bytes(range(256)) * 1000
        store.put("study/c1/round=00/a.bin", content)
        assert store.get("study/c1/round=00/a.bin") == content

    def test_an_empty_object_is_an_object(self, store: Store) -> None:
        store.put("empty", b"")
        assert store.get("empty") == b""
        assert store.tag("empty") is not None

    def test_a_later_write_replaces_the_object(self, store: Store) -> None:
        store.put("a", b"a long first content")
        store.put("a", b"short")
        assert store.get("a") == b"short"

    def test_reading_a_missing_object_names_the_key(self, store: Store) -> None:
        with pytest.raises(ArtifactError, match="no/such/key: is not in the store"):
            store.get("no/such/key")

    def test_keys_are_those_below_the_prefix_in_order(self, store: Store) -> None:
        for key in ("s/c/8192/2.json", "s/c/8192/10.json", "s/c/81920/1.json", "s/c/other", "t/c/8192/1.json"):
            store.put(key, b"x")
        assert store.keys("s/c/8192/") == ["s/c/8192/10.json", "s/c/8192/2.json"]
        assert store.keys("s/c/8192") == ["s/c/8192/10.json", "s/c/8192/2.json", "s/c/81920/1.json"]
        assert store.keys("nothing/") == []

    def test_folders_are_the_next_parts_of_the_keys_below_the_prefix_and_objects_are_none(self, store: Store) -> None:
        for key in ("folders/a/1/x.json", "folders/a/2.json", "folders/b/x.json", "folders/single.json"):
            store.put(key, b"x")
        assert store.folders("folders/") == ["a", "b"]
        assert store.folders("folders/a/") == ["1"]
        assert store.folders("folders/nothing/") == []
        store.delete("folders/b/x.json")
        assert store.folders("folders/") == ["a"]
        assert "folders" in store.folders("")

    def test_every_object_says_when_it_was_written(self, store: Store) -> None:
        before = datetime.now(UTC) - timedelta(seconds=2)
        store.put("when/first.json", b"x")
        store.put("when/second.json", b"x")
        written = store.written_at("when/")
        assert list(written) == ["when/first.json", "when/second.json"]
        assert all(before < when < datetime.now(UTC) + timedelta(seconds=2) for when in written.values())

    def test_more_keys_than_one_page_of_s3_are_all_listed(self, store: Store) -> None:
        keys = [f"many/{number:04d}" for number in range(1050)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda key: store.put(key, b""), keys))
        assert store.keys("many/") == keys

    def test_a_deleted_object_is_gone_and_may_be_deleted_again(self, store: Store) -> None:
        store.put("a/b", b"x")
        store.delete("a/b")
        store.delete("a/b")
        assert store.keys("") == []
        assert store.tag("a/b") is None

    def test_the_tag_follows_the_content(self, store: Store) -> None:
        assert store.tag("a") is None
        store.put("a", b"one")
        first = store.tag("a")
        assert store.tag("a") == first
        store.put("a", b"two")
        assert store.tag("a") not in (None, first)

    def test_put_if_creates_a_missing_object_and_returns_its_tag(self, store: Store) -> None:
        tag = store.put_if("a", b"one", None)
        assert tag is not None
        assert store.tag("a") == tag
        assert store.get("a") == b"one"

    def test_put_if_does_not_overwrite_an_existing_object(self, store: Store) -> None:
        store.put("a", b"one")
        assert store.put_if("a", b"two", None) is None
        assert store.get("a") == b"one"

    def test_put_if_replaces_an_object_with_the_same_tag(self, store: Store) -> None:
        first = store.put_if("a", b"one", None)
        second = store.put_if("a", b"two", first)
        assert second is not None
        assert second == store.tag("a") != first
        assert store.get("a") == b"two"

    def test_put_if_keeps_an_object_with_another_tag(self, store: Store) -> None:
        outdated = store.put_if("a", b"one", None)
        store.put("a", b"two")
        assert store.put_if("a", b"three", outdated) is None
        assert store.get("a") == b"two"

    def test_put_if_does_not_restore_a_deleted_object(self, store: Store) -> None:
        tag = store.put_if("a", b"one", None)
        store.delete("a")
        assert store.put_if("a", b"two", tag) is None
        assert store.keys("") == []

    @pytest.mark.parametrize("there_already", [False, True])
    def test_a_write_that_is_killed_halfway_is_never_read_and_may_be_made_again(
        self, store: Store, store_settings: Settings, disk: Path, there_already: bool
    ) -> None:
        if there_already:
            store.put("a", b"whole")
        before = set(_large_files(disk))
        with child_process(WRITE_A_LARGE_OBJECT, store_settings) as writer:
            wait_until("a part of the object is on the disk", lambda: set(_large_files(disk)) - before != set(), 60)
            if isinstance(store, FolderStore):
                assert writer.wait(60) == -signal.SIGXFSZ
            else:
                writer.kill()
                assert writer.wait() == -signal.SIGKILL, "it had ended already"

        if isinstance(store, FolderStore):
            open_store(store_settings)  # the next process
            assert set(_large_files(disk)) == before
        assert store.keys("") == (["a"] if there_already else [])
        assert (store.tag("a") is not None) == there_already
        assert not there_already or store.get("a") == b"whole"
        store.put("a", b"again")
        assert store.get("a") == b"again"

    @pytest.mark.parametrize("there_already", [False, True])
    def test_of_many_concurrent_put_ifs_exactly_one_wins(self, store_settings: Settings, there_already: bool) -> None:
        stores = [open_store(store_settings) for _ in range(CONTENDERS)]
        tag = stores[0].put_if("a", b"before", None) if there_already else None
        start = Barrier(CONTENDERS)

        def contend(number: int) -> str | None:
            start.wait()
            return stores[number].put_if("a", f"contender {number}".encode(), tag)

        with ThreadPoolExecutor(CONTENDERS) as pool:
            tags = list(pool.map(contend, range(CONTENDERS)))

        winners = [number for number, won in enumerate(tags) if won is not None]
        assert len(winners) == 1
        assert stores[0].get("a") == f"contender {winners[0]}".encode()
        assert stores[0].tag("a") == tags[winners[0]]

    def test_a_key_may_contain_any_character_of_factor_and_campaign_names(self, store: Store) -> None:
        key = "paper/2026-11-21_a/round=00/02_measurements/8192/design-r00-8192-b000-c0 ä+%.json"
        tag = store.put_if(key, b"x", None)
        assert store.keys("paper/") == [key]
        assert store.put_if(key, b"y", tag) is not None
        assert store.get(key) == b"y"


def s3_store_at(server: RunningMinio, wrong_by: timedelta) -> S3Store:
    """A store whose machine's clock is wrong."""
    settings = server.settings()
    secret = settings.s3_secret_key.get_secret_value()
    clock = partial(_time_of_a_clock, wrong_by)
    return S3Store(settings.s3_endpoint, settings.s3_access_key, secret, settings.s3_bucket, clock=clock)


def _time_of_a_clock(wrong_by: timedelta) -> datetime:
    return datetime.now(UTC) + wrong_by


def _large_files(folder: Path) -> Iterator[Path]:
    """Files of more than a part of S3's least size; not yet whole ones too. Files that vanish meanwhile are skipped."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with suppress(FileNotFoundError):
                if path.stat().st_size > 4 << 20:
                    yield path


@pytest.mark.fast
class TestFolderStore:
    def test_a_key_that_leads_out_of_the_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match="is outside the store"):
            FolderStore(tmp_path / "store").put("../outside", b"x")
        assert not (tmp_path / "outside").exists()

    def test_a_write_that_cannot_be_made_says_why_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        store = FolderStore(tmp_path)
        store.put("a/b", b"x")
        with pytest.raises(StoreError, match=r"cannot write a: Is a directory"):
            store.put("a", b"y")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_an_interrupted_write_leaves_nothing_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        store = FolderStore(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            store.put("a", b"x")
        assert list(tmp_path.iterdir()) == []

    def test_a_file_in_the_place_of_the_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreError, match=f"{tmp_path}/file cannot create the folder: File exists"):
            FolderStore(tmp_path / "file")

    def test_settings_that_name_no_store_are_refused_with_their_variables(self) -> None:
        with pytest.raises(BadInputError, match="KAFKA_PARETO_S3_ENDPOINT"):
            open_store(Settings(s3_endpoint="http://127.0.0.1:9000"))

    @pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "ftp://host", "http://"])
    def test_an_endpoint_that_is_not_a_url_is_refused(self, endpoint: str) -> None:
        with pytest.raises(BadInputError, match=r"KAFKA_PARETO_S3_ENDPOINT: .*must have the form http://host:port"):
            S3Store(endpoint, "key", "secret", "bucket")


@pytest.mark.servers
class TestS3Store:
    def test_a_missing_bucket_is_named_with_the_fix(self, minio_server: RunningMinio) -> None:
        with pytest.raises(StoreError, match=r"has no bucket nowhere; create it, or set KAFKA_PARETO_S3_BUCKET"):
            S3Store(minio_server.endpoint, minio_server.access_key, minio_server.secret_key, "nowhere")

    def test_a_bucket_name_that_s3_cannot_have_is_bad_input(self, minio_server: RunningMinio) -> None:
        with pytest.raises(BadInputError, match="KAFKA_PARETO_S3_BUCKET: 'No Bucket!'"):
            S3Store(minio_server.endpoint, minio_server.access_key, minio_server.secret_key, "No Bucket!")

    def test_a_wrong_secret_is_refused_without_showing_it(self, minio_server: RunningMinio) -> None:
        with pytest.raises(StoreError, match="refused") as refusal:
            S3Store(minio_server.endpoint, minio_server.access_key, "a-wrong-secret", "bucket")
        assert "a-wrong-secret" not in str(refusal.value)

    def test_requests_are_signed_for_the_region_of_the_settings(self, tmp_path: Path) -> None:
        server = RunningMinio(tmp_path, region="eu-central-1")
        server.start()
        try:
            settings = server.settings()
            store = open_store(settings)
            store.put("a", b"one")
            assert store.put_if("a", b"two", store.tag("a")) is not None
            with pytest.raises(StoreError, match="refused"):
                open_store(settings.model_copy(update={"s3_region": "us-east-1"}))
        finally:
            server.stop()

    def test_a_store_that_went_away_is_reported_unreachable(self, tmp_path: Path) -> None:
        server = RunningMinio(tmp_path)
        server.start()
        try:
            store = open_store(server.settings())
            store.put("a", b"x")
            server.stop()
            with pytest.raises(StoreError, match=r"cannot be reached for a \(MaxRetryError\); is it running\?"):
                store.get("a")
            server.start()
            assert store.get("a") == b"x"
        finally:
            server.stop()

    def test_a_conditional_write_to_a_bucket_that_is_gone_is_an_error_and_no_lost_race(
        self, minio_server: RunningMinio
    ) -> None:
        settings = minio_server.settings()
        store = open_store(settings)
        minio_server.remove_bucket(settings.s3_bucket)
        with pytest.raises(StoreError, match="refused to write a: HTTP 404"):
            store.put_if("a", b"x", None)

    @pytest.mark.parametrize("wrong_by", [timedelta(minutes=-10), timedelta(minutes=10)])
    def test_a_conditional_write_by_a_machine_whose_clock_is_minutes_wrong_is_made(
        self, minio_server: RunningMinio, wrong_by: timedelta
    ) -> None:
        store = s3_store_at(minio_server, wrong_by)
        tag = store.put_if("a", b"one", None)
        assert tag is not None
        assert store.put_if("a", b"two", tag) is not None
        assert store.get("a") == b"two"

    def test_a_clock_too_wrong_for_s3_is_reported(self, minio_server: RunningMinio) -> None:
        with pytest.raises(StoreError, match=r"refused to write a: HTTP 403 \(RequestTimeTooSkewed\)"):
            s3_store_at(minio_server, timedelta(hours=-1)).put_if("a", b"x", None)

    def test_an_object_whose_client_vanished_before_its_last_byte_is_none(self, minio_server: RunningMinio) -> None:
        settings = minio_server.settings()
        store = open_store(settings)
        url = urlsplit(minio_server.url_to_put(settings.s3_bucket, "a"))
        head = f"PUT {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: 2000\r\n\r\n"
        with socket.create_connection((url.hostname, url.port), timeout=5) as client:
            client.sendall(head.encode() + b'{"schema_version": 3, ')
        store.put("b", b"x")

        assert store.keys("") == ["b"]
        assert store.tag("a") is None

    def test_a_full_disk_is_reported_and_loses_nothing_stored_before(self, small_volume: Path) -> None:
        server = RunningMinio(small_volume)
        server.start()
        try:
            store = open_store(server.settings())
            store.put("a", b"x")
            with pytest.raises(StoreError, match="refused b: "):
                store.put("b", bytes(60 << 20))
            assert store.keys("") == ["a"]
            assert store.get("a") == b"x"
            store.put("b", b"y")
            assert store.get("b") == b"y"
        finally:
            server.stop()
