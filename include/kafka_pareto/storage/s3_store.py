"""Object store in any S3 service."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import urllib3
from minio import Minio
from minio.credentials.providers import StaticProvider
from minio.error import MinioException, S3Error
from minio.signer import sign_v4_s3

from kafka_pareto.errors import BadInputError, MissingArtifactError, StoreError

_REQUEST_TIMEOUT_S = 20.0
_RETRIES = urllib3.Retry(total=5, backoff_factor=0.5, status_forcelist=[500, 502, 503, 504])


class S3Store:
    """Objects in an existing S3 bucket. `clock` signs conditional writes; S3 accepts up to 15 minutes of error."""

    def __init__(
        self,
        endpoint: str,
        access_key: str,
        secret_key: str,
        bucket: str,
        region: str = "us-east-1",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise BadInputError(f"KAFKA_PARETO_S3_ENDPOINT: {endpoint!r}: must have the form http://host:port")
        self._endpoint = endpoint
        self._bucket = bucket
        self._region = region
        self._credentials = StaticProvider(access_key, secret_key).retrieve()
        self._clock = clock
        timeout = urllib3.Timeout(connect=5.0, read=_REQUEST_TIMEOUT_S)
        self._http = urllib3.PoolManager(timeout=timeout, retries=_RETRIES, maxsize=8)
        self._client = Minio(
            parts.netloc,
            access_key=access_key,
            secret_key=secret_key,
            secure=parts.scheme == "https",
            region=region,
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
        """Upload the object in one request."""
        with self._errors(key):
            self._client.put_object(self._bucket, key, io.BytesIO(content), len(content))

    def get(self, key: str) -> bytes:
        """Download the object; raises MissingArtifactError if there is none."""
        with self._errors(key):
            response = self._client.get_object(self._bucket, key)
            try:
                return bytes(response.read())
            finally:
                response.close()
                response.release_conn()

    def keys(self, prefix: str) -> list[str]:
        """List the keys with this prefix, sorted."""
        return list(self.written_at(prefix))

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """Map each key with this prefix to the store's own time of its last change."""
        with self._errors(prefix):
            found = self._client.list_objects(self._bucket, prefix=prefix, recursive=True)
            listed = {item.object_name: item.last_modified for item in found}
        return {key: when for key, when in sorted(listed.items()) if key and when}

    def folders(self, prefix: str) -> list[str]:
        """List the folders directly below the prefix, sorted."""
        with self._errors(prefix):
            found = [item.object_name or "" for item in self._client.list_objects(self._bucket, prefix=prefix)]
        return sorted(name.removeprefix(prefix).rstrip("/") for name in found if name.endswith("/"))

    def delete(self, key: str) -> None:
        """Delete the object, if it exists."""
        with self._errors(key):
            self._client.remove_object(self._bucket, key)

    def tag(self, key: str) -> str | None:
        """Return the object's ETag; None if there is no object."""
        try:
            with self._errors(key):
                return self._client.stat_object(self._bucket, key).etag
        except MissingArtifactError:
            return None

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """PUT with `If-Match`, or `If-None-Match` if `tag` is None."""
        condition = {"If-None-Match": "*"} if tag is None else {"If-Match": f'"{tag}"'}
        with self._errors(key):
            response = self._signed_put(key, content, condition)
        # 404: no object, so no tag can match. 409: a simultaneous write won.
        if response.status in (409, 412) or (response.status == 404 and b"<Code>NoSuchKey" in response.data):
            return None
        if response.status != 200:
            said = re.search(rb"<Code>(\w+)</Code>", response.data)
            code = f" ({said[1].decode()})" if said else ""
            raise StoreError(f"the store at {self._endpoint} refused to write {key}: HTTP {response.status}{code}")
        return response.headers["ETag"].strip('"')

    def _signed_put(self, key: str, content: bytes, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        """Send a PUT with headers that the client cannot set."""
        # The client's URL of the object, without its signature.
        url = urlsplit(self._client.get_presigned_url("PUT", self._bucket, key))._replace(query="")
        now, digest = self._clock(), hashlib.sha256(content).hexdigest()
        stamp = {"Host": url.netloc, "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}", "x-amz-content-sha256": digest}
        signed = sign_v4_s3(
            method="PUT",
            url=url,
            region=self._region,
            headers={**headers, **stamp},
            credentials=self._credentials,
            content_sha256=digest,
            date=now,
        )
        sent = {name: str(value) for name, value in signed.items()}
        return self._http.request("PUT", urlunsplit(url), body=content, headers=sent)

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
                f"the store at {self._endpoint} cannot be reached for {key} ({reason}); is it running?"
            ) from error
