"""Today's rules on the repetitions of the kept comparison `impact` give the limits in docs/results/impact.md."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.kept_verdicts import verdicts_of
from benchmarks.on_cluster import DATA
from kafka_pareto.errors import BadInputError

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def test_two_full_cores_limit_all_levels_but_one_and_the_load_generator_limits_none() -> None:
    levels = verdicts_of(DATA / "campaigns" / "impact")
    assert Counter(each.verdict.code for each in levels) == {"cpu": 61, "buffer_memory": 1}
    (other,) = [each for each in levels if each.verdict.code != "cpu"]
    assert (other.part, other.values) == ("codec_of_zeros", {"compression.type": "none"})
    assert [each.part for each in levels if each.is_reference] == list(dict.fromkeys(each.part for each in levels))


def test_a_campaign_that_compares_no_producers_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"impact_consumer/study\.yaml: must be a comparison"):
        verdicts_of(DATA / "campaigns" / "impact_consumer")
