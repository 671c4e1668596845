"""The calibration benchmark compares estimates with blocks and points that nothing was trained on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.calibration import Situation, judged, kept, of_designs, of_five_sizes, of_rounds
from benchmarks.strategies.table import answering_blocks, truth_blocks

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def keys(frame: pd.DataFrame) -> set[tuple[str, str]]:
    return {*zip(frame.case, frame.configuration_id, strict=True)}


@pytest.mark.parametrize("name", ["cold_burst", "steady"])
def test_a_kept_campaigns_points_are_those_that_it_confirmed_and_had_not_measured(name: str) -> None:
    found = kept(name)
    assert not keys(found.trials) & keys(found.points)
    assert not found.points.is_baseline.any()
    assert (found.points.repetitions_valid == found.blocks).all()
    assert set(found.points.case) == set(found.study.cases)


@pytest.mark.parametrize("situations", [lambda: of_rounds(31), lambda: of_designs(24), of_five_sizes])
def test_points_of_a_recording_are_a_front_of_configurations_and_blocks_that_were_not_trained_on(situations) -> None:  # type: ignore[no-untyped-def]
    found: Situation = next(situations())
    assert not keys(found.trials) & keys(found.points)
    trained = {each for ids in found.trials.repetition_ids for each in ids}
    later = {each for ids in found.points.repetition_ids for each in ids}
    assert not trained & later
    assert (found.points.repetitions_valid == found.blocks).all()


def test_grid_answers_never_come_from_held_out_blocks() -> None:
    assert not {*answering_blocks(3)} & {*truth_blocks(3)}
    trained = {name.split("-b")[1][:3] for ids in next(of_designs(24)).trials.repetition_ids for name in ids}
    held_out = {f"{block:03d}" for block in truth_blocks(0)}
    assert not trained & held_out


def test_every_method_gives_an_estimate_within_its_interval_to_every_point() -> None:
    situation = next(of_designs(24))
    found = judged(situation)
    assert set(found) == {"p95_latency_ms", "throughput_mib_s"}
    for by_method in found.values():
        assert {"trees", "process, stretched"} <= set(by_method)
        for measured, estimate, low, high in by_method.values():
            assert len(measured) == len(situation.points)
            assert np.isfinite([measured, estimate, low, high]).all()
            assert (low <= estimate).all()
            assert (estimate <= high).all()
