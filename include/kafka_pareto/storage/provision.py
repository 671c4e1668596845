"""Provision MinIO: buckets, and one least-privilege user per application."""

from __future__ import annotations

from dataclasses import dataclass, field

import urllib3
from minio import Minio, MinioAdmin
from minio.credentials.providers import StaticProvider
from minio.error import MinioAdminException, S3Error

from kafka_pareto.errors import StoreError

PARETO_BUCKET = "kafka-pareto"
MLFLOW_BUCKET = "mlflow"
_REGION = "us-east-1"
_ALL = ["s3:*"]
_READ = ["s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation"]


@dataclass(frozen=True)
class Login:
    """An access key and its secret."""

    access_key: str
    secret_key: str = field(repr=False)


def make_buckets_and_users(address: str, *, root: Login, pareto: Login, explorer: Login, mlflow: Login) -> None:
    """Create missing buckets and users of the MinIO at `host:port`, and set their secrets; `explorer` only reads."""
    http = urllib3.PoolManager(timeout=10.0, retries=3)
    client = Minio(
        address,
        access_key=root.access_key,
        secret_key=root.secret_key,
        secure=False,
        region=_REGION,
        http_client=http,
    )
    provider = StaticProvider(root.access_key, root.secret_key)
    admin = MinioAdmin(endpoint=address, credentials=provider, region=_REGION, secure=False, http_client=http)
    applications = [
        (f"only-{PARETO_BUCKET}", PARETO_BUCKET, _ALL, pareto),
        (f"read-{PARETO_BUCKET}", PARETO_BUCKET, _READ, explorer),
        (f"only-{MLFLOW_BUCKET}", MLFLOW_BUCKET, _ALL, mlflow),
    ]
    try:
        for policy, bucket, actions, user in applications:
            if not client.bucket_exists(bucket):
                client.make_bucket(bucket)
            admin.user_add(user.access_key, user.secret_key)
            admin.policy_add(policy, policy=_allowing(actions, bucket))
            admin.policy_set(policy, user=user.access_key)
    except (S3Error, MinioAdminException, urllib3.exceptions.HTTPError) as error:
        raise StoreError(f"MinIO at {address} refused its buckets or users: {error}; see MinIO's log") from error


def _allowing(actions: list[str], bucket: str) -> dict[str, object]:
    resources = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": actions, "Resource": resources}],
    }
