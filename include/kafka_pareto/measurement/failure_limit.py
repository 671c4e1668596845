"""The early stop: a design phase that has lost more than its study tolerates is not measured to its end."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.errors import GateError

_ROWS = 20


class FailureLimit:
    """Counts the failed repetitions of a campaign's rounds up to this one: those stored, then others as they come.

    Of all rounds together, as the gate does: in a round of a few repetitions one failure is a large share.
    """

    def __init__(self, campaign: Campaign, round_number: int = 0) -> None:
        study, cases = campaign.study, campaign.study.cases
        self._study = study
        self._design = campaign.read_table(campaign.keys.design(round_number), DESIGN_COLUMNS)
        self._before = campaign.read_measurements(cases, range(round_number))
        self._stored = {r.repetition_id: r for r in campaign.read_measurements(cases, [round_number])}

    def count(self, measured: Repetition) -> None:
        """Takes note of a repetition."""
        self._stored[measured.repetition_id] = measured

    def forget(self, repetition_ids: Iterable[str]) -> None:
        """Takes repetitions out of the count that are to be measured again."""
        for repetition_id in repetition_ids:
            self._stored.pop(repetition_id, None)

    def check(self) -> None:
        """Stops the campaign when so much has failed that the gate will not let it pass, whatever else is measured.

        Raises:
            GateError: With a table of what failed and why.
        """
        tolerated_fraction = self._study.validation.tolerated_rejected_fraction
        failed = [
            repetition for repetition in [*self._before, *self._stored.values()] if repetition.outcome == "failed"
        ]
        if not failed or len(failed) <= tolerated_fraction * (planned := self._planned()):
            return
        raise GateError(
            f"{len(failed)} of {planned} planned repetitions failed, where the study tolerates "
            f"{tolerated_fraction:.1%} (validation.tolerated_rejected_fraction), so the campaign stops; mend the "
            f"cause and start a new one:\n{failure_table(failed)}"
        )

    def _planned(self) -> int:
        """The most repetitions that the rounds can come to: adaptive trials that have stopped stay stopped."""
        repetitions = self._study.protocol.repetitions
        if self._study.protocol.adaptive is None:
            return len(self._before) + len(self._design) * repetitions
        from kafka_pareto.measurement.racing import most_repetitions  # noqa: PLC0415 (SciPy takes as long as a repetition)

        stored = list(self._stored.values())
        of_cases = self._design.groupby("case", sort=False)
        return len(self._before) + sum(
            most_repetitions(candidates_of(rows, self._study), [r for r in stored if r.case == case], self._study)
            for case, rows in of_cases
        )


def failure_table(failed: list[Repetition]) -> str:
    """One line per failed repetition: its id, configuration, attempts and reason; at most 20."""
    rows = [("repetition", "attempts", "configuration", "reason")]
    rows += [(r.repetition_id, str(r.attempts), _in_words(r), " ".join(r.reason.split())) for r in failed[:_ROWS]]
    lines = table_lines(rows, "left")
    if len(failed) > _ROWS:
        lines.append(f"… and {len(failed) - _ROWS} more")
    return "\n".join(f"  {line}" for line in lines)


def _in_words(repetition: Repetition) -> str:
    baseline = "baseline: " if repetition.is_baseline else ""
    return baseline + ", ".join(f"{name}={value}" for name, value in repetition.configuration.items())
