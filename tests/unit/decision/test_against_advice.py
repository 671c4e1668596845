from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.sequential import half_width
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.against_advice import AgainstAdvice, Standing
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import (
    advice_is_preferable,
    advice_may_replace,
    beside_advice,
    decide,
    more_beside_advice,
)
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.reasons import harm_sentences, headline_of, reason_of
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.sections import Confirmation
from kafka_pareto.study.tune import tune_study
from tests.unit.deciding import CASE, FAST, OTHER, around, baseline, candidates, repetitions, study_of
from tests.unit.made_gains import made_gain

pytestmark = [pytest.mark.fast, pytest.mark.slow]

SEQUENTIAL = Confirmation(points=3, choice_blocks=2, gain_blocks=12, minimum_blocks=3, stopping="sequential")
STUDY = tune_study(study_of(stopping="sequential", minimum_blocks=3))


def against(*gains: Gain) -> AgainstAdvice:
    return AgainstAdvice(
        configuration_id=configuration_id(OTHER),
        titles=["A guide"],
        configuration=dict(OTHER),
        properties=dict(OTHER),
        gains=list(gains),
    )


def p95(low: float | None, high: float | None, change: float | None = 0.0) -> Gain:
    return made_gain(low, high, change, objective="p95_latency_ms")


@pytest.mark.parametrize(
    ("gains", "standing"),
    [
        ([], "not worse"),
        ([p95(-0.3, 0.1), made_gain(-0.1, 0.2)], "not worse"),
        ([p95(0.01, 0.09), made_gain(0.01, 0.2)], "not worse"),
        ([p95(-0.3, 0.11), made_gain(-0.1, 0.2)], "open"),
        ([p95(-0.3, 0.1), made_gain(-0.11, 0.2)], "open"),
        ([p95(None, None, None), made_gain(None, None, None)], "open"),
        ([p95(None, None, 0.0), made_gain(None, None, 0.0)], "open"),
        ([p95(0.01, 0.2), made_gain(-0.2, 0.2)], "worse"),
        ([p95(-0.3, 0.2), made_gain(-0.3, -0.2)], "worse"),
        ([p95(0.01, 0.2), made_gain(0.01, 0.2)], "trade-off"),
        ([p95(-0.3, -0.1), made_gain(-0.2, 0.2)], "trade-off"),
    ],
)
def test_the_standing_follows_from_the_intervals_of_all_means(gains: Sequence[Gain], standing: Standing) -> None:
    advice = against(*gains)
    assert advice.standing(0.1) == standing
    assert advice.may_be_worse(0.1) == (standing in ("open", "worse"))


def measured_gain(change: float, sd: float, blocks: int, objective: str = "p95_latency_ms") -> Gain:
    """A gain whose interval is that of so many blocks with this standard deviation of a log-ratio."""
    off = sd * float(half_width(blocks, 0.005))
    low, high = (math.expm1(math.log1p(change) + each) for each in (-off, off))
    gain = made_gain(low, high, change, objective=objective)  # type: ignore[arg-type]
    return gain.model_copy(update={"confidence": 0.995, "candidate_repetition_ids": [str(n) for n in range(blocks)]})


def test_blocks_follow_only_where_they_are_likely_enough_to_close_the_question() -> None:
    throughput = measured_gain(0.0, 0.02, 9, "throughput_mib_s")
    assert against(measured_gain(-0.1, 0.15, 9), throughput).may_close(0.1, 5)
    assert not against(measured_gain(-0.1, 0.15, 9), throughput).may_close(0.1, 0)
    assert not against(measured_gain(0.0, 0.3, 9), throughput).may_close(0.1, 9)
    assert against(measured_gain(0.0, 0.3, 9), throughput).may_close(0.1, 900)
    # One mean that cannot be settled is enough, unless another may become better.
    wide = measured_gain(0.0, 0.6, 9, "throughput_mib_s")
    assert not against(measured_gain(-0.05, 0.15, 9), wide).may_close(0.1, 9)
    assert against(measured_gain(-0.15, 0.15, 9), wide).may_close(0.1, 9)


def test_none_follow_for_a_pick_that_is_not_open() -> None:
    assert not against(p95(-0.3, 0.1), made_gain(-0.1, 0.2)).may_close(0.1, 99)
    assert not against(p95(0.01, 0.2), made_gain(-0.2, 0.2)).may_close(0.1, 99)
    assert against(p95(None, None, None), made_gain(None, None, None)).may_close(0.1, 99)


