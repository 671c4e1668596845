"""The early stop: a design phase that has lost more than its study tolerates is not measured to its end."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_pareto.artifacts import DESIGN_COLUMNS, Repetition
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import GateError

_ROWS = 20


class FailureLimit:
    """Counts the failed repetitions of a campaign's design phase: those in the store, then others as they come."""

    def __init__(self, campaign: Campaign) -> None:
        study, keys = campaign.study, campaign.keys
        self._planned = len(campaign.read_table(keys.design(), DESIGN_COLUMNS)) * study.protocol.repetitions
        self._tolerated_fraction = study.validation.tolerated_rejected_fraction
        stored = [r for size in study.record_sizes_bytes for r in campaign.read_repetitions(keys.measurements(size))]
        self._failed = {r.repetition_id: r for r in stored if r.outcome == "failed"}

    def count(self, measured: Repetition) -> None:
        """Takes note of a repetition."""
        if measured.outcome == "failed":
            self._failed[measured.repetition_id] = measured

    def forget(self, repetition_ids: Iterable[str]) -> None:
        """Takes repetitions out of the count that are to be measured again."""
        for repetition_id in repetition_ids:
            self._failed.pop(repetition_id, None)

    def check(self) -> None:
        """Stops the campaign when too much has failed.

        Raises:
            GateError: With a table of what failed and why.
        """
        if len(self._failed) <= self._tolerated_fraction * self._planned:
            return
        raise GateError(
            f"{len(self._failed)} of {self._planned} planned repetitions failed, where the study tolerates "
            f"{self._tolerated_fraction:.1%} (validation.tolerated_rejected_fraction), so the campaign stops; mend the "
            f"cause and start a new one:\n{failure_table(list(self._failed.values()))}"
        )


def failure_table(failed: list[Repetition]) -> str:
    """One line per failed repetition: its id, configuration, attempts and reason; at most 20."""
    rows = [("repetition", "attempts", "configuration", "reason")]
    rows += [(r.repetition_id, str(r.attempts), _in_words(r), " ".join(r.reason.split())) for r in failed[:_ROWS]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    if len(failed) > _ROWS:
        lines.append(f"… and {len(failed) - _ROWS} more")
    return "\n".join(f"  {line}" for line in lines)


def _in_words(repetition: Repetition) -> str:
    baseline = "baseline: " if repetition.is_baseline else ""
    return baseline + ", ".join(f"{name}={value}" for name, value in repetition.configuration.items())
