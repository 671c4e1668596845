"""A kept campaign's picks against the advice measured with them: their separation and their ratios."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.against_advice import log_ratios, pick_and_advice
from benchmarks.kept_campaign import KeptCampaign, read_kept
from benchmarks.on_cluster import DATA
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def kept() -> KeptCampaign:
    return read_kept(DATA / "campaigns" / "cold_burst_advice")


def test_the_pick_is_distinguished_from_the_advice_measured_with_it(kept: KeptCampaign) -> None:
    assert pick_and_advice(kept, "1024") == ("c7ef45291e9", "c40cf58fe7f")
    assert pick_and_advice(kept, "2000") is None  # the pick is advised itself


def test_ratios_are_within_blocks_of_the_pick_over_the_advice(kept: KeptCampaign) -> None:
    pair = ("c1522c51d88", "c40cf58fe7f")
    logs = log_ratios(kept, "65636", pair, "throughput_mib_s")
    assert len(logs) == 16
    rows = kept.repetitions.copy()
    is_pick = rows.configuration_id == pair[0]
    rows.loc[is_pick, "throughput_mib_s"] = rows.loc[is_pick, "throughput_mib_s"] * 2
    doubled = log_ratios(replace(kept, repetitions=rows), "65636", pair, "throughput_mib_s")
    assert doubled - logs == pytest.approx(np.full(16, np.log(2)))


def test_a_campaign_without_advice_is_refused(kept: KeptCampaign) -> None:
    without = kept.estimates.assign(chosen_as="best_throughput_mib_s")
    with pytest.raises(BadInputError, match="1024: no advice was measured with the pick"):
        pick_and_advice(replace(kept, estimates=without), "1024")
