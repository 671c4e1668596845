"""Show the load generator's share of a campaign's wall time: `python -m benchmarks.wall_time [FOLDER ...]`.

Reads campaigns that `benchmarks.keep_campaign` kept. The time between two loads is classified by its cause.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.errors import BadInputError

BETWEEN = ("repetitions of a task", "tasks of a phase", "phases and rounds")


def main(
    folders: Annotated[list[Path] | None, typer.Argument(help="kept campaigns; all of them if none is named")] = None,
) -> None:
    """Print a table with a row for each campaign."""
    with clear_errors():
        print(
            "| campaign | repetitions | wall time [s] | load generator | "
            + " | ".join(f"between {each}" for each in BETWEEN)
            + " |"
        )
        print("|---" * (4 + len(BETWEEN)) + "|")
        for folder in folders or sorted((DATA / "campaigns").iterdir()):
            print(row(folder))


def row(folder: Path) -> str:
    """Return the campaign's row: seconds from its first load to the end of its last, and their shares.

    Raises:
        BadInputError: If the folder holds no kept campaign.
    """
    path = folder / "repetitions.csv"
    if not path.exists():
        raise BadInputError(f"{path}: there is none; keep a campaign there by `python -m benchmarks.keep_campaign`")
    repetitions = pd.read_csv(path, dtype={"case": str})
    shares = wall_time_shares(repetitions)
    texts = [f"{shares[name]:.0%}" for name in ("load generator", *BETWEEN)]
    return f"| {folder.name} | {len(repetitions):,} | {shares['seconds']:,.0f} | {' | '.join(texts)} |"


def wall_time_shares(repetitions: pd.DataFrame) -> dict[str, float]:
    """Return the wall time in seconds, the load generator's share of it, and the shares of the gaps between loads.

    Args:
        repetitions: `started_at`, `wall_s` (the load generator's own), `phase`, `round`, and `case` or the record size.
    """
    case = "case" if "case" in repetitions else "record_size_bytes"
    ordered = repetitions.assign(start=pd.to_datetime(repetitions.started_at, format="ISO8601")).sort_values("start")
    after = ordered.shift(-1)
    gaps = (after.start - ordered.start).dt.total_seconds() - ordered.wall_s
    same_phase = (after.phase == ordered.phase) & (after["round"] == ordered["round"])
    same_task = same_phase & (after[case] == ordered[case])
    # The confirmation of a case is one task of several phases.
    confirms = ~ordered.phase.isin(["design", "noise"]) & ~after.phase.isin(["design", "noise"])
    same_task |= confirms & (after[case] == ordered[case])
    same_phase |= confirms
    seconds = (ordered.start.iloc[-1] - ordered.start.iloc[0]).total_seconds() + ordered.wall_s.iloc[-1]
    known = after.start.notna()
    parts = (same_task, same_phase & ~same_task, ~same_phase & ~same_task)
    return {
        "seconds": seconds,
        "load generator": float(ordered.wall_s.sum()) / seconds,
        **{name: float(gaps[part & known].sum()) / seconds for name, part in zip(BETWEEN, parts, strict=True)},
    }


if __name__ == "__main__":
    typer.run(main)
