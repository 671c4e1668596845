"""Makes the users of the embedded stack's MLflow."""

from __future__ import annotations

from kafka_pareto.tracking.provision import make_mlflow_users
from kafka_pareto_embedded.stack.stack import Stack


def prepare_mlflow_users(stack: Stack) -> None:
    """Makes the users that do not exist yet; may be repeated.

    Raises:
        TrackingError: If MLflow refuses.
    """
    secret = stack.credentials
    make_mlflow_users(
        stack.mlflow_url,
        secret.mlflow_admin_password,
        steps_password=secret.mlflow_steps_password,
        explorer_password=secret.mlflow_explorer_password,
    )
