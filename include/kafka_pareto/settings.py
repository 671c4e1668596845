"""Addresses, credentials and folders of the installation, from `KAFKA_PARETO_…` environment variables."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from kafka_pareto.errors import BadInputError
from kafka_pareto.shipped import INCLUDE, JARS, STATE

RUN_BY_AIRFLOW = "airflow"
"""The value of `load_machines` if tasks of Airflow run them."""


class Settings(BaseSettings):
    """Settings of the installation; never part of a study, never logged."""

    model_config = SettingsConfigDict(env_prefix="KAFKA_PARETO_", frozen=True)

    s3_endpoint: str = Field(default="", description="http(s)://host:port of the S3 store")
    s3_access_key: str = ""
    s3_secret_key: SecretStr = SecretStr("")
    s3_bucket: str = "kafka-pareto"
    s3_region: str = "us-east-1"
    store_folder: Path | None = Field(default=None, description="a local folder to use instead of S3")
    mlflow_tracking_uri: str = ""
    mlflow_username: str = Field(default="", description="MLflow's login; empty if it requires none")
    mlflow_password: SecretStr = SecretStr("")
    mlflow_public_uri: str = Field(
        default="", description="MLflow's address for people, if it differs from that of the steps"
    )
    bootstrap_servers: str = Field(default="", description="the default cluster, for studies that name none")
    own_cluster_id: str = Field(default="", description="ID of the cluster that this installation's stack started")
    java: str = "java"
    kafka_jars: Path = JARS
    log_pipeline: Path = Field(STATE / "log-pipeline", description="the output folder of make log-pipeline")
    client_configs: Path = STATE / "client-configs"
    client_jars: Path = Field(
        STATE / "clients",
        description="folder of other client versions, a folder each: jars, or librdkafka",
    )
    load_machines: str = Field(
        default="",
        description="for `protocol.load_machines`: `host:port,…`, or `airflow` if Airflow runs the load machines",
    )
    load_credentials: Path = Field(STATE / "load-machines.pem", description="the load machines' key and certificate")
    studies: Path = INCLUDE / "studies"
    advice: Path = Field(default=INCLUDE / "advice", description="folder with one file per advised configuration")

    @property
    def airflow_runs_load_machines(self) -> bool:
        """Return whether tasks of Airflow run the load machines of campaigns."""
        return self.load_machines == RUN_BY_AIRFLOW


def load_settings() -> Settings:
    """Read the settings from the environment; raise BadInputError with the variable and its rule."""
    try:
        return Settings()
    except ValidationError as error:
        lines = [f"KAFKA_PARETO_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
        raise BadInputError("; ".join(lines)) from error
