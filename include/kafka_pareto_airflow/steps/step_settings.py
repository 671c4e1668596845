"""Read what a step's container is given, whichever engine runs it: image, limits, the installation's settings."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from kafka_pareto.errors import BadInputError

_PREFIX = "KAFKA_PARETO_STEP_"
_OF_AIRFLOW = frozenset({"KAFKA_PARETO_RUNNER", "KAFKA_PARETO_PROJECT_ROOT", "KAFKA_PARETO_NOTIFY"})
_OF_THE_IMAGE = frozenset(f"KAFKA_PARETO_{name}" for name in ("JAVA", "KAFKA_JARS", "CLIENT_CONFIGS", "STUDIES"))


class StepSettings(BaseSettings):
    """The variables `KAFKA_PARETO_STEP_…`. A setting that a runner does not use may be empty."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True)

    image: str = Field(min_length=1, description="with its tag; it must be where containers are started")
    memory: str = Field(min_length=1, description="most that a step may take, as the engine writes it: 3g, or 3Gi")
    cpus: float = Field(gt=0, description="most CPUs that a step may take")
    network: str = Field(default="", description="Docker: full name of the network that brokers and store are in")
    secret: str = Field(default="", description="Kubernetes: name of the Secret that holds the KAFKA_PARETO_ settings")


def load_step_settings(needed: str) -> StepSettings:
    """Read the settings from the environment; `needed` is the one that the runner cannot do without.

    Raises:
        BadInputError: Naming each variable and the rule that it breaks.
    """
    try:
        settings = StepSettings()
    except ValidationError as error:
        problems = [f"{_PREFIX}{str(each['loc'][0]).upper()}: {each['msg']}" for each in error.errors()]
        raise BadInputError(f"{'; '.join(problems)}; set it where Airflow is started") from error
    if not getattr(settings, needed):
        raise BadInputError(f"{_PREFIX}{needed.upper()}: is not set; set it where Airflow is started")
    return settings


def settings_for_steps(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the installation's settings that a step reads, without paths: the image defines those."""
    kept_back = _OF_AIRFLOW | _OF_THE_IMAGE
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("KAFKA_PARETO_") and not name.startswith(_PREFIX) and name not in kept_back
    }
