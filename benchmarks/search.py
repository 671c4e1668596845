"""Compare the strategies' results with few repetitions: `python -m benchmarks.search`.

Reads every strategy's requests on each recorded grid (`benchmarks.search_runs`). Makes the tables of
`benchmarks/tables.md` and the figure `docs/images/search.png`. All volumes are shares of the whole table's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.progress import track
from scipy import stats

from benchmarks.search_runs import stored
from benchmarks.strategies import STRATEGIES
from benchmarks.strategies.grids import Grid, recorded_grids
from benchmarks.strategies.table import SPLITS, Answer, Table
from kafka_pareto.report.figures import STYLE

Values = npt.NDArray[np.float64]

BUDGETS = (20, 30, 40, 60, 80, 100, 120, 160, 200, 240)
TABLES = Path(__file__).parent / "tables.md"
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "search.png"
OWN, ONE_SHOT = "rounds", "one_shot"
LABELS = {
    "rounds": "rounds (this project)",
    "rounds_of_four": "rounds of four, baseline only once",
    "one_shot": "one shot (the paper)",
    "random": "random search",
    "latin_hypercube": "Latin hypercube, no model",
    "optuna_nsga3": "Optuna NSGA-III",
    "optuna_tpe": "Optuna TPE",
    "botorch_nehvi": "BoTorch qLogNEHVI",
}
_HUES = ("#000000", "#CC79A7", "#D55E00", "#9a9a9a", "#E69F00", "#56B4E9", "#0072B2", "#009E73")
_COLOURS = dict(zip(LABELS, _HUES, strict=True))
_MARKERS = dict(zip(LABELS, "oPs.v^Dx", strict=True))
_RESAMPLES = 9999
_STEP = 5

Runs = Mapping[int, Sequence[Answer]]


@dataclass(frozen=True)
class Results:
    """Every strategy's runs on a grid, and their volumes `measured` and `delivered`, of shape (seeds, budgets)."""

    grid: Grid
    runs: Mapping[str, Runs]
    volumes: Mapping[str, Mapping[str, Values]]

    @property
    def title(self) -> str:
        """Return the grid's record size and conditions."""
        return f"{int(self.grid.case):,} B, {self.grid.conditions}"


def main() -> None:
    """Print the tables, and write them with the figure."""
    results = [_results(grid) for grid in recorded_grids()]
    text = "\n".join(line for each in results for line in _report(each, has_title=len(results) > 1))
    print(text)
    write_section("search", text)
    with mpl.rc_context(STYLE):
        _draw(results).savefig(FIGURE, dpi=130)


def write_section(name: str, text: str) -> None:
    """Put the text between the markers of this name in the benchmarks' page of tables."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = TABLES.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    TABLES.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def budgets_of(runs: Runs) -> list[int]:
    """Return the budgets that these runs reach; for the one shot also those beyond."""
    longest = len(runs[0])
    return [*(budget for budget in BUDGETS if budget <= longest), *([longest] if longest > BUDGETS[-1] else [])]


def _results(grid: Grid) -> Results:
    runs = {name: stored(name, grid) for name in STRATEGIES}
    return Results(grid, runs, {name: _volumes(runs[name], f"{grid.name}: {name}", grid.table()) for name in runs})


def _volumes(runs: Runs, name: str, table: Table) -> dict[str, Values]:
    budgets = budgets_of(runs)
    kinds = {"measured": table.volume_measured, "delivered": table.volume_handed_over}
    return {
        kind: np.array([
            [volume(given[:budget], seed) for budget in budgets]
            for seed, given in track(runs.items(), f"{name}, {kind}", transient=True)
        ])
        for kind, volume in kinds.items()
    }  # fmt: skip


def _report(results: Results, *, has_title: bool) -> list[str]:
    runs, found = results.runs, results.volumes
    return [
        *(["", f"**{results.title}**"] if has_title else []),
        "",
        "Hypervolume of the truly non-dominated measured configurations, median (quartiles) over the seeds:",
        "",
        *_table(runs, found, "measured"),
        "",
        "The same for the delivered configurations, non-dominated by the strategy's own answers:",
        "",
        *_table(runs, found, "delivered"),
        "",
        "Repetitions until the volume of the one shot's end is reached, each against the one shot of the same seed, at",
        f"steps of {_STEP}:",
        "",
        *_reached(runs, results.grid.table()),
        "",
        "The project's strategy minus each other one at equal budgets, of the truly non-dominated configurations: the",
        "mean over the ten splits with its 95 % interval (bootstrap over the splits, BCa; not adjusted for their",
        "number, and of one recording, whose splits overlap):",
        "",
        *_differences(runs, found, "measured"),
        "",
        "The same for the delivered configurations:",
        "",
        *_differences(runs, found, "delivered"),
    ]


def _table(runs: Mapping[str, Runs], found: Mapping[str, Mapping[str, Values]], kind: str) -> list[str]:
    lines = ["| repetitions | " + " | ".join(str(budget) for budget in BUDGETS) + " | at its end |"]
    lines.append("|" + "---|" * (len(BUDGETS) + 2))
    for name, label in LABELS.items():
        budgets, volumes = budgets_of(runs[name]), found[name][kind]
        cells = [quartiles(volumes[:, at]) for at, budget in enumerate(budgets) if budget in BUDGETS]
        cells = ["-"] * len(BUDGETS) if name == ONE_SHOT else cells + ["-"] * (len(BUDGETS) - len(cells))
        end = f"{quartiles(volumes[:, -1])} at {budgets[-1]}"
        lines.append(f"| {label} | " + " | ".join(cells) + f" | {end} |")
    return lines


def quartiles(values: Values) -> str:
    """Return the median and both quartiles, as a table's cell."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3f} ({low:.2f} to {high:.2f})"


