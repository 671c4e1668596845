"""The store: whole objects under keys, in any S3 store or in a folder. Every write is atomic and may be repeated."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error

from kafka_pareto.errors import BadInputError, MissingArtifactError, StoreError
from kafka_pareto.settings import Settings

_REQUEST_TIMEOUT_S = 20.0
_RETRIES = urllib3.Retry(total=5, backoff_factor=0.5, status_forcelist=[500, 502, 503, 504])


class Store(Protocol):
    """What the pipeline asks of a store. Tags are opaque: they change whenever the content does."""

    def put(self, key: str, content: bytes) -> None:
        """Writes the object whole, over whatever was there."""

    def get(self, key: str) -> bytes:
        """Reads the object; MissingArtifactError when there is none."""

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with the prefix, in order."""

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """When each object whose key begins with the prefix was written last, in the order of the keys."""

    def folders(self, prefix: str) -> list[str]:
        """The next part, up to a slash, of all keys that begin with the prefix and go on beyond it, in order."""

    def delete(self, key: str) -> None:
        """Takes the object away; silent when there is none."""

    def tag(self, key: str) -> str | None:
        """The object's tag, or None when there is none."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """Writes only if the object's tag is still `tag` (None: only if there is none).

        Returns:
            The new tag, or None when somebody else was first.
        """


def open_store(settings: Settings) -> Store:
    """The store that the settings name.

    Raises:
        BadInputError: If they name none, or an S3 store without credentials.
        StoreError: If the S3 store cannot be reached or has no such bucket.
    """
    if settings.store_folder is not None:
        return FolderStore(settings.store_folder)
    if not (settings.s3_endpoint and settings.s3_access_key and settings.s3_secret_key.get_secret_value()):
        raise BadInputError(
            "no store: set KAFKA_PARETO_S3_ENDPOINT, KAFKA_PARETO_S3_ACCESS_KEY and KAFKA_PARETO_S3_SECRET_KEY, "
            "or KAFKA_PARETO_STORE_FOLDER"
        )
    return S3Store(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key.get_secret_value(),
        settings.s3_bucket,
    )


class S3Store:
    """A bucket of any S3 store, through plain S3 calls; conditional writes are S3's `If-Match`/`If-None-Match`."""

    def __init__(self, endpoint: str, access_key: str, secret_key: str, bucket: str) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise BadInputError(f"KAFKA_PARETO_S3_ENDPOINT: {endpoint!r}: must be like http://host:port")
        self._endpoint = endpoint
        self._bucket = bucket
        timeout = urllib3.Timeout(connect=5.0, read=_REQUEST_TIMEOUT_S)
        self._http = urllib3.PoolManager(timeout=timeout, retries=_RETRIES, maxsize=8)
        self._client = Minio(
            parts.netloc,
            access_key=access_key,
            secret_key=secret_key,
            secure=parts.scheme == "https",
            region="us-east-1",
            http_client=self._http,
        )
        with self._errors("bucket"):
            try:
                exists = self._client.bucket_exists(bucket)
            except ValueError as error:
                raise BadInputError(f"KAFKA_PARETO_S3_BUCKET: {bucket!r}: {error}") from error
        if not exists:
            raise StoreError(
                f"the store at {endpoint} has no bucket {bucket}; create it, or set KAFKA_PARETO_S3_BUCKET"
            )

    def put(self, key: str, content: bytes) -> None:
        with self._errors(key):
            self._client.put_object(self._bucket, key, io.BytesIO(content), len(content))

    def get(self, key: str) -> bytes:
        with self._errors(key):
            response = self._client.get_object(self._bucket, key)
            try:
                return bytes(response.read())
            finally:
                response.close()
                response.release_conn()

    def keys(self, prefix: str) -> list[str]:
        return list(self.written_at(prefix))

    def written_at(self, prefix: str) -> dict[str, datetime]:
        with self._errors(prefix):
            found = self._client.list_objects(self._bucket, prefix=prefix, recursive=True)
            listed = {item.object_name: item.last_modified for item in found}
        return {key: when for key, when in sorted(listed.items()) if key and when}

    def folders(self, prefix: str) -> list[str]:
        with self._errors(prefix):
            found = [item.object_name or "" for item in self._client.list_objects(self._bucket, prefix=prefix)]
        return sorted(name.removeprefix(prefix).rstrip("/") for name in found if name.endswith("/"))

    def delete(self, key: str) -> None:
        with self._errors(key):
            self._client.remove_object(self._bucket, key)

    def tag(self, key: str) -> str | None:
        try:
            with self._errors(key):
                return self._client.stat_object(self._bucket, key).etag
        except MissingArtifactError:
            return None

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        condition = {"If-None-Match": "*"} if tag is None else {"If-Match": f'"{tag}"'}
        with self._errors(key):
            url = self._client.get_presigned_url("PUT", self._bucket, key, expires=timedelta(minutes=1))
            response = self._http.request("PUT", url, body=content, headers=condition)
        # 404: there is nothing whose tag could match. 409: another write of the same moment won.
        if response.status in (409, 412) or (response.status == 404 and b"<Code>NoSuchKey" in response.data):
            return None
        if response.status != 200:
            raise StoreError(f"the store at {self._endpoint} refused to write {key}: HTTP {response.status}")
        return response.headers["ETag"].strip('"')

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except S3Error as error:
            if error.code in ("NoSuchKey", "NoSuchObject"):
                raise MissingArtifactError(f"{key}: is not in the store") from error
            raise StoreError(f"the store at {self._endpoint} refused {key}: {error.code}: {error.message}") from error
        except (urllib3.exceptions.HTTPError, MinioException, OSError) as error:
            reason = type(error).__name__
            raise StoreError(
                f"the store at {self._endpoint} cannot be reached for {key} ({reason}); is it up?"
            ) from error


