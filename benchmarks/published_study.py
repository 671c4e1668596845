"""Compare a kept campaign of `paper` with the published study: `python -m benchmarks.published_study [FOLDER]`.

Prints Tables 1 and 2 and what Figures 3 to 7 show, as Markdown, from the files that
`python -m benchmarks.keep_campaign paper <campaign>` wrote. The published numbers are those of
`data/published_study.json`; where the study's text gives a figure no numbers, its statement is shown next to ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

from benchmarks.kept_campaign import KeptCampaign, mean_of, read_kept
from benchmarks.on_cluster import DATA, Values, clear_errors
from kafka_pareto.analysis.gains import gain_of
from kafka_pareto.report.published_tables import best_and_worst_table, best_per_objective_table
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import is_maximised, label_of, objective_named
from kafka_pareto.study.overrides import overrides_of
from kafka_pareto.study.section import Section
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_named_study

OBJECTIVES = ("throughput_mib_s", "p95_latency_ms", "throughput_cv", "latency_cv")
"""In the order in which the study publishes them."""
PLANE = ("throughput_mib_s", "p95_latency_ms")
_AS_PUBLISHED = {"throughput_mib_s": ",.3f", "p95_latency_ms": ",.1f", "throughput_cv": ".4f", "latency_cv": ".4f"}
STUDIES = Path(__file__).parent.parent / "include" / "studies"
_RESAMPLES = 2_000
_SEED = 42


def main(
    folder: Annotated[Path, typer.Argument(help="a kept campaign")] = DATA / "campaigns" / "paper",
) -> None:
    """Print the comparison."""
    with clear_errors():
        published = json.loads((DATA / "published_study.json").read_text(encoding="utf-8"))
        print("\n".join(comparison(read_kept(folder), published)))


def comparison(kept: KeptCampaign, published: dict[str, Any]) -> list[str]:
    """Return the sections in lines of Markdown, after a line on what was measured."""
    paper = load_named_study(STUDIES, "paper")
    changed = "; ".join(map(str, overrides_of(paper, _with_later_keys(kept.study, paper)))) or "nothing"
    measured = f"{len(kept.repetitions):,} valid repetitions, design and confirmation. Unlike `paper.yaml`: {changed}."
    sections = {
        "Table 1: best and worst of the design": table_1(kept, published["table_1"]["best_and_worst"]),
        "Table 2: what measured best": table_2(kept, published["table_2"]),
        "Figure 3: what the surrogates learn": [_says(published["figure_3"]), "", *figure_3(kept)],
        "Figure 4: estimated and measured": [_says(published["figure_4"]), "", *figure_4(kept)],
        "Figure 5: throughput and its CV": [_says(published["figure_5"]), "", *figure_5(kept)],
        "Figure 6: what the search gained": [_says(published["figure_6"]), "", *figure_6(kept)],
        "Figure 7: R1 and the defaults": figure_7(kept, published["figure_7"]["change_fractions"]),
        "First rounds and latency CVs": [_says(published["first_rounds"]), "", *first_rounds(kept)],
    }
    return [measured, "", *(line for title, lines in sections.items() for line in (f"## {title}", "", *lines, ""))]


def table_1(kept: KeptCampaign, published: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return per record size and objective best and worst, here and published, and how many times they differ."""
    found = {row["case"]: row for row in best_and_worst_table(kept.study, kept.design()).to_dict("records")}
    rows = []
    for case in kept.study.cases:
        for objective in OBJECTIVES:
            here = [float(found[case][f"{end}_{objective}"]) for end in ("best", "worst")]
            there = published.get(case, {}).get(objective)
            cells = [_extremes(values, objective) for values in (here, there)]
            ratios = [_ratio(values) for values in (here, there)]
            label = objective_named(objective).axis_label
            rows.append([case_label(case), label, cells[0], ratios[0], cells[1], ratios[1]])
    return _markdown(["", "", "best, worst: here", "times", "published", "times"], rows)


def table_2(kept: KeptCampaign, published: dict[str, Any]) -> list[str]:
    """Return per record size and objective what measured best, and how sure that is.

    Each trial's repetitions are drawn again with replacement: the share of draws in which the winner wins again.
    """
    design, rng = kept.design(), np.random.default_rng(_SEED)
    table = best_per_objective_table(kept.study, design).to_dict("records")
    winners = {(row["case"], row["objective"]): row for row in table}
    factors, rows = list(published["winners"][OBJECTIVES[0]]), []
    for case in kept.study.cases:
        drawn = design[(design.case == case) & ~design.is_baseline].configuration_id.tolist()
        for objective in OBJECTIVES:
            winner = winners[case, objective]
            sure = _wins_again(kept, case, objective, drawn, winner["configuration_id"], rng)
            there = published["winners"][objective] if case == published["case"] else {}
            settings = [f"{winner[name]}" for name in factors]
            label = objective_named(objective).axis_label
            cells = [case_label(case), label, f"{winner['value']:{_AS_PUBLISHED[objective]}}"]
            rows.append(
                [*cells, ", ".join(settings), f"{sure:.0%}", ", ".join(there[name] for name in factors if there)]
            )
    named = ", ".join(factors)
    return _markdown(["", "", "measured", f"{named}: here", "wins again", f"{named}: published"], rows)


