"""Draw the report's figures as PNG, after the paper's Figures 3 to 6, from the campaign's own data.

Kinds of points differ in shape and fill as well as color (Okabe-Ito palette).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.report.evidence import Evidence, estimates_table
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import is_maximised, label_of, objective_named

_SIZE_STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v")]
_DESIGN: dict[str, Any] = {"marker": "o", "s": 16, "color": "#9a9a9a", "alpha": 0.7, "label": "measured design"}
_ESTIMATED: dict[str, Any] = {"marker": "D", "s": 30, "edgecolors": "#0072B2", "label": "estimated front"}
_INTERVAL: dict[str, Any] = {"fmt": "none", "ecolor": "#0072B2", "alpha": 0.4, "linewidth": 0.8, "zorder": 1}
_CONFIRMED: dict[str, Any] = {"marker": "^", "s": 38, "color": "#D55E00", "label": "confirmed points"}
_BASELINE: dict[str, Any] = {"marker": "s", "s": 60, "color": "black", "label": "baseline", "zorder": 5}
_PICK: dict[str, Any] = {"marker": "*", "s": 190, "color": "#F0E442", "edgecolors": "black", "zorder": 6}
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
}
_LOWEST_R2_SHOWN = -0.5
_LEGEND_ENTRY_INCHES = 1.6


def draw_figures(evidence: Evidence) -> Mapping[str, bytes]:
    """Return file name to PNG in report order; a figure without values is left out."""
    drawings = {"fig3_r2_per_objective.png": _r2_per_objective}
    if _objectives_with_pairs(evidence):
        drawings["fig4_estimated_vs_measured.png"] = _estimated_vs_measured
    steadiness = evidence.study.declaration.steadiness
    if steadiness and _cases_with(evidence, steadiness[1]):
        drawings["fig5_mean_and_its_cv.png"] = _mean_and_its_spread
    drawings["fig6_two_objectives.png"] = _two_objectives
    with mpl.rc_context(STYLE):
        return {name: png(draw(evidence)) for name, draw in drawings.items()}


def _r2_per_objective(evidence: Evidence) -> Figure:
    figure = Figure(figsize=(8.6, 4.2), layout="constrained")
    axes = figure.subplots()
    scores = evidence.scores
    pooled = scores[scores.case.isna()].set_index("objective").reindex(list(evidence.study.objective_names))
    within = scores[scores.case.notna()]
    places = np.arange(len(evidence.study.objective_names))
    for column, offset, colour, hatch, label in (
        ("r2_train", -0.2, "#bcd3e6", "", "training configurations"),
        ("r2_held_out", 0.2, "#0072B2", "//", "held-out configurations"),
    ):
        values = pooled[column].to_numpy(dtype=float)
        heights = np.clip(values, _LOWEST_R2_SHOWN, 1)
        axes.bar(places + offset, heights, 0.36, color=colour, hatch=hatch, edgecolor="white", label=label)
        for place, value in zip(places + offset, values, strict=True):
            text = f"{value:.2f}" if np.isfinite(value) else "none"
            at = max(value, 0) if np.isfinite(value) else 0
            axes.annotate(text, (place, min(at, 1)), (0, 3), textcoords="offset points", ha="center")
    ceiling = pooled.r2_noise_ceiling.to_numpy(dtype=float)
    axes.hlines(ceiling, places - 0.42, places + 0.42, colors="black", linestyles="--", label="noise ceiling")
    for at, case in enumerate(evidence.study.cases):
        colour, marker = _SIZE_STYLES[at % len(_SIZE_STYLES)]
        one = within[within.case == case].set_index("objective").reindex(list(evidence.study.objective_names))
        heights = np.clip(one.r2_held_out.to_numpy(dtype=float), _LOWEST_R2_SHOWN, 1)
        style: dict[str, Any] = {"s": 34, "edgecolors": "black", "linewidths": 0.7, "zorder": 4}
        label = f"held out, {case_label(case)} alone"
        axes.scatter(places + 0.2, heights, marker=marker, color=colour, label=label, **style)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(ylim=(_LOWEST_R2_SHOWN - 0.05, 1.15), ylabel=f"R² (below {_LOWEST_R2_SHOWN} drawn at {_LOWEST_R2_SHOWN})")
    axes.set_xticks(places, [label_of(objective) for objective in evidence.study.objective_names])
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _estimated_vs_measured(evidence: Evidence) -> Figure:
    objectives, table = _objectives_with_pairs(evidence), estimates_table(evidence)
    rows = -(-len(objectives) // 2)
    figure = Figure(figsize=(8.6, 3.8 * rows), layout="constrained")
    all_axes = list(figure.subplots(rows, 2, squeeze=False).flat)
    for spare in all_axes[len(objectives) :]:
        spare.remove()
    for axes, objective in zip(all_axes, objectives, strict=False):
        pairs = table.dropna(subset=[f"estimated_{objective}", f"measured_{objective}"])
        _draw_intervals(axes, pairs, f"estimated_{objective}", f"measured_{objective}", "x")
        for at, case in enumerate(evidence.study.cases):
            colour, marker = _SIZE_STYLES[at % len(_SIZE_STYLES)]
            of_case = pairs.loc[pairs.case == case, [f"estimated_{objective}", f"measured_{objective}"]]
            style: dict[str, Any] = {"marker": marker, "s": 30, "color": colour, "alpha": 0.8}
            axes.scatter(*of_case.to_numpy(dtype=float).T, label=case_label(case), **style)
        axes.set(
            title=label_of(objective) + interval_coverage(pairs, objective),
            xlabel=f"estimated {objective_named(objective).axis_label}",
            ylabel="measured",
        )
        both = pairs[[f"estimated_{objective}", f"measured_{objective}"]].to_numpy(dtype=float)
        if both.min() > 0 and both.max() > 8 * both.min():
            _log(axes, "both")
        ends = [both.min(), both.max()]
        axes.plot(ends, ends, color="black", linewidth=0.8, linestyle="--", label="estimated = measured")
    shared_legend(figure)
    return figure


def interval_coverage(pairs: pd.DataFrame, objective: str) -> str:
    """State how many measured values lie in their estimate's interval, if there are intervals."""
    if f"estimated_{objective}_low" not in pairs:
        return ""
    known = pairs.dropna(subset=[f"estimated_{objective}_low"])
    measured, name = known[f"measured_{objective}"], f"estimated_{objective}"
    inside = measured.between(known[f"{name}_low"], known[f"{name}_high"]).sum()
    return f": {inside} of {len(known)} in their 90 % interval" if len(known) else ""


