"""The early stop: a design phase that has lost more than its study tolerates is not measured to its end."""

from __future__ import annotations

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.errors import GateError
from kafka_pareto.measurement.repetition_store import RepetitionStore

_ROWS = 20


class FailureLimit:
    """Counts the failed repetitions of a campaign's rounds up to this one, in all record sizes.

    Of all rounds together, as the gate does: in a round of a few repetitions one failure is a large share. What other
    record sizes and earlier rounds have stored is read once; of the one that is measured now, its store is asked.
    """

    def __init__(self, measured: RepetitionStore, round_number: int, case: str) -> None:
        campaign = measured.campaign
        self._measured, self._case, self._study = measured, case, campaign.study
        cases = campaign.study.cases
        self._design = campaign.read_table(campaign.keys.design(round_number), DESIGN_COLUMNS)
        self._before = campaign.read_measurements(cases, range(round_number))
        self._others = {other: campaign.read_measurements([other], [round_number]) for other in cases if other != case}

    def check(self) -> None:
        """Stops the campaign when so much has failed that the gate will not let it pass, whatever else is measured.

        Raises:
            GateError: With a table of what failed and why.
        """
        tolerated_fraction = self._study.validation.tolerated_rejected_fraction
        failed = [
            repetition for repetition in [*self._before, *self._of_this_round()] if repetition.outcome == "failed"
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

        stored = self._of_this_round()
        of_cases = self._design.groupby("case", sort=False)
        return len(self._before) + sum(
            most_repetitions(candidates_of(rows, self._study), [r for r in stored if r.case == case], self._study)
            for case, rows in of_cases
        )

    def _of_this_round(self) -> list[Repetition]:
        in_cases = {**self._others, self._case: self._measured.repetitions()}
        return [repetition for case in self._study.cases for repetition in in_cases[case]]


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
