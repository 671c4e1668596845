from __future__ import annotations

import pytest

from tests.simulations.checks import CAMPAIGNS, CHANGES, Blocks, drifted, recorded_blocks

pytestmark = [pytest.mark.simulations, pytest.mark.studies]

CHECKS = 400


@pytest.fixture(scope="module", params=CAMPAIGNS)
def recorded(request: pytest.FixtureRequest) -> Blocks:
    return recorded_blocks(request.param)


def test_at_most_one_in_twenty_checks_of_an_unchanged_cluster_is_a_false_alarm(recorded: Blocks) -> None:
    assert drifted(recorded, CHANGES["unchanged"], CHECKS, 21) <= 1 / 20


@pytest.mark.parametrize(
    "change",
    # What a smaller change of the p95 latency is, these campaigns' own noise does not tell.
    ["throughput / 1.3 at all record sizes", "p95 latency x 3 at all record sizes"],
)
def test_a_large_change_against_the_baseline_is_found_by_four_of_five_checks(recorded: Blocks, change: str) -> None:
    assert drifted(recorded, CHANGES[change], CHECKS, 22) >= 0.8
