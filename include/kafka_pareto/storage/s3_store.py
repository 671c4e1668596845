"""Stores objects in any S3 store."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import urllib3
from minio import Minio
from minio.error import MinioException, S3Error

from kafka_pareto.errors import BadInputError, MissingArtifactError, StoreError

_REQUEST_TIMEOUT_S = 20.0
_RETRIES = urllib3.Retry(total=5, backoff_factor=0.5, status_forcelist=[500, 502, 503, 504])


class S3Store:
    """Keeps objects in a bucket of any S3 store. Conditional writes are S3's `If-Match` and `If-None-Match`."""

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
        """Uploads the object in one request and replaces an earlier one."""
        with self._errors(key):
            self._client.put_object(self._bucket, key, io.BytesIO(content), len(content))

    def get(self, key: str) -> bytes:
        """Downloads the object; raises MissingArtifactError when there is none."""
        with self._errors(key):
            response = self._client.get_object(self._bucket, key)
            try:
                return bytes(response.read())
            finally:
                response.close()
                response.release_conn()

    def keys(self, prefix: str) -> list[str]:
        """Lists all keys that begin with the prefix, in order."""
        return list(self.written_at(prefix))

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """Maps each key to the store's own time of the last change, in the order of the keys."""
        with self._errors(prefix):
            found = self._client.list_objects(self._bucket, prefix=prefix, recursive=True)
            listed = {item.object_name: item.last_modified for item in found}
        return {key: when for key, when in sorted(listed.items()) if key and when}

    def folders(self, prefix: str) -> list[str]:
        """Lists the prefixes that S3 reports directly below this one, in order."""
        with self._errors(prefix):
            found = [item.object_name or "" for item in self._client.list_objects(self._bucket, prefix=prefix)]
        return sorted(name.removeprefix(prefix).rstrip("/") for name in found if name.endswith("/"))

    def delete(self, key: str) -> None:
        """Deletes the object; S3 reports no error when there is none."""
        with self._errors(key):
            self._client.remove_object(self._bucket, key)

    def tag(self, key: str) -> str | None:
        """Returns the object's ETag, or None when there is no object."""
        try:
            with self._errors(key):
                return self._client.stat_object(self._bucket, key).etag
        except MissingArtifactError:
            return None

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """Writes by a signed PUT with `If-Match`, or `If-None-Match` where `tag` is None."""
        condition = {"If-None-Match": "*"} if tag is None else {"If-Match": f'"{tag}"'}
        with self._errors(key):
            url = self._client.get_presigned_url("PUT", self._bucket, key, expires=timedelta(minutes=1))
            response = self._http.request("PUT", url, body=content, headers=condition)
        # 404: no object, so no tag can match. 409: a simultaneous write won.
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
