"""Prepare Postgres and MinIO before the applications start; may be repeated."""

from __future__ import annotations

from kafka_pareto.storage.provision import Login, make_buckets_and_users
from kafka_pareto_containers.databases import make_databases
from kafka_pareto_containers.environment import required, run


def main() -> None:
    """Create databases and roles, then buckets and users."""
    make_databases(
        required("POSTGRES_HOST"),
        required("POSTGRES_PASSWORD"),
        {"airflow": required("AIRFLOW_DATABASE_PASSWORD"), "mlflow": required("MLFLOW_DATABASE_PASSWORD")},
    )
    make_buckets_and_users(
        required("MINIO_ADDRESS"),
        root=Login(required("MINIO_ROOT_USER"), required("MINIO_ROOT_PASSWORD")),
        pareto=Login("kafka-pareto", required("S3_PARETO_SECRET_KEY")),
        explorer=Login("kafka-pareto-explorer", required("S3_EXPLORER_SECRET_KEY")),
        mlflow=Login("mlflow", required("S3_MLFLOW_SECRET_KEY")),
    )


if __name__ == "__main__":
    run(main, "Databases, roles, buckets and users are ready.")
