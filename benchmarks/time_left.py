"""Compare estimates of the time left with the truth, in the kept campaigns: `python -m benchmarks.time_left`.

Each campaign is replayed by its repetitions' times, with the estimates of `make run` and the explorer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from benchmarks.search import write_section
from kafka_pareto.campaign.records import Plan
from kafka_pareto.campaign.time_left import REPORT_S, TASK_START_S, ExpectedRepetitions, Part, TimeLeft, time_left
from kafka_pareto.measurement.cost import plan_campaign, plan_comparison
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune

MOMENTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
EARLY = 0.25
_INTERRUPTED_S = 1_800.0


class Looked(NamedTuple):
    """An estimate, and the seconds that were left indeed."""

    estimate: TimeLeft
    truth_s: float

    @property
    def error(self) -> float:
        """Return by what share the estimate is too long; below zero, too short."""
        return self.estimate.likely_s / self.truth_s - 1

    @property
    def is_in_range(self) -> bool:
        """Return whether the truth is in the range that was stated."""
        return self.estimate.low_s <= self.truth_s <= self.estimate.high_s


@dataclass(frozen=True)
class Replay:
    """A kept campaign, to be looked at as it was at any moment.

    Attributes:
        loads: `case`, `round` (-1 in the confirmation) and `stored_at` of every repetition, in order.
        began: When it was triggered; of a comparison, which has not kept it, as long before its first repetition as it
            was planned.
    """

    name: str
    expected: ExpectedRepetitions
    loads: pd.DataFrame
    began: datetime

    @cached_property
    def ended(self) -> datetime:
        """Return when the report was written: what that took was not kept, and is taken to be what is expected."""
        last: datetime = self.loads.stored_at.iloc[-1].to_pydatetime()
        return last + timedelta(seconds=REPORT_S)

    def at(self, fraction: float, since: datetime | None = None) -> Looked:
        """Look at the campaign after this share of its time, or of the time that was left at a moment (`since`)."""
        since = since or self.began
        now = since + fraction * (self.ended - since)
        found = time_left(self.expected, self._parts(now), self._cases_of_rounds(now), self.began, now)
        return Looked(found, (self.ended - now).total_seconds())

    def task_starts(self) -> list[datetime]:
        """List when each measuring task began, but for the first one: when the repetition before it was stored."""
        own = self.loads
        begins = (own["round"] != own["round"].shift()) | (own.case != own.case.shift())
        return [when.to_pydatetime() for when in own.stored_at.shift()[begins].dropna()]

    @cached_property
    def _stored_at(self) -> dict[tuple[int, str], tuple[datetime, ...]]:
        """Map each part to the times of its repetitions, the parts in the order in which they began."""
        found: dict[tuple[int, str], list[datetime]] = {}
        for number, case, when in zip(self.loads["round"], self.loads.case, self.loads.stored_at, strict=True):
            found.setdefault((number, case), []).append(when.to_pydatetime())
        return {part: tuple(stored_at) for part, stored_at in found.items()}

    def _parts(self, now: datetime) -> list[Part]:
        parts = []
        for (number, case), every in self._stored_at.items():
            stored_at = every[: bisect_right(every, now)]
            parts.append(Part(case, None if number < 0 else number, stored_at, ended=stored_at == every))
        return parts

    def _cases_of_rounds(self, now: datetime) -> dict[int, list[str]]:
        """Return the cases of the rounds that have begun; once the confirmation has, of all."""
        begun = {number for (number, _), every in self._stored_at.items() if every[0] <= now}
        numbers = self.expected.study.round_numbers()[1:] if -1 in begun else sorted(begun - {0})
        return {number: [case for of, case in self._stored_at if of == number] for number in numbers}


def main() -> None:
    """Print the table, and write it into `tables.md`."""
    with clear_errors():
        lines = list(table([replayed(folder) for folder in sorted((DATA / "campaigns").iterdir())]))
        print("\n".join(lines))
        write_section("time_left", "\n".join(lines))


def table(replays: Sequence[Replay]) -> Iterator[str]:
    """Yield a row for each campaign, and their totals."""
    yield f"| campaign | it took [min] | {' | '.join(f'at {moment:.0%}' for moment in MOMENTS)} |"
    yield "|---" * (2 + len(MOMENTS)) + "|"
    found = {each.name: [each.at(moment) for moment in MOMENTS] for each in replays}
    for each in replays:
        errors = [f"{looked.error:+.0%}" for looked in found[each.name]]
        yield f"| {each.name} | {(each.ended - each.began).total_seconds() / 60:.0f} | {' | '.join(errors)} |"
    moments = [list(looked) for looked in zip(*found.values(), strict=True)]
    rows = list(zip(*(shares(looked) for looked in moments), strict=True))
    for name, cells in zip(("within 15 %", "within 40 %", "in the stated range"), rows, strict=True):
        yield f"| {name} | | {' | '.join(cells)} |"
    yield ""
    tasks = [each.at(EARLY, since) for each in replays for since in each.task_starts()]
    near, wide, inside = shares(tasks)
    yield (
        f"From the start of every later measuring task, after {EARLY:.0%} of what was left then: {near} within 15 %, "
        f"{wide} within 40 %, {inside} in the stated range."
    )


def shares(looked: Sequence[Looked]) -> tuple[str, str, str]:
    """Return how many estimates are within 15 % of the truth, within 40 %, and have it in their range."""
    counts = [sum(abs(each.error) <= share for each in looked) for share in (0.15, 0.4)]
    counts.append(sum(each.is_in_range for each in looked))
    near, wide, inside = (f"{count} of {len(looked)}" for count in counts)
    return near, wide, inside


def replayed(folder: Path) -> Replay:
    """Read a kept campaign."""
    study = _of_its_time(load_study(folder / "study.yaml"))
    loads = pd.read_csv(folder / "repetitions.csv", dtype={"case": str, "record_size_bytes": str}, low_memory=False)
    loads = loads.rename(columns={"record_size_bytes": "case"})
    started = pd.to_datetime(loads.started_at, format="ISO8601")
    loads["stored_at"] = (started + pd.to_timedelta(loads.wall_s, unit="s")).dt.floor("ms")
    loads.loc[loads.phase != "design", "round"] = -1
    loads = loads.sort_values("stored_at").reset_index(drop=True)
    designed = loads[loads["round"] == 0].drop_duplicates(["case", "configuration_id"])
    expected = ExpectedRepetitions(study, _plan(study), Counter(designed.case.tolist()))
    first_s = float(loads.wall_s.iloc[0])
    own_start_s = TASK_START_S + expected.plan.start_s[loads.case.iloc[0]]
    first: datetime = loads.stored_at.iloc[0].to_pydatetime()
    began = _triggered(folder) or first - timedelta(seconds=first_s + own_start_s)
    loads["stored_at"] = (loads.stored_at - pd.to_timedelta(_interrupted_s(loads), unit="s")).dt.floor("ms")
    return Replay(folder.name, expected, loads, began)


def _of_its_time(study: Study) -> Study:
    """Return the study without final blocks, if it was frozen before there were any."""
    if not isinstance(study, Tune) or "final_blocks" in study.confirmation.model_fields_set:
        return study
    without = study.confirmation.model_copy(update={"final_blocks": 0, "more_blocks": 0})
    return study.model_copy(update={"confirmation": without})


def _plan(study: Study) -> Plan:
    driver = runtime_of(study)
    return plan_campaign(study, driver) if isinstance(study, Tune) else plan_comparison(compare_study(study), driver)


def _triggered(folder: Path) -> datetime | None:
    """Return the time in the campaign's id, which its cards name."""
    cards = folder / "cards.txt"
    named = re.search(r"campaign (\d{8}T\d{6})", cards.read_text(encoding="utf-8")) if cards.exists() else None
    return datetime.strptime(named.group(1), "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if named else None


def _interrupted_s(loads: pd.DataFrame) -> pd.Series:
    """Return for each repetition the unforeseeable pause of the campaign before it."""
    gaps: pd.Series = loads.stored_at.diff().dt.total_seconds().fillna(0.0)
    return gaps.where(gaps > _INTERRUPTED_S, 0.0).cumsum()


if __name__ == "__main__":
    typer.run(main)
