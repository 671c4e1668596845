"""Draw figures of a surrogate's quality as PNG bytes, without a display."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.declarations import feature_named, label_of
from kafka_pareto.study.objectives import ObjectiveName

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito: colour-blind safe
_MARKERS = ("o", "s", "^", "D", "v", "P")
_WIDTH_IN, _HEIGHT_IN, _DOTS_PER_INCH = 6.4, 4.8, 120


def estimated_vs_measured(
    objective: ObjectiveName, held_out: pd.DataFrame, estimates: np.ndarray, r2_held_out: float | None
) -> bytes:
    """Plot held-out trials: estimate against measurement, one marker per case."""
    figure, axes = _axes()
    measured = held_out[objective].to_numpy(dtype=float)
    for place, case in enumerate(in_order(held_out["case"].unique())):
        here = (held_out["case"] == case).to_numpy()
        colour, marker = _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)]
        axes.scatter(measured[here], estimates[here], s=28, color=colour, marker=marker, label=case_label(case))
    everything = np.concatenate([measured, estimates])
    limits = (everything.min(), everything.max())
    if limits[0] > 0 and limits[1] / limits[0] > 20:
        axes.set(xscale="log", yscale="log")
    axes.plot(limits, limits, color="#666666", linewidth=1, linestyle="--", label="estimated = measured")
    score = "not scored: too few trials" if r2_held_out is None else f"R² = {r2_held_out:.3f}"
    label = label_of(objective)
    axes.set(xlabel=f"measured {label}", ylabel=f"estimated {label}", title=f"Held-out configurations, {score}")
    axes.legend(title="case", frameon=False, fontsize="small")
    return _png(figure)


def learning_curve(objective: ObjectiveName, curve: pd.DataFrame) -> bytes:
    """Plot R² by the number of training configurations, on training and held-out folds."""
    figure, axes = _axes()
    count, held_out, spread = curve["configurations"], curve["r2_held_out"], curve["r2_held_out_sd"]
    axes.plot(count, curve["r2_train"], color=_COLOURS[1], marker="s", linestyle="--", label="training folds")
    axes.plot(count, held_out, color=_COLOURS[0], marker="o", label="held-out folds")
    axes.fill_between(count, held_out - spread, held_out + spread, color=_COLOURS[0], alpha=0.15, linewidth=0)
    lowest = float((held_out - spread).min())
    axes.set_ylim(max(-1.0, min(0.0, lowest)) - 0.05, 1.05)
    label = label_of(objective)
    axes.set(xlabel="training configurations", ylabel="R²", title=f"Learning curve, cross-validated: {label}")
    axes.legend(frameon=False)
    return _png(figure)


def feature_importance(objective: ObjectiveName, shares: pd.Series) -> bytes:
    """Plot each feature's share of the total gain, largest on top."""
    figure, axes = _axes()
    ordered = shares.sort_values(kind="stable")
    names = [found.label if (found := feature_named(name)) else name for name in ordered.index]
    bars = axes.barh(names, ordered.to_numpy(), color=_COLOURS[0])
    axes.bar_label(bars, labels=[f"{share:.0%}" for share in ordered], padding=3)
    axes.set_xlim(0, max(float(ordered.max()), 0.01) * 1.12)
    axes.set(xlabel="share of the total gain", title=f"Feature importance: {label_of(objective)}")
    return _png(figure)


def _axes() -> tuple[Figure, mpl.axes.Axes]:
    figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    return figure, axes


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()