class FolderStore:
    """A folder on a local disk; keys are paths below it. A key's first character must not be a dot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        with self._errors("create the folder"):
            self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, content: bytes) -> None:
        path = self._path(key)
        with self._errors(f"write {key}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".writing-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise

    def get(self, key: str) -> bytes:
        with self._errors(f"read {key}"):
            try:
                return self._path(key).read_bytes()
            except FileNotFoundError as error:
                raise MissingArtifactError(f"{key}: is not in the store") from error

    def keys(self, prefix: str) -> list[str]:
        below = self._path(prefix.rpartition("/")[0])
        files = (path.relative_to(self._folder).as_posix() for path in below.rglob("*") if path.is_file())
        return sorted(key for key in files if key.startswith(prefix) and not key.startswith("."))

    def written_at(self, prefix: str) -> dict[str, datetime]:
        found = {}
        for key in self.keys(prefix):
            with suppress(FileNotFoundError):  # deleted meanwhile
                found[key] = datetime.fromtimestamp(self._path(key).stat().st_mtime, UTC)
        return found

    def folders(self, prefix: str) -> list[str]:
        below = self._path(prefix.rpartition("/")[0])
        start = prefix.rpartition("/")[2]
        found = below.iterdir() if below.is_dir() else ()
        # What was deleted leaves its folder behind.
        holding = (path for path in found if any(each.is_file() for each in path.rglob("*")))
        named = (path.name for path in holding if path.name.startswith(start))
        return sorted(name.removeprefix(start) for name in named)

    def delete(self, key: str) -> None:
        with self._errors(f"delete {key}"):
            self._path(key).unlink(missing_ok=True)

    def tag(self, key: str) -> str | None:
        try:
            return hashlib.sha256(self.get(key)).hexdigest()
        except MissingArtifactError:
            return None

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        with self._errors(f"write {key}"), (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.tag(key) != tag:
                return None
            self.put(key, content)
        return hashlib.sha256(content).hexdigest()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"the store at {self._folder} cannot {doing}: {error.strerror}") from error

    def _path(self, key: str) -> Path:
        path = (self._folder / key).resolve()
        if not path.is_relative_to(self._folder):
            raise BadInputError(f"{key!r} leads out of the store")
        return path
