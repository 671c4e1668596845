"""Notify people of an overdue run. The triggerer calls this after a DAG's deadline."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import Context

from kafka_pareto_airflow.notify.notices import Message, Notifier, run_address


class OverdueNotifier(Notifier):
    """Report the run, its address and the likely causes."""

    def message(self, context: Context) -> Message:
        """Return the message, built from the few values that Airflow passes to a deadline callback."""
        run: dict[str, Any] = dict(context["dag_run"])
        dag_id, run_id = str(run["dag_id"]), str(run["dag_run_id"])
        return Message(
            f"{dag_id} is overdue",
            f"Run {run_id} missed its deadline and continues. Check whether it is waiting for another run on the "
            f"cluster, and whether the cluster is healthy.\n{run_address(dag_id, run_id)}",
        )


async def report_overdue(context: dict[str, Any]) -> None:
    """Send the notice without blocking the triggerer."""
    await asyncio.to_thread(OverdueNotifier().notify, context)
