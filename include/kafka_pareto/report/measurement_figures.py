"""Draw the report's figures on the measurement: variability, latency stages, stability of the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.sentinel import SentinelReport
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.report.evidence import Evidence
from kafka_pareto.report.figures import STYLE, panels, png, say, shared_legend
from kafka_pareto.report.latency_breakdown import ClientFigures
from kafka_pareto.report.measured_case import BaselineValues
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import label_of, objective_named
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

_PHASES: dict[Phase, tuple[str, str]] = {
    "noise": ("#009E73", "D"),
    "design": ("#9a9a9a", "o"),
    "choice": ("#0072B2", "^"),
    "gain": ("#D55E00", "s"),
    "final": ("#CC79A7", "v"),
}
_BASELINE_LINE: dict[str, Any] = {"color": "black", "marker": "s", "linestyle": "--", "label": "baseline"}
_PICK_LINE: dict[str, Any] = {"color": "#D55E00", "marker": "^", "label": "pick or R1"}


def draw_measurement_figures(evidence: Evidence) -> Mapping[str, bytes]:
    """Return file name to PNG; without a breakdown or rounds if the campaign has none."""
    with mpl.rc_context(STYLE):
        figures = {"fig7_baseline_and_pick_by_repetition.png": _by_repetition(evidence)}
        if any(context.breakdown for context in evidence.cards.contexts):
            figures["fig8_where_the_latency_goes.png"] = _breakdown(evidence)
        figures["fig9_baseline_over_the_campaign.png"] = _sentinel(evidence)
        if any(context.rounds for context in evidence.cards.contexts):
            figures["fig10_measured_hypervolume_by_round.png"] = _rounds(evidence)
        return figures


def _by_repetition(evidence: Evidence) -> bytes:
    cases = evidence.study.cases
    figure = Figure(figsize=(max(2.7 * len(cases), 5.5), 7.6), layout="constrained")
    grid = figure.subplots(3, len(cases), squeeze=False)
    shown = [objective_named(name) for name in evidence.study.declaration.plane]
    for (above, below, last), case in zip(grid.T, cases, strict=True):
        pick, phases = compared(evidence, case)
        above.set_title(f"{case_label(case)}\n{_compared_as(evidence, case)}")
        sides = [(evidence.study.baseline_id(), _BASELINE_LINE), *([(pick, _PICK_LINE)] if pick else [])]
        found = [(evidence.valid(case, phases, configuration), style) for configuration, style in sides]
        for repetitions, style in found:
            blocks = [r.block + 1 for r in repetitions]
            for axes, objective in zip((above, below), shown, strict=True):
                axes.plot(blocks, [r.number(objective.quantity.name) for r in repetitions], markersize=4, **style)
        for axes in (above, below):
            axes.margins(y=0.2)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("repetition (block)")
            axes.xaxis.get_major_locator().set_params(integer=True)
        draw_spreads(last, evidence.study, found)
    for row, objective in zip(grid, shown, strict=False):
        row[0].set_ylabel(objective.axis_label)
    grid[2][0].set_ylabel("CV")
    shared_legend(figure)
    return png(figure)


def draw_spreads(axes: Any, study: Tune, sides: Sequence[tuple[list[Repetition], dict[str, Any]]]) -> None:
    """Draw each side's CVs over its repetitions as bars with their values."""
    names = [name for name in study.objective_names if objective_named(name).spread_of]
    for at, (repetitions, style) in enumerate(sides):
        trials = summarise_trials(repetitions, study)
        values = [float(trials[name].iloc[0]) if len(trials) else float("nan") for name in names]
        places = np.arange(len(names)) + 0.4 * (at - 0.5)
        axes.bar(places, np.nan_to_num(values), 0.36, color=style["color"], label=style["label"])
        for place, value in zip(places, values, strict=True):
            text = f"{value:.2g}" if np.isfinite(value) else "none"
            axes.annotate(text, (place, np.nan_to_num(value)), (0, 2), textcoords="offset points", ha="center")
    axes.set_xticks(range(len(names)), [label_of(name) for name in names])
    axes.margins(y=0.15)
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="x")


def compared(evidence: Evidence, case: str) -> tuple[str | None, tuple[Phase, ...]]:
    """Return the pick and the phases of its fresh blocks, or R1 and the choice blocks without a pick."""
    pick = evidence.decision(case).pick_configuration_id
    return (pick, ("gain", "final")) if pick else (evidence.r1_id(case), ("choice",))


def _compared_as(evidence: Evidence, case: str) -> str:
    pick, phases = compared(evidence, case)
    if pick is None:
        return "nothing to compare"
    if "choice" in phases:
        return f"R1 {pick}\n(choice blocks)"
    return f"pick {pick}" + (" (R1)" if pick == evidence.r1_id(case) else "")