def figure_3(kept: KeptCampaign) -> list[str]:
    """Return R² of each objective: over all record sizes, and at 1,024 B alone as published."""
    rows = []
    for objective in OBJECTIVES:
        of_objective = kept.r2[kept.r2.objective == objective]
        for where, row in (
            ("all record sizes", of_objective[of_objective.case.isna()]),
            (f"{case_label(kept.study.cases[0])} alone", of_objective[of_objective.case == kept.study.cases[0]]),
        ):
            scores = ("r2_train", "r2_held_out", "r2_cross_validated", "r2_noise_ceiling")
            rows.append([label_of(objective), where, *(_number(row[name]) for name in scores)])
    return _markdown(["", "", "R² training", "held out", "5 folds", "noise ceiling"], rows)


def figure_4(kept: KeptCampaign) -> list[str]:
    """Return how far the confirmed points' measured values are from their estimates, and whether the order stays."""
    rows = []
    for case in kept.study.cases:
        for objective in OBJECTIVES:
            estimated, measured = _estimated_and_measured(kept, case, objective)
            off = np.abs(measured / estimated - 1)
            order = stats.spearmanr(estimated, measured) if len(estimated) > 2 else None
            cells = [f"{len(off)}", _percent(np.median(off)) if len(off) else "-", _number(order and order.statistic)]
            rows.append([case_label(case), label_of(objective), *cells])
    return _markdown(["", "", "points", "median difference", "rank correlation"], rows)


def figure_5(kept: KeptCampaign) -> list[str]:
    """Return by record size the confirmed points' throughput and CV, and how the two go together."""
    rows = []
    for case in kept.study.cases:
        of_case = kept.estimates[kept.estimates.case == case].dropna(
            subset=["measured_throughput_mib_s", "measured_throughput_cv"]
        )
        throughput, cv = of_case.measured_throughput_mib_s, of_case.measured_throughput_cv
        order = stats.spearmanr(throughput, cv) if len(of_case) > 2 else None
        cells = [_number(throughput.median()), _number(cv.median(), 3), _number(order and order.statistic)]
        rows.append([case_label(case), *cells, _number(order and order.pvalue, 3)])
    return _markdown(["", "throughput, median [MiB/s]", "its CV, median", "rank correlation", "p"], rows)


def figure_6(kept: KeptCampaign) -> list[str]:
    """Return by record size how optimistic estimates are, and what the search found that the design had not."""
    design, rows = kept.design(), []
    for case in kept.study.cases:
        of_case = kept.estimates[kept.estimates.case == case].dropna(subset=[f"measured_{name}" for name in PLANE])
        optimistic = []
        for objective in PLANE:
            estimated, measured = _estimated_and_measured(kept, case, objective)
            better = estimated > measured if is_maximised(objective) else estimated < measured
            optimistic.append(f"{better.sum()} of {len(better)}")
        drawn = design[(design.case == case) & ~design.is_baseline]
        points = of_case[[f"measured_{name}" for name in PLANE]].to_numpy(dtype=float)
        unbeaten = sum(not _is_beaten(point, drawn) for point in points)
        best = [_change_of_best(of_case, drawn, objective) for objective in PLANE]
        rows.append([case_label(case), *optimistic, f"{unbeaten} of {len(of_case)}", *best])
    heads = [f"optimistic: {label_of(name)}" for name in PLANE]
    bests = [f"best {label_of(name)} over the design's" for name in PLANE]
    return _markdown(["", *heads, "beaten in both by no trial of the design", *bests], rows)


def figure_7(kept: KeptCampaign, published: dict[str, float]) -> list[str]:
    """Return by record size the change from the defaults to R1 that the cards state, with its joint 95 % interval."""
    rows = [["published, ten rounds", *(f"{published[objective]:+.0%}" for objective in OBJECTIVES)]]
    for case in kept.study.cases:
        pick = kept.pick(case)
        cells = ["nothing was picked"] * 4 if pick is None else [_change(kept, case, pick, name) for name in OBJECTIVES]
        rows.append([case_label(case), *cells])
    return _markdown(["", *map(label_of, OBJECTIVES)], rows)


