"""Tells people of a run that takes longer than it may: the callback of a DAG's deadline, run by the triggerer."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import Context

from kafka_pareto_airflow.notify.notices import Message, Notifier, run_address


class OverdueNotifier(Notifier):
    """Names the run, its address and the likely causes."""

    def message(self, context: Context) -> Message:
        """Of the little that Airflow tells a deadline's callback."""
        run: dict[str, Any] = dict(context["dag_run"])
        dag_id, run_id = str(run["dag_id"]), str(run["dag_run_id"])
        return Message(
            f"{dag_id} takes longer than it may",
            f"The run {run_id} has not ended by its deadline. It goes on; look at what it waits for: another load "
            f"that holds the cluster, or a cluster in trouble.\n{run_address(dag_id, run_id)}",
        )


async def tell_overdue(context: dict[str, Any]) -> None:
    """Sends the notice, beside the triggerer's other work."""
    await asyncio.to_thread(OverdueNotifier().notify, context)
