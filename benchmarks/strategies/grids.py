"""The recorded grids that answer strategies: the same 360 configurations, each in a machine state of its own.

The first one is `benchmarks.strategies.table`'s. A second one takes part once `python -m benchmarks.record_grid` has
recorded it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.strategies.table import BLOCKS, CASE, Answer, Asking, Strategy, Table, recorded_table, table_study
from kafka_pareto.study.tune import Tune
from tests.recorded import recorded_grid

_DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True)
class Grid:
    """A recording of every configuration at one record size."""

    case: str
    conditions: str

    @property
    def name(self) -> str:
        """Return the recording's name, which is also that of the folder of its stored runs."""
        return f"grid_{self.case}"

    @property
    def file(self) -> Path:
        """Return the recording."""
        return _DATA / f"{self.name}.csv"

    @property
    def partial_file(self) -> Path:
        """Return the unfinished recording, which is renamed to `file` once it is complete."""
        return self.file.with_suffix(".partial.csv")

    def study(self) -> Tune:
        """Return the table's study at this grid's record size."""
        return table_study().model_copy(update={"record_sizes_bytes": [int(self.case)]})

    def table(self) -> Table:
        """Return the recorded repetitions.

        Raises:
            SystemExit: If the recording is not complete.
        """
        return _table(self)

    def answers(self, strategy: Strategy, seed: int, budget: int) -> list[Answer]:
        """Let a strategy spend a budget of repetitions on this grid."""

        def at_this_size(study: Tune, _case: str, seed: int) -> Asking:
            return strategy(study, self.case, seed)

        return self.table().answers(at_this_size, self.study(), seed, budget)


FIRST = Grid(CASE, "one broker")
SECOND = Grid("1024", "three brokers, replication 3")
GRIDS = {each.name: each for each in (FIRST, SECOND)}


def recorded_grids() -> list[Grid]:
    """Return the grids that have a complete recording."""
    return [each for each in GRIDS.values() if each.file.exists()]


@cache
def _table(grid: Grid) -> Table:
    if grid == FIRST:
        return recorded_table()
    repetitions, expected = recorded_grid(grid.file), len(recorded_table().losses) * BLOCKS
    if len(repetitions) != expected:
        raise SystemExit(
            f"error: {grid.file} holds {len(repetitions):,} of {expected:,} repetitions; "
            f"to resume, rename it to {grid.partial_file.name} and run python -m benchmarks.record_grid"
        )
    return Table(repetitions)
