from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.report.measurement_figures import draw_spreads
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast


def test_figure_7_shows_both_cvs_of_both_sides_with_their_values() -> None:
    study = paper_study()
    recorded = recorded_repetitions(("8192",), configurations=1)
    sides = [[r for r in recorded if r.is_baseline is own] for own in (True, False)]
    axes = Figure().subplots()
    styles = ({"color": "black", "label": "baseline"}, {"color": "red", "label": "pick"})
    draw_spreads(axes, study, list(zip(sides, styles, strict=True)))

    trials = [summarise_trials(side, study).iloc[0] for side in sides]
    wanted = [trial[name] for trial in trials for name in ("latency_cv", "throughput_cv")]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(wanted)
    assert [text.get_text() for text in axes.texts] == [f"{cv:.2g}" for cv in wanted]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["latency CV", "throughput CV"]


def test_figure_7_says_where_there_are_too_few_repetitions_for_a_cv() -> None:
    few = recorded_repetitions(("8192",), configurations=0)[:3]
    axes = Figure().subplots()
    draw_spreads(
        axes, paper_study(), [(few, {"color": "black", "label": "baseline"}), ([], {"color": "red", "label": ""})]
    )
    assert [text.get_text() for text in axes.texts] == ["none"] * 4