def _draw_intervals(axes: Any, points: pd.DataFrame, x: str, y: str, *across: str) -> None:
    """Draw the 90 % intervals of the estimates along the named axes."""
    for axis, name in (("x", x), ("y", y)):
        if axis not in across or f"{name}_low" not in points:
            continue
        known = points.dropna(subset=[f"{name}_low", f"{name}_high"])
        ends = [known[name] - known[f"{name}_low"], known[f"{name}_high"] - known[name]]
        if len(known):
            axes.errorbar(known[x], known[y], **{f"{axis}err": ends}, **_INTERVAL)


def _objectives_with_pairs(evidence: Evidence) -> list[str]:
    """Return the objectives with both an estimate and a measurement for some confirmed point."""
    table = estimates_table(evidence)
    return [
        each
        for each in evidence.study.objective_names
        if table[[f"estimated_{each}", f"measured_{each}"]].notna().all(axis=1).any()
    ]


def _mean_and_its_spread(evidence: Evidence) -> Figure:
    y, x = evidence.study.declaration.steadiness or ("", "")
    figure, of_cases = panels(_cases_with(evidence, x))
    for case, axes in of_cases.items():
        measured, confirmed = _of_case(evidence, case)
        for frame, style in ((measured, _DESIGN), (confirmed[~confirmed.is_baseline], _CONFIRMED)):
            axes.scatter(frame[x], frame[y], **style)
        own = confirmed[confirmed.is_baseline]
        axes.scatter(own[x], own[y], **_BASELINE)
        r1 = confirmed[confirmed.configuration_id == evidence.r1_id(case)]
        axes.scatter(r1[x], r1[y], **_PICK, label=f"R1: most {label_of(y)} per CV")
        _name_axes(axes, case, x, y)
    shared_legend(figure)
    return figure


