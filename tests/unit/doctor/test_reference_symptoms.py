"""Finds symptoms at a comparison's reference, and the part that measured the setting that acts."""

from __future__ import annotations

import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.doctor.reference_symptoms import symptom_texts
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES
from tests.unit.made_parts import made_repetition, planned

pytestmark = pytest.mark.fast

WAITED = {"buffer_wait_fraction": 0.6, "batch_size_avg_bytes": 1_000_000.0, "throughput_mib_s": 10.0}


@pytest.fixture(scope="module")
def study() -> Compare:
    return compare_study(load_study(STUDIES / "impact_quick.yaml"))


def repetition_of(study: Compare, case: str, **changes: object) -> Repetition:
    """Returns a repetition of the part's reference in which the sender waited for full batches."""
    (level,) = planned([study.baseline_configuration(case)], reference=0)
    repetition = made_repetition(level, 0, {})
    return repetition.model_copy(update={"case": case, "quantities": WAITED, **changes})


def test_a_cause_names_the_part_that_measured_its_setting_and_no_other(study: Compare):
    (plateau, buffer) = symptom_texts(study, [repetition_of(study, "acks")])
    assert plateau.text.startswith("The sender waited for 60%")
    assert [(cause.text.rpartition(": ")[2], cause.part) for cause in plateau.causes] == [("raise batch.size.", "grid")]
    assert [cause.part for cause in buffer.causes] == [""]


def test_repetitions_that_do_not_count_or_are_of_other_levels_show_nothing(study: Compare):
    spoiled = repetition_of(study, "acks", outcome="failed")
    other = repetition_of(study, "acks", configuration_id="c0000000000")
    assert symptom_texts(study, [spoiled, other]) == []
