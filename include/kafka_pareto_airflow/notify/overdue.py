"""Notify people that a run takes too long. The triggerer calls this when a DAG's deadline has passed."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import Context

from kafka_pareto_airflow.notify.notices import Message, Notifier, run_address


class OverdueNotifier(Notifier):
    """Name the run, its address and the likely causes."""

    def message(self, context: Context) -> Message:
        """Return the message, from the little that Airflow tells the callback of a deadline."""
        run: dict[str, Any] = dict(context["dag_run"])
        dag_id, run_id = str(run["dag_id"]), str(run["dag_run_id"])
        return Message(
            f"{dag_id} takes longer than it may",
            f"The run {run_id} has not ended by its deadline. It continues; check what it waits for: another load "
            f"on the cluster, or a cluster in trouble.\n{run_address(dag_id, run_id)}",
        )


async def report_overdue(context: dict[str, Any]) -> None:
    """Send the notice while the triggerer goes on with its other work."""
    await asyncio.to_thread(OverdueNotifier().notify, context)
