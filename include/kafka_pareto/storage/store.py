"""Whole objects under keys, in an S3 store or a folder. Every write is atomic and repeatable."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore


class Store(Protocol):
    """Object store. Tags are opaque and change whenever the content does."""

    def put(self, key: str, content: bytes) -> None:
        """Write or replace the whole object."""

    def get(self, key: str) -> bytes:
        """Read the object; raises MissingArtifactError if there is none."""

    def keys(self, prefix: str) -> list[str]:
        """List the keys with this prefix, sorted."""

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """Map each key with this prefix to the time of its last write, sorted by key."""

    def folders(self, prefix: str) -> list[str]:
        """List the folders directly below the prefix, sorted: the next part of longer keys, up to a slash."""

    def delete(self, key: str) -> None:
        """Delete the object, if it exists."""

    def tag(self, key: str) -> str | None:
        """Return the object's tag; None if there is no object."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """Write if the tag is still `tag` (None: no object yet); return the new tag, or None if it was not."""


def open_store(settings: Settings) -> Store:
    """Open the store that the settings name; raises BadInputError for none, or for an S3 store without credentials."""
    if settings.store_folder is not None:
        return FolderStore(settings.store_folder)
    if not (settings.s3_endpoint and settings.s3_access_key and settings.s3_secret_key.get_secret_value()):
        raise BadInputError(
            "no store: set KAFKA_PARETO_S3_ENDPOINT, KAFKA_PARETO_S3_ACCESS_KEY and KAFKA_PARETO_S3_SECRET_KEY, "
            "or KAFKA_PARETO_STORE_FOLDER"
        )
    from kafka_pareto.storage.s3_store import S3Store  # noqa: PLC0415  (a folder needs no S3 client)

    return S3Store(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key.get_secret_value(),
        settings.s3_bucket,
        settings.s3_region,
    )
