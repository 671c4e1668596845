from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import get_args

import pytest
from matplotlib.figure import Figure

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.records import Phase
from kafka_pareto.report.evidence import Evidence
from kafka_pareto.report.measured_case import BaselineValues
from kafka_pareto.report.measurement_figures import compared, draw_series, draw_spreads
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


def test_figure_7_shows_the_pick_in_all_of_its_fresh_blocks() -> None:
    phases = ("choice", "gain", "final", "final")
    recorded = [r for r in recorded_repetitions(("8192",), configurations=1, blocks=4) if not r.is_baseline]
    placed = [r.with_values({"phase": phase}) for r, phase in zip(recorded, phases, strict=True)]
    pick = recorded[0].configuration_id
    cards = SimpleNamespace(cards=[SimpleNamespace(case="8192", pick_configuration_id=pick)])
    nothing = dict.fromkeys(each.name for each in fields(Evidence))
    evidence = Evidence(**{**nothing, "repetitions": {"8192": placed}, "cards": cards})
    name, shown = compared(evidence, "8192")
    assert name == pick
    assert [r.phase for r in evidence.valid("8192", shown, pick)] == ["gain", "final", "final"]


def test_every_phase_of_the_baseline_has_its_own_marker() -> None:
    series = [BaselineValues(phase, phase, "", (1.0,)) for phase in get_args(Phase)]
    axes = Figure().subplots()
    draw_series(axes, series, [1.0] * len(series))
    assert {marks.get_label() for marks in axes.collections} == {f"{phase} blocks" for phase in get_args(Phase)}


def test_figure_7_says_where_there_are_too_few_repetitions_for_a_cv() -> None:
    few = recorded_repetitions(("8192",), configurations=0)[:3]
    axes = Figure().subplots()
    draw_spreads(
        axes, paper_study(), [(few, {"color": "black", "label": "baseline"}), ([], {"color": "red", "label": ""})]
    )
    assert [text.get_text() for text in axes.texts] == ["none"] * 4