def first_rounds(kept: KeptCampaign) -> list[str]:
    """Return by record size the design's first repetitions over the mean of the others of their configuration.

    The defaults are measured first at each size. The ratios of all configurations are geometric means with 95 %
    intervals (t over logarithms).
    """
    rows = []
    for case in kept.study.cases:
        cells: dict[str, list[str]] = {"defaults": [], "all": []}
        for mean in PLANE:
            values = kept.values(case, "design", mean)
            logs = {name: float(np.log(each[0] / each[1:].mean())) for name, each in values.items()}
            of_all = np.array(list(logs.values()))
            ends = stats.ttest_1samp(of_all, 0.0).confidence_interval()
            low, middle, high = (float(np.exp(each)) for each in (ends.low, of_all.mean(), ends.high))
            cells["defaults"].append(_number(np.exp(logs[kept.study.baseline_id()])))
            cells["all"].append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        design = kept.design()
        cvs = design.loc[design.case == case, "latency_cv"]
        rows.append([case_label(case), *cells["defaults"], *cells["all"], f"{(cvs > 1).sum()} of {len(cvs)}"])
    of_each = [f"{who}: {label_of(name)}" for who in ("defaults", "all configurations") for name in PLANE]
    return _markdown(["first round over the others", *of_each, "latency CV above 1"], rows)


def _with_later_keys(kept: Study, file: Study) -> Study:
    """Return the kept study with the file's values for the keys that the kept one does not state.

    A frozen study states every key of its time. A key that it lacks came later, and its default may be another than
    what the file asks for.
    """
    stated, values = kept.model_dump(exclude_unset=True, exclude={"description"}), file.model_dump()
    for key, value in stated.items():
        in_file = values.get(key)
        both_are_sections = isinstance(value, dict) and isinstance(getattr(file, key, None), Section)
        values[key] = {**in_file, **value} if both_are_sections and in_file else value
    return type(file).model_validate(values)


def _change(kept: KeptCampaign, case: str, pick: str, objective: str) -> str:
    sides = kept.sides(case, pick, mean_of(objective))
    gain = gain_of(objective, *sides, kept.study)
    ends = (gain.change_fraction, gain.change_low_fraction, gain.change_high_fraction)
    change, low, high = (_percent(np.nan if each is None else each, sign="+") for each in ends)
    return change if gain.change_low_fraction is None else f"{change} ({low} to {high})"


def _wins_again(
    kept: KeptCampaign, case: str, objective: str, names: list[str], winner: str, rng: np.random.Generator
) -> float:
    ends, measured = [], kept.values(case, "design", mean_of(objective))
    for name in names:
        values = measured[name]
        draws = values[rng.integers(len(values), size=(_RESAMPLES, len(values)))]
        spread = objective_named(objective).spread_of
        means = draws.mean(axis=1)
        found = draws.std(axis=1, ddof=1) / means if spread else means
        ends.append(-found if is_maximised(objective) else found)
    return float(np.mean(np.argmin(ends, axis=0) == names.index(winner)))


def _estimated_and_measured(kept: KeptCampaign, case: str, objective: str) -> tuple[Values, Values]:
    columns = [f"estimated_{objective}", f"measured_{objective}"]
    pairs = kept.estimates.loc[kept.estimates.case == case, columns].dropna().to_numpy(dtype=float)
    return pairs[:, 0], pairs[:, 1]


def _is_beaten(point: Values, design: pd.DataFrame) -> bool:
    """Return whether a trial of the design is better in both means, which the point holds in the order of `PLANE`."""
    signs = np.array([1 if is_maximised(objective) else -1 for objective in PLANE])
    return bool((signs * (design[list(PLANE)].to_numpy(dtype=float) - point) > 0).all(axis=1).any())


def _change_of_best(confirmed: pd.DataFrame, design: pd.DataFrame, objective: str) -> str:
    best = "max" if is_maximised(objective) else "min"
    found, drawn = getattr(confirmed[f"measured_{objective}"], best)(), getattr(design[objective], best)()
    return _percent(found / drawn - 1, sign="+")


def _extremes(values: Sequence[float] | None, objective: str) -> str:
    return "-" if values is None else ", ".join(f"{each:{_AS_PUBLISHED[objective]}}" for each in values)


def _ratio(values: Sequence[float] | None) -> str:
    return "-" if values is None else f"{max(values) / min(values):.1f}"


def _says(published: dict[str, Any]) -> str:
    where = f", at {case_label(published['case'])}" if "case" in published else ""
    return f"Published{where}: {published['says']}."


def _percent(fraction: float, sign: str = "") -> str:
    return f"{fraction:{sign}.0%}" if np.isfinite(fraction) else "-"


def _number(value: Any, decimals: int = 2) -> str:
    if isinstance(value, pd.Series):
        value = value.iloc[0] if len(value) else None
    return "-" if value is None or pd.isna(value) else f"{value:.{decimals}f}"


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(heads), _line(["---"] * len(heads)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
