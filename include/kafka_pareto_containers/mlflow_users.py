"""Make MLflow's users before the steps start; may be repeated."""

from __future__ import annotations

import sys

from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.tracking.provision import make_mlflow_users
from kafka_pareto_containers.environment import required


def main() -> int:
    """Make the users that are missing; return the exit code."""
    try:
        make_mlflow_users(
            required("MLFLOW_ADDRESS"),
            required("MLFLOW_ADMIN_PASSWORD"),
            steps_password=required("MLFLOW_STEPS_PASSWORD"),
            explorer_password=required("MLFLOW_EXPLORER_PASSWORD"),
        )
    except KafkaParetoError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print("MLflow's users are there.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