def _two_objectives(evidence: Evidence) -> Figure:
    figure, of_cases = panels(evidence.study.cases)
    x, y = evidence.study.declaration.plane
    for case, axes in of_cases.items():
        measured, confirmed = _of_case(evidence, case)
        front = evidence.fronts[case]
        front = front[front.on_joint_front]
        axes.scatter(measured[x], measured[y], **_DESIGN)
        _draw_intervals(axes, front, f"estimated_{x}", f"estimated_{y}", "x", "y")
        axes.scatter(front[f"estimated_{x}"], front[f"estimated_{y}"], facecolors="none", **_ESTIMATED)
        others = confirmed[~confirmed.is_baseline]
        axes.scatter(others[x], others[y], **_CONFIRMED)
        _draw_measured_front(axes, others, x, y)
        own = confirmed[confirmed.is_baseline]
        axes.scatter(own[x], own[y], **_BASELINE)
        chosen = confirmed[confirmed.configuration_id == evidence.decision(case).pick_configuration_id]
        axes.scatter(chosen[x], chosen[y], **_PICK, label="pick")
        _log(axes, "y")
        _name_axes(axes, case, x, y)
    shared_legend(figure)
    return figure


def _cases_with(evidence: Evidence, objective: str) -> list[str]:
    """Return the cases with a value of the objective; a CV over a few repetitions has none."""
    return [case for case in evidence.study.cases if any(t[objective].notna().any() for t in _of_case(evidence, case))]


def _of_case(evidence: Evidence, case: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    measured, confirmed = evidence.trials, evidence.confirmed
    return (measured[(measured.case == case) & ~measured.is_baseline], confirmed[confirmed.case == case])


def _name_axes(axes: Any, case: str, x: str, y: str) -> None:
    axes.set(title=case_label(case), xlabel=objective_named(x).axis_label, ylabel=objective_named(y).axis_label)


def _draw_measured_front(axes: Any, confirmed: pd.DataFrame, x: str, y: str) -> None:
    known = confirmed.dropna(subset=[x, y])
    losses = np.column_stack([-known[each] if is_maximised(each) else known[each] for each in (x, y)])
    front = known[non_dominated(losses)].sort_values(x, kind="stable")
    # Steps, because a straight line would suggest unmeasured points in between.
    axes.step(front[x], front[y], where="pre", color="#D55E00", linewidth=1.4, label="measured front")


def panels(cases: Sequence[str]) -> tuple[Figure, dict[str, Any]]:
    """Return a figure with one pair of axes per case."""
    columns = min(len(cases), 3)
    rows = -(-len(cases) // columns)
    figure = Figure(figsize=(max(3.6 * columns, 6.0), 3.3 * rows + 0.5), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[len(cases) :]:
        spare.remove()
    return figure, dict(zip(cases, axes, strict=False))


def shared_legend(figure: Figure) -> None:
    """Place one legend below all axes, with each label once."""
    entries = [zip(*axes.get_legend_handles_labels(), strict=True) for axes in figure.axes]
    handles = {label: handle for of_axes in entries for handle, label in of_axes}
    columns = max(2, int(figure.get_figwidth() / _LEGEND_ENTRY_INCHES))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(6, columns))


def _log(axes: Any, which: str) -> None:
    for name in ("x", "y") if which == "both" else (which,):
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def say(axes: Any, text: str) -> None:
    """Write into empty axes why they are empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#666666")


def png(figure: Figure) -> bytes:
    """Render the figure."""
    content = io.BytesIO()
    # No date and software version: equal data give equal bytes.
    figure.savefig(content, format="png", dpi=130, metadata={"Software": None})
    return content.getvalue()
