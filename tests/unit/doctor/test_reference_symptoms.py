"""Symptoms at a comparison's reference, and the part that measured the fix."""

from __future__ import annotations

import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.doctor.reference_symptoms import symptom_texts
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES
from tests.unit.made_parts import made_repetition, planned

pytestmark = pytest.mark.fast

WAITED = {
    "buffer_wait_fraction": 0.6,
    "batch_size_avg_bytes": 16_000.0,
    "throughput_mib_s": 10.0,
    "limited_by": "cpu",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Compare:
    """Return `impact_quick` with the smaller of its batches as the reference."""
    file = tmp_path_factory.mktemp("studies") / "impact_quick.yaml"
    text = (STUDIES / "impact_quick.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("  batch.size: 1048576\n", "  batch.size: 16384\n"), encoding="utf-8")
    return compare_study(load_study(file))


def repetition_of(study: Compare, case: str, **changes: object) -> Repetition:
    """Return a repetition of the part's reference in which the sender waited for full batches."""
    (level,) = planned([study.baseline_configuration(case)], reference=0)
    repetition = made_repetition(level, 0, {})
    return repetition.model_copy(update={"case": case, "quantities": WAITED, **changes})


def test_a_cause_names_the_part_that_measured_its_setting_and_no_other(study: Compare):
    (waited,) = symptom_texts(study, [repetition_of(study, "acks")])
    assert waited.text.startswith("Throughput plateau: send() was blocked 60 %")
    assert waited.text.endswith("if a larger value helps, it is the first, otherwise the second.")
    assert [(cause.text.rpartition(": ")[2], cause.part) for cause in waited.causes] == [
        ("raise batch.size.", "grid"),
        ("reduce the load or add brokers.", ""),
    ]


def test_dropped_records_are_seen_though_they_fail_their_repetition(study: Compare):
    dropped = repetition_of(study, "acks", outcome="failed", quantities={**WAITED, "buffer_exhausted_records": 12.0})
    (full,) = symptom_texts(study, [dropped])
    assert [cause.text for cause in full.causes] == ["12 records were dropped after max.block.ms: raise max.block.ms."]


def test_repetitions_that_do_not_count_or_are_of_other_levels_show_nothing(study: Compare):
    spoiled = repetition_of(study, "acks", outcome="failed")
    other = repetition_of(study, "acks", configuration_id="c0000000000")
    assert symptom_texts(study, [spoiled, other]) == []
