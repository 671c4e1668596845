"""An auth manager of Airflow's that lets one user read the DAGs of one cluster alone, as a team's rights would."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

IS_OF_BERLIN = {"berliner": True, "owner": False}


class ByCluster(SimpleAuthManager):
    """Restricts `berliner` to the DAGs of the cluster berlin, `owner` to all others."""

    def is_authorized_dag(
        self, *, user: SimpleAuthManagerUser, details: DagDetails | None = None, **asked: Any
    ) -> bool:
        """Return whether the user's role allows it, and the DAG is one of the user's."""
        named = (details and details.id) or ""
        is_theirs = IS_OF_BERLIN.get(user.username) in (None, named.endswith("_berlin"))
        return is_theirs and super().is_authorized_dag(user=user, details=details, **asked)
