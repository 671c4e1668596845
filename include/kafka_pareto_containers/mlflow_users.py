"""Make MLflow's users before the steps start; may be repeated."""

from __future__ import annotations

from kafka_pareto.tracking.provision import make_mlflow_users
from kafka_pareto_containers.environment import required, run


def main() -> None:
    """Make the users that are missing."""
    make_mlflow_users(
        required("MLFLOW_ADDRESS"),
        required("MLFLOW_ADMIN_PASSWORD"),
        steps_password=required("MLFLOW_STEPS_PASSWORD"),
        explorer_password=required("MLFLOW_EXPLORER_PASSWORD"),
    )


if __name__ == "__main__":
    run(main, "MLflow's users are there.")
