"""Read the settings of a step's container for any engine: image, limits, the installation's settings."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from kafka_pareto.errors import BadInputError

CLIENT_CONFIGS = "/var/lib/kafka-pareto/client-configs"
SCRATCH = "/scratch"
"""The folders of the steps' image for clusters' logins, and for temporary files of any size."""

_PREFIX = "KAFKA_PARETO_STEP_"
_OF_AIRFLOW = frozenset({"KAFKA_PARETO_RUNNER", "KAFKA_PARETO_PROJECT_ROOT", "KAFKA_PARETO_NOTIFY"})
_OF_THE_IMAGE = frozenset(
    f"KAFKA_PARETO_{name}" for name in ("JAVA", "KAFKA_JARS", "CLIENT_CONFIGS", "STUDIES", "LOG_PIPELINE")
)


class StepSettings(BaseSettings):
    """The variables `KAFKA_PARETO_STEP_…`. Settings that the runner does not use may be empty."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True)

    image: str = Field(min_length=1, description="image with tag; must exist where containers are started")
    memory: str = Field(min_length=1, description="memory limit of a step in the engine's notation: 3g or 3Gi")
    cpus: float = Field(gt=0, description="CPU limit of a step")
    network: str = Field(default="", description="Docker: full name of the network of the brokers and the store")
    client_configs: str = Field(
        default="", description="name of the volume (Docker) or Secret (Kubernetes) with clusters' client.properties"
    )
    secret: str = Field(default="", description="Kubernetes: name of the Secret with the KAFKA_PARETO_ settings")


def load_step_settings(needed: str) -> StepSettings:
    """Read the settings from the environment; `needed` is the one that the runner requires.

    Raises:
        BadInputError: With each invalid variable and its rule.
    """
    try:
        settings = StepSettings()
    except ValidationError as error:
        problems = [f"{_PREFIX}{str(each['loc'][0]).upper()}: {each['msg']}" for each in error.errors()]
        raise BadInputError(f"{'; '.join(problems)}; fix it in Airflow's environment") from error
    if not getattr(settings, needed):
        raise BadInputError(f"{_PREFIX}{needed.upper()}: is not set; set it in Airflow's environment")
    return settings


def settings_for_steps(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the installation's settings for steps, without paths, which the image defines."""
    kept_back = _OF_AIRFLOW | _OF_THE_IMAGE
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("KAFKA_PARETO_") and not name.startswith(_PREFIX) and name not in kept_back
    }