def _reached(runs: Mapping[str, Runs], table: Table) -> list[str]:
    kinds = {"measured": table.volume_measured, "delivered": table.volume_handed_over}
    heads = " | ".join(f"{kind}: median (quartiles), seeds" for kind in kinds)
    lines = [f"| strategy | {heads} |", "|---|---|---|"]
    for name, label in LABELS.items():
        cells = []
        for volume in kinds.values():
            needed = []
            for seed, given in runs[name].items():
                goal = volume(runs[ONE_SHOT][seed], seed)
                sizes = range(_STEP, len(given) + 1, _STEP)
                needed.append(next((size for size in sizes if volume(given[:size], seed) >= goal), np.inf))
            low, middle, high = np.quantile(needed, [0.25, 0.5, 0.75], method="higher")
            reached = f"{int(np.isfinite(needed).sum())} of {len(needed)} within {len(runs[name][0])}"
            cells.append(f"{_count(middle)} ({_count(low)} to {_count(high)}), {reached}")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def _count(repetitions: float) -> str:
    return f"{repetitions:.0f}" if np.isfinite(repetitions) else "more"


def _differences(runs: Mapping[str, Runs], found: Mapping[str, Mapping[str, Values]], kind: str) -> list[str]:
    lines = ["| minus | " + " | ".join(str(budget) for budget in BUDGETS) + " |", "|" + "---|" * (len(BUDGETS) + 1)]
    for name, label in LABELS.items():
        if name in (OWN, ONE_SHOT):  # before its end, the one shot has only a part of its design
            continue
        reached = budgets_of(runs[name])
        paired = [found[OWN][kind][:, at] - found[name][kind][:, at] for at in range(len(reached))]
        cells = [difference(each) for each in paired] + ["-"] * (len(BUDGETS) - len(reached))
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def difference(paired: Values) -> str:
    """Return the mean over the splits, of two seeds each, with its interval."""
    by_split = paired.reshape(-1, len(SPLITS)).mean(axis=0)
    if np.ptp(by_split) == 0:
        return f"{by_split.mean():+.3f}"
    drawn = stats.bootstrap((by_split,), np.mean, n_resamples=_RESAMPLES, rng=np.random.default_rng(0))
    low, high = drawn.confidence_interval
    return f"{by_split.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def _draw(results: Sequence[Results]) -> Figure:
    figure = Figure(figsize=(10, 4.4 * len(results)), layout="constrained")
    panels = figure.subplots(len(results), 2, sharey=True, squeeze=False)
    titles = {"measured": "truly non-dominated among the measured", "delivered": "delivered as the front"}
    for row, each in zip(panels, results, strict=True):
        for axes, (kind, title) in zip(row, titles.items(), strict=True):
            _draw_volumes(axes, each, kind)
            axes.set_title(title if len(results) == 1 else f"{title}\n{each.title}")
        row[0].set(ylabel="share of the table's hypervolume")
    panels[0][0].legend(loc="lower right", fontsize="small")
    return figure


def _draw_volumes(axes: Axes, results: Results, kind: str) -> None:
    for name, label in LABELS.items():
        budgets = budgets_of(results.runs[name])
        low, middle, high = np.quantile(results.volumes[name][kind], [0.25, 0.5, 0.75], axis=0)
        style: dict[str, Any] = {"color": _COLOURS[name], "marker": _MARKERS[name], "markersize": 4}
        axes.plot(budgets, middle, label=label, linewidth=2.2 if name == OWN else 1.2, **style)
        axes.fill_between(budgets, low, high, color=_COLOURS[name], alpha=0.10, linewidth=0)
    axes.set(xscale="log", xlabel="repetitions on the broker")
    axes.set_xticks([20, 40, 80, 160, 320, 640], ["20", "40", "80", "160", "320", "640"])
    axes.minorticks_off()


if __name__ == "__main__":
    main()
