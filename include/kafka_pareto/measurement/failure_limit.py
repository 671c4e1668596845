"""The early stop of a design phase that has lost more than its study tolerates."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import share
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.records import Repetition, ValidationSummary
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.errors import GateError
from kafka_pareto.measurement.repetition_store import RepetitionStore, persistently
from kafka_pareto.storage.record import Record

_ROWS = 20


class Failures(Record):
    """The failed repetitions of one case in one round, as stored."""

    repetitions: list[Repetition]


class FailureLimit:
    """Count the failed repetitions of a campaign's rounds up to this one, over all record sizes.

    Like the gate, it pools all rounds: in a small round one failure is a large share. Each record size stores its
    failures in its own object; reading all measurements would be quadratic in the record sizes.
    """

    def __init__(self, measured: RepetitionStore, round_number: int, case: str) -> None:
        self._measured, self._round_number, self._case = measured, round_number, case
        self._campaign, self._study = measured.campaign, measured.campaign.study
        keys, store = self._campaign.keys, self._campaign.store
        self._key = keys.failures(case, round_number)
        kept = {key for number in range(round_number + 1) for key in store.keys(keys.failures("", number))}
        self._others = [
            failed
            for key in sorted(kept - {self._key})
            for failed in self._campaign.read_record(key, Failures).repetitions
        ]
        # None: the object exists but was not read yet.
        self._kept: list[Repetition] | None = None if self._key in kept else []

    def check(self) -> None:
        """Stop the campaign once the gate cannot pass, whatever else is measured.

        Raises:
            GateError: With a table of the failures and their reasons.
            StoreError: If the failures cannot be stored for the other record sizes' tasks.
        """
        here = self._measured.failed()
        if here != self._kept:
            self._keep(here)
        failed, tolerated_fraction = [*self._others, *here], self._study.validation.tolerated_rejected_fraction
        if not failed or len(failed) <= tolerated_fraction * self._planned_at_least:
            return
        if len(failed) <= tolerated_fraction * (planned := self._planned()):
            return
        raise GateError(
            f"{len(failed)} of {planned} planned repetitions failed; the study tolerates "
            f"{share(tolerated_fraction, 1)} (validation.tolerated_rejected_fraction). The campaign was stopped. "
            f"Fix the cause and start a new one.\n{failure_table(failed)}"
        )

    def _keep(self, failed: list[Repetition]) -> None:
        if failed:
            persistently(self._campaign.write_record)(self._key, Failures(repetitions=failed))
        else:
            persistently(self._campaign.store.delete)(self._key)
        self._kept = failed

    @cached_property
    def _design(self) -> pd.DataFrame:
        return self._campaign.read_table(self._campaign.keys.design(self._round_number), DESIGN_COLUMNS)

    @cached_property
    def _before(self) -> int:
        """Return the number of repetitions counted by the gates of earlier rounds."""
        keys = [self._campaign.keys.validation("summary.json", number) for number in range(self._round_number)]
        return sum(self._campaign.read_record(key, ValidationSummary).repetitions_stored for key in keys)

    @cached_property
    def _planned_at_least(self) -> int:
        protocol = self._study.protocol
        fewest = protocol.adaptive.minimum_repetitions if protocol.adaptive else protocol.repetitions
        return self._before + len(self._design) * fewest

    def _planned(self) -> int:
        """Return the maximum number of repetitions of the rounds; adaptive trials that stopped stay stopped."""
        if self._study.protocol.adaptive is None:
            return self._planned_at_least
        from kafka_pareto.measurement.racing import most_repetitions  # noqa: PLC0415 (SciPy takes as long as a repetition)

        stored = {**self._others_measured, self._case: self._measured.repetitions()}
        return self._before + sum(
            most_repetitions(candidates_of(rows, self._study), stored[str(case)], self._study)
            for case, rows in self._design.groupby("case", sort=False)
        )

    @cached_property
    def _others_measured(self) -> dict[str, list[Repetition]]:
        cases = (case for case in self._study.cases if case != self._case)
        return {case: self._campaign.read_measurements([case], [self._round_number]) for case in cases}


def failure_table(failed: list[Repetition]) -> str:
    """Return one line per failed repetition: its ID, configuration, attempts and reason; at most 20."""
    rows = [("repetition", "attempts", "configuration", "reason")]
    rows += [(r.repetition_id, str(r.attempts), _in_words(r), " ".join(r.reason.split())) for r in failed[:_ROWS]]
    lines = table_lines(rows, "left")
    if len(failed) > _ROWS:
        lines.append(f"… and {len(failed) - _ROWS} more")
    return "\n".join(f"  {line}" for line in lines)


def _in_words(repetition: Repetition) -> str:
    baseline = "baseline: " if repetition.is_baseline else ""
    return baseline + ", ".join(f"{name}={value}" for name, value in repetition.configuration.items())
