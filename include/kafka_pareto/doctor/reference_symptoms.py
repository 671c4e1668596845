"""Find symptoms at a comparison's reference, and the part that measured each cause's fix."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.remarks import CauseText, SymptomText
from kafka_pareto.doctor.diagnosis import cause_text, diagnoses, diagnosis_text
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.parts import Variants
from kafka_pareto.study.quantity import Value
from kafka_pareto.study.topic_study import TopicStudy

_EXHAUSTED = "buffer_exhausted_records"


def symptom_texts(study: Compare, repetitions: Sequence[Repetition]) -> list[SymptomText]:
    """Return the symptoms at the study's reference, one text per measurement; none if the study has no topic.

    The repetitions must have passed the gate, with any outcome. A part that fixes a setting has a different reference;
    its repetitions count only if no part has the study's reference.
    """
    if not isinstance(study, TopicStudy):
        return []
    plain = [case for case in study.cases if study.baseline_id(case) == study.baseline_id()]
    case = (plain or study.cases)[0]
    reference = study.baseline_id(case)
    measured: dict[str, list[Value]] = {}
    for each in repetitions:
        if each.configuration_id == reference:
            # A dropped record fails its repetition; then only the count of dropped records is used.
            counted = each.quantities if each.outcome == "valid" else {_EXHAUSTED: each.quantities.get(_EXHAUSTED)}
            for name, value in counted.items():
                measured.setdefault(name, []).append(value)
    settings = study.effective(study.baseline_configuration(case))
    settings["partitions"] = study.workload.topic_partitions
    return [
        SymptomText(
            diagnosis_text(diagnosis),
            [CauseText(cause_text(cause), _part_of(study, cause.factor)) for cause in diagnosis.causes],
        )
        for diagnosis in diagnoses(measured, settings)
    ]


def _part_of(study: Compare, factor: str) -> str:
    """Return the part that varies the factor, tables before grids; empty if none does."""
    return next((part.part for part in study.parts if not isinstance(part, Variants) and factor in part.factors), "")
