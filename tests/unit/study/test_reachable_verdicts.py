"""Computes which verdicts every shipped study can reach, by its own rules from made repetitions.

A study whose blocks, levels of significance and number of comparisons allow no answer wastes its user's hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.runnable_study import load_runnable_study
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide, further_blocks
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import StudyError
from kafka_pareto.steps.compare import compared_part
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.parts import Series
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune
from tests.recorded import STUDIES, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

SHIPPED = [load_study(path) for path in sorted(STUDIES.glob("*.yaml"))]
TUNING = [study for study in SHIPPED if isinstance(study, Tune)]
PARTS = [(study, case) for study in SHIPPED if isinstance(study, Compare) for case in study.cases]
RECORDED = recorded_repetitions(configurations=0, blocks=1)[0]
SPREAD = 0.05
"""The standard deviation of a repetition's logarithm."""


def made(
    study: Study,
    case: str,
    configuration: Configuration,
    block: int,
    rng: np.random.Generator,
    *,
    phase: Phase = "design",
    factors: Mapping[str, float],
) -> Repetition:
    """Return a repetition whose quantities are 100 times their factor (1 where none is given), with some spread."""
    quantities = study.declaration.quantities
    numbers = {
        each.name: 100.0 * factors.get(each.name, 1.0) * float(np.exp(rng.normal(0, SPREAD)))
        for each in quantities
        if each.type is float
    }
    name = configuration_id(configuration)
    values = {
        "repetition_id": f"{phase}-r00-{case}-b{block:03d}-{name}",
        "phase": phase,
        "case": case,
        "configuration_id": name,
        "is_baseline": configuration == study.baseline_configuration(case if isinstance(study, Compare) else ""),
        "configuration": dict(configuration),
        "block": block,
        "quantities": {each.name: numbers.get(each.name, "" if each.type is str else None) for each in quantities},
    }
    return RECORDED.model_copy(update=values)


def decided(study: Tune, times_better: float) -> Decision:
    """Confirms a pick that is so many times better in every mean, as the step `confirm` does: in the first case."""
    rng, case, confirmation = np.random.default_rng(study.seed), study.cases[0], study.confirmation
    baseline = study.baseline_configuration()
    name, factor = next((name, each) for name, each in study.factors.items() if each.type == "integer")
    pick = {**baseline, name: next(each for each in factor.extremes() if each != baseline[name])}
    means = [objective_named(each).quantity for each in study.means]
    gained = {each.name: times_better if each.maximised else 1 / times_better for each in means}
    table = pd.DataFrame([{"configuration_id": configuration_id(pick), **pick}])
    choice = Choice(configuration_id=configuration_id(pick), chosen_by=confirmation.choose_by)
    gain: list[Repetition] = []
    final: list[Repetition] = []

    def decision() -> Decision:
        return decide(study, case, choice, table, choice_repetitions=[], gain_repetitions=gain, final_repetitions=final)

    def measure(phase: Phase, block: int) -> list[Repetition]:
        sides: list[tuple[Configuration, Mapping[str, float]]] = [(baseline, {}), (pick, gained)]
        return [made(study, case, each, block, rng, phase=phase, factors=factors) for each, factors in sides]

    for block in range(confirmation.gain_blocks):
        gain += measure("gain", block)
        if confirmation.is_sequential and decision().is_answered:
            break
    while blocks := further_blocks(decision(), len(final) // 2, confirmation):
        for _ in range(blocks):
            final += measure("final", confirmation.gain_blocks + len(final) // 2)
    return decision()


@pytest.mark.parametrize("study", TUNING, ids=lambda study: study.name)
def test_every_tuning_study_can_recommend_a_change_and_refuse_one_that_harms_or_makes_no_difference(
    study: Tune,
) -> None:
    verdicts = [decided(study, times_better).verdict for times_better in (2.0, 0.5, 1.0)]
    assert verdicts == ["recommended", "keep_harmed", "keep_no_gain"]


def compared(study: Compare, case: str, times: float) -> PartComparison:
    """Compares a part whose levels have this multiple of the reference's quantities."""
    rng, part, reference = np.random.default_rng(study.seed), study.part(case), study.baseline_configuration(case)
    varied = [part.factor] if isinstance(part, Series) else list(reference)  # a series has a reference at each point
    everything = {each.name: times for each in study.declaration.quantities}
    repetitions = [
        made(study, case, level, block, rng, factors={} if is_reference else everything)
        for block in range(study.protocol.repetitions)
        for level in study.levels_of(case)
        for is_reference in [all(level[name] == reference[name] for name in varied)]
    ]
    return compared_part(study, case, repetitions)


@pytest.mark.parametrize(("study", "case"), PARTS, ids=lambda each: each if isinstance(each, str) else each.name)
def test_every_part_of_a_comparison_can_show_a_difference_in_each_compared_quantity(study: Compare, case: str) -> None:
    """In those that differ fourfold: many levels and quantities share the level of 5 %."""
    part = compared(study, case, times=4.0)
    unshown = {
        (level.values[part.factors[0]], quantity)
        for level in part.levels
        for quantity in part.compared
        if not level.is_reference and not (level.estimates[quantity].p_value_holm or 1.0) < SIGNIFICANCE
    }
    assert unshown == set()


@pytest.mark.parametrize(
    ("blocks", "rule"),
    [
        (2, "must be at least minimum_blocks, 3; fewer blocks never lead to a recommendation"),
        (
            4,
            "must be at least 5 to compare 4 objectives at 5 record sizes; fewer give no interval and never lead "
            "to a recommendation",
        ),
    ],
)
def test_a_study_that_could_recommend_nothing_is_refused_by_its_file(tmp_path: Path, blocks: int, rule: str) -> None:
    text = (STUDIES / "quick.yaml").read_text(encoding="utf-8")
    (tmp_path / "quick.yaml").write_text(text.replace("gain_blocks: 12", f"gain_blocks: {blocks}"))
    with pytest.raises(StudyError) as refused:
        load_runnable_study(tmp_path, "quick")
    assert str(refused.value) == f"{tmp_path / 'quick.yaml'}: confirmation.gain_blocks: {blocks}: {rule}"
    (tmp_path / "quick.yaml").write_text(text.replace("gain_blocks: 12", "gain_blocks: 5"))
    assert load_runnable_study(tmp_path, "quick").name == "quick"


@pytest.mark.parametrize("name", sorted(path.stem for path in STUDIES.glob("*.yaml")))
def test_every_shipped_study_may_run(name: str) -> None:
    assert load_runnable_study(STUDIES, name).name == name
