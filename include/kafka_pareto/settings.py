"""Addresses, credentials and folders of the installation, from `KAFKA_PARETO_…` environment variables."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from kafka_pareto.errors import BadInputError
from kafka_pareto.shipped import INCLUDE, JARS, STATE


class Settings(BaseSettings):
    """Installation settings; never part of a study and never logged."""

    model_config = SettingsConfigDict(env_prefix="KAFKA_PARETO_", frozen=True)

    s3_endpoint: str = Field(default="", description="http(s)://host:port of the S3 store")
    s3_access_key: str = ""
    s3_secret_key: SecretStr = SecretStr("")
    s3_bucket: str = "kafka-pareto"
    store_folder: Path | None = Field(default=None, description="a folder instead of S3, for work without a server")
    mlflow_tracking_uri: str = ""
    mlflow_username: str = Field(default="", description="MLflow's login; empty where it asks for none")
    mlflow_password: SecretStr = SecretStr("")
    mlflow_public_uri: str = Field(default="", description="where people reach MLflow, if the steps reach it elsewhere")
    bootstrap_servers: str = Field(
        default="", description="the cluster that this installation loads where none is named"
    )
    own_cluster_id: str = Field(
        default="", description="of the cluster whose brokers this installation's stack has started"
    )
    java: str = "java"
    kafka_jars: Path = JARS
    log_pipeline: Path = Field(STATE / "log-pipeline", description="what make log-pipeline builds")
    client_configs: Path = STATE / "client-configs"
    studies: Path = INCLUDE / "studies"
    advice: Path = Field(default=INCLUDE / "advice", description="a file for each configuration that somebody advises")


def load_settings() -> Settings:
    """Read the settings from the environment; raises BadInputError with the variable and its rule."""
    try:
        return Settings()
    except ValidationError as error:
        lines = [f"KAFKA_PARETO_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
        raise BadInputError("; ".join(lines)) from error
