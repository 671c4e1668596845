"""Add the Pareto explorer to Airflow's UI: an entry in the navigation and a tab on `tune_producer`'s page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from airflow.plugins_manager import AirflowPlugin
from anyio import to_thread

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


@cache
def _app() -> Asgi:
    from kafka_pareto_airflow.explorer.explorer_app import create_app  # noqa: PLC0415

    return create_app()


async def explorer(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Call the app; import it at the first request, because every process loads plugins but only one serves pages."""
    await (await to_thread.run_sync(_app))(scope, receive, send)


class KafkaParetoExplorer(AirflowPlugin):
    """Serve the explorer below `/kafka-pareto/`; the app itself admits only users who may read the DAG."""

    name = "kafka_pareto_explorer"
    fastapi_apps = [{"app": explorer, "url_prefix": "/kafka-pareto", "name": "kafka-pareto explorer"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        # Without a route in Airflow, the navigation button does nothing.
        {
            "name": "Pareto explorer",
            "href": "kafka-pareto/",
            "destination": "nav",
            "nav_top_level": True,
            "url_route": "kafka-pareto",
        },
        {
            "name": "Pareto explorer",
            "href": "kafka-pareto/",
            "destination": "dag",
            "url_route": "kafka-pareto-explorer",
        },
    ]
