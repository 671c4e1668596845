"""Makes the embedded stack's buckets and users."""

from __future__ import annotations

from kafka_pareto.storage.provision import Login, make_buckets_and_users
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.stack.stack import Stack


def prepare_object_store(stack: Stack) -> None:
    """Makes the embedded stack's buckets and users that do not exist yet; may be repeated.

    Raises:
        StoreError: If MinIO refuses.
    """
    secret = stack.credentials
    make_buckets_and_users(
        f"{LOOPBACK}:{stack.ports.minio}",
        root=Login(secret.minio_root_user, secret.minio_root_password),
        pareto=Login(secret.s3_pareto_access_key, secret.s3_pareto_secret_key),
        explorer=Login(secret.s3_explorer_access_key, secret.s3_explorer_secret_key),
        mlflow=Login(secret.s3_mlflow_access_key, secret.s3_mlflow_secret_key),
    )