def _breakdown(evidence: Evidence) -> bytes:
    told = {case: found for case in evidence.study.cases if (found := evidence.context(case).breakdown)}
    figure, of_case = panels(list(told))
    for case, axes in of_case.items():
        axes.set_title(case_label(case))
        found = told[case]
        decision = evidence.decision(case)
        sides = {"active" if decision.in_force else "baseline": found.reference} | (
            {"pick": found.pick} if found.pick else {}
        )
        _stack(axes, list(sides.values()))
        axes.set_xticks(range(len(sides)), list(sides))
        axes.set(ylabel="mean time of a record [ms]", xlim=(-0.7, 1.7))
        axes.grid(visible=False, axis="x")
    shared_legend(figure)
    return png(figure)


def _stack(axes: Any, sides: Sequence[ClientFigures]) -> None:
    """Stack accumulator and request time, with their sum on top."""
    waiting_ms = np.array([side.queue_time_avg_ms or 0.0 for side in sides])
    request_ms = np.array([side.request_latency_avg_ms or 0.0 for side in sides])
    places = np.arange(len(sides))
    axes.bar(places, waiting_ms, 0.55, color="#E69F00", hatch="//", edgecolor="white", label="in the accumulator")
    axes.bar(places, request_ms, 0.55, bottom=waiting_ms, color="#0072B2", label="request")
    for place, total_ms in zip(places, waiting_ms + request_ms, strict=True):
        axes.annotate(f"{total_ms:.3g} ms", (place, total_ms), (0, 3), textcoords="offset points", ha="center")
    axes.margins(y=0.15)
    axes.set_axisbelow(True)


def _sentinel(evidence: Evidence) -> bytes:
    cases = evidence.study.cases
    figure = Figure(figsize=(max(2.7 * len(cases), 7.8), 5.4), layout="constrained")
    grid = figure.subplots(2, len(cases), squeeze=False, sharex="col")
    shown = evidence.study.declaration.plane
    for (above, below), case in zip(grid.T, cases, strict=True):
        above.set_title(case_label(case))
        series = sorted(evidence.measured[case].baseline, key=lambda each: each.started_at)
        for at, (axes, objective) in enumerate(zip((above, below), shown, strict=True)):
            draw_series(axes, series, [each.values[at] for each in series])
            _mark_change(axes, series, objective, evidence.context(case).sentinel)
        below.set_xlabel("repetition, in chronological order")
        below.xaxis.get_major_locator().set_params(integer=True)
    for row, objective in zip(grid, shown, strict=True):
        row[0].set_ylabel(objective_named(objective).axis_label)
    shared_legend(figure)
    return png(figure)


def draw_series(axes: Any, series: Sequence[BaselineValues], values: Sequence[float | None]) -> None:
    """Draw the baseline's values in chronological order, with a marker for each phase."""
    if not series:
        say(axes, "no valid repetition\nof the baseline")
    axes.plot(range(1, len(series) + 1), values, color="#cccccc", linewidth=0.8, zorder=1)
    for phase, (colour, marker) in _PHASES.items():
        places = [at for at, repetition in enumerate(series) if repetition.phase == phase]
        if places:
            of_phase = [values[at] for at in places]
            axes.scatter(
                [at + 1 for at in places], of_phase, color=colour, marker=marker, s=18, label=f"{phase} blocks"
            )
    axes.set_ylim(0, 1.08 * max((value or 0.0 for value in values), default=1.0))


def _mark_change(axes: Any, series: Sequence[BaselineValues], objective: ObjectiveName, report: SentinelReport) -> None:
    places = {repetition.repetition_id: at for at, repetition in enumerate(series, start=1)}
    for tested in report.series:
        if tested.objective == objective and tested.change_p_value_holm < SIGNIFICANCE:
            at = places[tested.change_repetition_id] - 0.5
            axes.axvline(at, color="black", linestyle="--", linewidth=1.2, label="change point")


def _rounds(evidence: Evidence) -> bytes:
    figure, of_case = panels(evidence.study.cases)
    for case, axes in of_case.items():
        axes.set_title(case_label(case))
        found = evidence.context(case).rounds
        volumes = found.measured_hypervolume if found else []
        axes.plot(range(len(volumes)), volumes, color="#0072B2", marker="o", label="measured hypervolume")
        axes.set(xlabel="round (0: the design)", ylabel="hypervolume over the baseline")
        axes.set_ylim(0, 1.08 * max(volumes, default=0.0) or 1.0)
        axes.xaxis.get_major_locator().set_params(integer=True)
    shared_legend(figure)
    return png(figure)
