from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.report.card_context import card_context
from kafka_pareto.report.card_layout import card_parts, card_text
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.study.configuration_space import reachable_durabilities
from kafka_pareto.study.declarations import drivers
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study

pytestmark = pytest.mark.fast

KEPT = Path(__file__).parents[3] / "benchmarks" / "data" / "campaigns" / "log_pipeline_tuned"
PICK = "c0d71cf23f4"


@cache
def pipeline() -> tuple[Tune, tuple[Repetition, ...], Decision]:
    """Return study, fresh blocks and decision of a stored log pipeline campaign."""
    study = tune_study(load_study(KEPT / "study.yaml"))
    rows = pd.read_csv(KEPT / "repetitions.csv", keep_default_na=False, na_values=[""])
    gain = tuple(repetition_of(study, row) for row in rows[rows.phase == "gain"].to_dict("records"))
    candidates = pd.DataFrame([{"configuration_id": PICK, **configuration_of(gain, PICK)}])
    decision = decide(
        study,
        "pipeline",
        Choice(configuration_id=PICK, chosen_by=study.confirmation.choose_by),
        candidates,
        choice_repetitions=[],
        gain_repetitions=list(gain),
    )
    return study, gain, decision


def repetition_of(study: Tune, row: dict[str, object]) -> Repetition:
    known = {name: None if pd.isna(value) else value for name, value in row.items()}
    fields = {name: known[name] for name in Repetition.model_fields if name in known}
    quantities = {each.name: known.get(each.name) for each in study.declaration.quantities}
    return Repetition.model_validate(
        fields
        | {
            "repetition_id": f"gain-r00-pipeline-b{row['block']:03d}-{row['configuration_id']}",
            "configuration": {name: row[name] for name in study.factors},
            "quantities": quantities,
            "reason": "",
        }
    )


def configuration_of(repetitions: tuple[Repetition, ...], configuration_id: str) -> dict[str, object]:
    return dict(next(each.configuration for each in repetitions if each.configuration_id == configuration_id))


def pipeline_card() -> str:
    study, gain, decision = pipeline()
    context = card_context(
        study, decision, design=[], confirmation=gain, discarded=[], sizing=None, noise=None, noise_repetitions=[]
    )
    parts = card_parts(decision, context, "kept")
    text = card_text(decision, context, "kept")
    assert (dict(row[:2] for row in parts.settings).get("acks"), "Protocol" in parts.context) == ("1", False)
    return text


def test_a_log_pipelines_card_omits_unasked_questions() -> None:
    lines = [line.strip() for line in pipeline_card().splitlines()]

    for label in ("durability", "Limited by", "Protocol", "Noise", "Rounds"):
        assert not [line for line in lines if line.startswith(label)], label
    assert [line for line in lines if line.startswith("aggregator_acknowledges")]


def test_a_log_pipelines_report_promises_no_durability() -> None:
    study, _, decision = pipeline()
    gains = [each.model_copy(update={"resolution": "better"}) for each in decision.gains]
    changed = decision.model_copy(update={"verdict": "recommended", "gains": gains})

    text = " ".join(summary_sentences([changed], study.declaration))
    assert "durability" not in text
    assert "No regressions were found" in text


@pytest.mark.parametrize("driver", drivers().values(), ids=list(drivers()))
def test_a_driver_declares_what_limited_a_load_only_if_it_is_judged(driver) -> None:  # type: ignore[no-untyped-def]
    assert driver.has("limited_by") == (driver.name in ("producer", "librdkafka", "ingestion"))


def test_events_only_received_by_an_aggregator_are_named_and_follow_from_its_setting() -> None:
    study, _, _ = pipeline()
    asked = study.model_copy(
        update={
            "factors": {
                "aggregator_acknowledges": study.factors["log_lines"].model_copy(
                    update={"levels": ["kafka", "received"]}
                )
            },
            "baseline": {},
        }
    )

    assert study.weakest_durability() == Durability.received
    assert reachable_durabilities(study) == [Durability.received]
    assert reachable_durabilities(asked) == [Durability.received, Durability.acks_1]
    assert asked.weakest_durability() == Durability.acks_1
