"""Create MLflow's users before the steps start; may be repeated."""

from __future__ import annotations

from kafka_pareto.tracking.provision import make_mlflow_users
from kafka_pareto_containers.environment import required, run


def main() -> None:
    """Create missing users."""
    make_mlflow_users(
        required("MLFLOW_ADDRESS"),
        required("MLFLOW_ADMIN_PASSWORD"),
        steps_password=required("MLFLOW_STEPS_PASSWORD"),
        explorer_password=required("MLFLOW_EXPLORER_PASSWORD"),
    )


if __name__ == "__main__":
    run(main, "MLflow's users are ready.")
