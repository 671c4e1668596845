"""A real MinIO process for tests: a free loopback port, a temporary folder, gone when the session ends."""

from __future__ import annotations

import itertools
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from minio import Minio
from tenacity import retry, retry_if_exception_type, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.settings import Settings
from kafka_pareto.storage.s3_store import S3Store
from kafka_pareto.storage.store import open_store

_READY_DEADLINE_S = 60
_OWN_BINARY = Path(__file__).parent.parent.parent / ".state" / "bin" / "minio"


class RunningMinio:
    """A MinIO server that a test may stop and start; its data outlive the stop."""

    def __init__(self, folder: Path, region: str = "us-east-1") -> None:
        self.access_key = "tester"
        self.secret_key = secrets.token_hex(16)
        self.data = folder / "data"
        self._region = region
        self._folder = folder
        self._buckets = itertools.count(1)
        self._address = f"127.0.0.1:{free_ports(1)[0]}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://{self._address}"

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        binary = str(_OWN_BINARY) if _OWN_BINARY.exists() else shutil.which("minio")
        assert binary, "there is no minio binary; run the project's set-up first"
        environment = {
            "HOME": str(self._folder),
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_SITE_REGION": self._region,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
        }
        argv = [binary, "server", "--quiet", "--address", self._address, str(self.data)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *argv],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """Kill the server: it would wait 20 s for open connections. Acknowledged objects are on disk."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def settings(self) -> Settings:
        """The settings of an installation with its own bucket on this server."""
        bucket = f"test-{next(self._buckets)}"
        self._client().make_bucket(bucket)
        return Settings(
            s3_endpoint=self.endpoint,
            s3_access_key=self.access_key,
            s3_secret_key=self.secret_key,
            s3_bucket=bucket,
            s3_region=self._region,
        )

    def url_to_put(self, bucket: str, key: str) -> str:
        """An address that takes one object without further credentials."""
        return self._client().presigned_put_object(bucket, key)

    def remove_bucket(self, bucket: str) -> None:
        """Removes an empty bucket."""
        self._client().remove_bucket(bucket)

    def _client(self) -> Minio:
        return Minio(self._address, self.access_key, self.secret_key, secure=False, region=self._region)

    @retry(
        retry=retry_if_exception_type(urllib3.exceptions.HTTPError) | retry_if_result(lambda status: status != 200),
        stop=stop_after_delay(_READY_DEADLINE_S),
        wait=wait_fixed(0.1),
    )
    def _wait_until_ready(self) -> int:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "server.log").read_text()
        return urllib3.request("GET", f"{self.endpoint}/minio/health/ready", retries=False, timeout=2.0).status


@pytest.fixture(scope="session")
def minio_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningMinio]:
    server = RunningMinio(tmp_path_factory.mktemp("minio"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def minio_store(minio_server: RunningMinio) -> S3Store:
    """A store on its own bucket."""
    store = open_store(minio_server.settings())
    assert isinstance(store, S3Store)
    return store
