from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.cards import WIDTH, Cards, cards_text, properties_text
from kafka_pareto.decision import Decision, decide
from kafka_pareto.factors import configuration_id
from kafka_pareto.producer_properties import parse_properties
from kafka_pareto.study import Study
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

SIZE = 65636


@pytest.fixture(scope="module")
def study() -> Study:
    return paper_study()


def recorded_decision(study: Study, acks: str, record_size_bytes: int = SIZE, blocks: int = 10) -> Decision:
    """The recorded baseline against the first recorded configuration with these acks."""
    recorded = recorded_repetitions((record_size_bytes,), blocks=blocks, phase="gain")
    pick = next(r for r in recorded if r.configuration["acks"] == acks and not r.is_baseline)
    row = {"configuration_id": pick.configuration_id, "durability_accepted": True, "feasible": True}
    return decide(
        study,
        record_size_bytes,
        pick.configuration_id,
        pd.DataFrame([{**row, **pick.configuration}]),
        choice_repetitions=[],
        gain_repetitions=recorded,
        rng=np.random.default_rng(1),
    )


def text_of(*decisions: Decision) -> str:
    return cards_text(Cards(study="paper", campaign="20261121-recorded", cards=list(decisions)))


def test_cards_are_plain_ascii_within_a_hundred_columns(study: Study):
    text = text_of(*(recorded_decision(study, acks, size) for acks in ("0", "1", "all") for size in (1024, SIZE)))
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_card_states_both_values_the_change_and_its_interval_for_every_objective(study: Study):
    decision = recorded_decision(study, "all")
    lines = text_of(decision).splitlines()
    assert len(decision.gains) == 4
    for gain, label in zip(
        decision.gains, ("p95 latency", "throughput", "CV of p95 latency", "CV of throughput"), strict=True
    ):
        (line,) = [line for line in lines if line.startswith(f"  {label}  ")]
        assert gain.baseline_value is not None
        assert gain.change_fraction is not None
        decimals = 3 if label.startswith("CV") else 1
        assert f"{gain.baseline_value:.{decimals}f}" in line
        assert " to " in line
        assert gain.resolution in line


def test_a_weaker_durability_is_warned_of_loudly(study: Study):
    assert "WARNING" not in text_of(recorded_decision(study, "all"))
    weaker = text_of(recorded_decision(study, "0"))
    assert "WARNING" in weaker
    assert "LESS durability" in weaker
    assert "durability: acks_0 instead of acks_all_idempotent" in weaker


def test_failed_repetitions_and_another_criterion_than_the_studys_are_said(study: Study):
    decision = recorded_decision(study, "all")
    assert "failed in" not in text_of(decision)
    failing = {"repetitions_failed": 3, "baseline_repetitions_failed": 1, "chosen_by": "balanced_gain"}
    text = " ".join(text_of(decision.model_copy(update=failing)).split())
    assert "the pick failed in 3 repetition(s)" in text
    assert "the settings in use failed in 1 repetition(s)" in text
    assert "the choice went by the balanced gain (throughput and p95 latency), not by R1" in text


def test_the_exemption_of_the_baseline_is_said(study: Study):
    assert "constraint batch.size >= record.size" in " ".join(text_of(recorded_decision(study, "all")).split())
    assert "constraint" not in text_of(recorded_decision(study, "all", 1024))


def test_too_few_blocks_say_not_enough_evidence_and_keep_the_settings(study: Study):
    decision = recorded_decision(study, "all", blocks=2)
    text = text_of(decision)
    assert "KEEP YOUR SETTINGS: not enough evidence" in text
    assert "tentative only" in text
    assert "unknown: not enough evidence" in text
    assert "nothing was shown to be worse" not in text
    assert parse_properties(properties_text(decision, "quick", "c", "2026-11-21"))["batch.size"] == "16384"


def test_the_properties_file_reads_back_as_the_recommended_settings(study: Study):
    decision = recorded_decision(study, "all").model_copy(update={"verdict": "recommended"})
    text = properties_text(decision, "paper", "20261121-recorded", "2026-11-21")
    expected = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (decision.tentative_properties or {}).items()
    }
    assert parse_properties(text) == expected
    assert "campaign 20261121-recorded" in text
    assert "2026-11-21" in text


def test_no_text_can_smuggle_a_setting_into_the_properties_file(study: Study):
    decision = recorded_decision(study, "all").model_copy(update={"reasons": ["fine\nacks=0"]})
    text = properties_text(decision, "paper\nacks=0", "c\racks=0", "2026-11-21")
    assert parse_properties(text)["acks"] == "all"
    assert not any(line.startswith("acks=0") for line in text.splitlines())


def test_the_first_and_last_repetition_behind_the_numbers_are_named(study: Study):
    decision = recorded_decision(study, "all")
    gain = decision.gains[0]
    text = text_of(decision)
    for ids in (gain.baseline_repetition_ids, gain.candidate_repetition_ids):
        assert ids[0] in text
        assert ids[-1] in text


def test_without_a_pick_the_card_shows_only_the_settings_in_use(study: Study):
    decision = decide(
        study,
        1024,
        study.baseline_id(),
        pd.DataFrame(columns=["configuration_id", "durability_accepted", "feasible"]),
        choice_repetitions=[],
        gain_repetitions=[],
        rng=np.random.default_rng(1),
    )
    text = text_of(decision)
    assert "in use (keep)" in text
    assert "Measured" not in text
    assert "Would cost" not in text
    assert decision.recommended_configuration_id == configuration_id(study.baseline_configuration())