def decided(configuration: dict, p95_ms: float, throughput: float, blocks: int = 10) -> Decision:
    values = around(p95_ms, seed=4, blocks=blocks), around(throughput, seed=5, blocks=blocks)
    found: list[Repetition] = [*baseline(blocks=blocks), *repetitions(configuration, *values)]
    choice = Choice(configuration_id=configuration_id(configuration), chosen_by="balanced_gain")
    return decide(STUDY, CASE, choice, candidates(FAST, OTHER), choice_repetitions=[], gain_repetitions=found)


PICK = decided(FAST, 50, 40)


def test_a_recommended_pick_needs_approval_if_it_may_be_worse_than_advice_that_cannot_replace_it() -> None:
    assert PICK.verdict == "recommended"
    advice = against(p95(-0.3, 0.2), made_gain(-0.05, 0.2))
    asked = beside_advice(PICK, advice)
    assert (asked.verdict, asked.recommended_configuration_id) == ("ask_a_person", PICK.baseline_configuration_id)
    assert [gain.objective for gain in asked.losses_to_advice] == ["p95_latency_ms"]
    assert headline_of(asked) == "APPROVAL REQUIRED: better, but published advice may be better"
    assert harm_sentences(asked).endswith(
        "p95 latency could be up to 20 % worse than with the best advice (A guide); the study tolerates 10 %."
    )
    assert harm_sentences(asked) in reason_of(asked)


def test_a_pick_that_is_not_worse_or_better_in_a_mean_needs_none() -> None:
    for gains in ([p95(-0.3, 0.1), made_gain(-0.1, 0.2)], [p95(-0.3, -0.1), made_gain(-0.2, 0.2)]):
        assert beside_advice(PICK, against(*gains)).verdict == "recommended"
    replaced = against(p95(0.1, 0.3), made_gain(-0.1, 0.2)).model_copy(update={"in_place_of": dict(FAST)})
    assert beside_advice(PICK, replaced).verdict == "recommended"


def test_advice_replaces_a_pick_on_no_weaker_terms_than_the_picks() -> None:
    doubtful, useless = decided(OTHER, 50, 40, blocks=4), decided(OTHER, 100, 20)
    asked = PICK.model_copy(update={"verdict": "ask_a_person"})
    doubtful = doubtful.model_copy(update={"verdict": "ask_a_person"})
    assert useless.verdict == "keep_no_gain"
    assert advice_may_replace(PICK, PICK)
    assert advice_may_replace(PICK, useless)
    assert advice_may_replace(doubtful, asked)
    assert advice_may_replace(doubtful, useless)
    assert not advice_may_replace(doubtful, PICK)
    assert not advice_may_replace(useless, PICK)
    assert not advice_may_replace(useless, useless)


def test_advice_is_preferred_to_a_pick_that_is_not_offered_or_may_be_worse() -> None:
    equal, doubt = against(p95(-0.05, 0.05), made_gain(-0.05, 0.05)), against(p95(-0.3, 0.2), made_gain(-0.3, 0.2))
    useless = decided(FAST, 100, 20)
    assert not advice_is_preferable(PICK, equal)
    assert advice_is_preferable(PICK, doubt)
    assert advice_is_preferable(useless, equal)


def test_blocks_beside_advice_use_up_the_gain_blocks_and_at_most_double_the_blocks() -> None:
    assert more_beside_advice(PICK, 5, 9, SEQUENTIAL) == 7
    assert more_beside_advice(PICK, 3, 5, SEQUENTIAL) == 5
    assert more_beside_advice(PICK, 12, 16, SEQUENTIAL) == 0
    assert more_beside_advice(decided(FAST, 100, 20), 5, 9, SEQUENTIAL) == 0
    fixed = SEQUENTIAL.model_copy(update={"stopping": "fixed"})
    assert more_beside_advice(PICK, 5, 9, fixed) == 0


def test_a_decision_stored_by_an_earlier_release_is_read_as_it_was_decided() -> None:
    stored = beside_advice(PICK, against(p95(-0.3, 0.2), made_gain(-0.05, 0.2))).model_copy(
        update={"verdict": "recommended", "recommended_configuration_id": PICK.pick_configuration_id}
    )
    read = Decision.model_validate_json(stored.model_dump_json())
    assert read == stored
    assert read.recommended
