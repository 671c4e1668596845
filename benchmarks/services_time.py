"""Break down a kept campaign's time: `python -m benchmarks.services_time [FOLDER]`.

Reads a campaign of services that `benchmarks.keep_campaign` exported. Minutes by part, of one block and of all starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.errors import BadInputError

STARTS = "starts"
PER_BLOCK = ("sending", "confirming", "searches", "around", "switches", "pauses")
_OF_SERVICES = ["topology", "delivery", "linger.ms"]
# Longer gaps between repetitions are interruptions of the campaign.
_INTERRUPTED_S = 1_800.0


def main(
    folder: Annotated[Path, typer.Argument(help="a kept campaign of services")] = DATA / "campaigns" / "topologies",
) -> None:
    """Print a row of minutes for each part, and their sum."""
    with clear_errors():
        path = folder / "repetitions.csv"
        if not path.exists():
            raise BadInputError(f"{path}: file not found; export a campaign with `python -m benchmarks.keep_campaign`")
        repetitions = pd.read_csv(path)
        minutes = minutes_by_part(repetitions)
        blocks: pd.Series = repetitions.groupby("case").block.nunique()
        print("| part | blocks | " + " | ".join([*minutes, "all"]) + " |")
        print("|---" * (3 + len(minutes.columns)) + "|")
        for part in minutes.index:
            print(_row(part, str(blocks.loc[part]), minutes.loc[part]))
        print(_row("all", "", minutes.sum()))
        block = minutes[list(PER_BLOCK)].sum(axis="columns") / blocks
        print(f"\nA block of all parts takes {block.sum():.1f} min, the starts {minutes[STARTS].sum():.1f} min.")


def minutes_by_part(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return minutes of each part by what happened, from the end of the campaign's first start.

    - `starts`: brokers and services of a topology new to the part, with their warm-up and what else comes before its
      first repetition
    - `sending`: from the first order sent to the last
    - `confirming`: from then to the last confirmation
    - `searches`: repetitions that search a capacity
    - `around`: the rest of each repetition, such as counters read and the client's report
    - `switches`: a block's end, or other services on warm brokers
    - `pauses`: between repetitions of the same services

    The starts before the first repetition and after an interruption are unknown, and omitted.
    """
    start = pd.to_datetime(repetitions.started_at, format="ISO8601")
    ordered = repetitions.assign(start=start).sort_values("start", ignore_index=True)
    before = ordered.shift()
    gaps = (ordered.start - before.start).dt.total_seconds() - before.wall_s
    gaps = gaps.where(gaps <= _INTERRUPTED_S, 0.0)
    is_start = ~ordered.duplicated(["case", "topology"])
    services = ordered[["case", "block", *ordered.columns.intersection(_OF_SERVICES)]].astype(object).fillna("")
    is_switch = (services != services.shift()).any(axis="columns") & ~is_start
    is_search = ordered.load == "capacity"
    sending = ordered.sending_s.mask(is_search, 0.0).fillna(0.0)
    total_s = (ordered.orders_confirmed / ordered.orders_s).mask(is_search, 0.0).fillna(0.0)
    seconds = {
        STARTS: gaps.where(is_start, 0.0),
        "sending": sending,
        "confirming": total_s - sending,
        "searches": ordered.wall_s.where(is_search, 0.0),
        "around": np.where(is_search, 0.0, ordered.wall_s - total_s),
        "switches": gaps.where(is_switch, 0.0),
        "pauses": gaps.mask(is_start | is_switch, 0.0),
    }
    return pd.DataFrame(seconds).groupby(ordered.case, sort=False).sum() / 60


def _row(part: str, blocks: str, minutes: pd.Series) -> str:
    return f"| {part} | {blocks} | " + " | ".join(f"{each:.1f}" for each in [*minutes, minutes.sum()]) + " |"


if __name__ == "__main__":
    typer.run(main)
