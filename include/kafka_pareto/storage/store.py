"""Stores whole objects under keys, in any S3 store or in a folder. Every write is atomic and may be repeated."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.s3_store import S3Store


class Store(Protocol):
    """Lists what the pipeline needs of a store. Tags are opaque: they change whenever the content does."""

    def put(self, key: str, content: bytes) -> None:
        """Writes the whole object and replaces an earlier one."""

    def get(self, key: str) -> bytes:
        """Reads the object; raises MissingArtifactError when there is none."""

    def keys(self, prefix: str) -> list[str]:
        """Lists all keys that begin with the prefix, in order."""

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """Maps each key that begins with the prefix to the time of its last write, in the order of the keys."""

    def folders(self, prefix: str) -> list[str]:
        """Lists the folders directly below the prefix: the next part, up to a slash, of all longer keys, in order."""

    def delete(self, key: str) -> None:
        """Deletes the object; does nothing when there is none."""

    def tag(self, key: str) -> str | None:
        """Returns the object's tag, or None when there is none."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """Writes only if the object's tag is still `tag` (None: only if there is none).

        Returns:
            The new tag, or None when somebody else was first.
        """


def open_store(settings: Settings) -> Store:
    """Opens the store that the settings name.

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
