from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.hypervolume import REFERENCE, measured_hypervolume, relative_losses, volume
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.study.study import Study
from tests.recorded import changed, paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

LN2 = float(np.log(2))


def trials(study: Study) -> pd.DataFrame:
    of_study = summarise_trials(recorded_repetitions(("8192",), configurations=4, blocks=3), study)
    rows = pd.concat([of_study[of_study.is_baseline], of_study[~of_study.is_baseline & of_study.feasible].head(2)])
    return rows.assign(p95_latency_ms=100.0, throughput_mib_s=10.0, durability="acks_all_idempotent").reset_index(
        drop=True
    )


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([[0.0, 0.0]], REFERENCE**2),
        ([[-1.0, 0.0], [0.0, -1.0]], 2 * (1 + REFERENCE) * REFERENCE - REFERENCE**2),
        ([[0.0, 0.0, 0.0]], REFERENCE**3),
        ([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]], 2 * (1 + REFERENCE) * REFERENCE**2 - REFERENCE**3),
        ([[REFERENCE, -9.0]], 0.0),
        (np.empty((0, 2)), 0.0),
        ([[np.inf, -9.0], [0.0, 0.0]], REFERENCE**2),
    ],
)
def test_the_volume_of_points_is_that_of_their_boxes(losses: np.typing.ArrayLike, expected: float) -> None:
    assert volume(np.array(losses)) == pytest.approx(expected)


def test_a_halved_latency_and_a_doubled_throughput_count_as_logs_relative_to_the_baseline() -> None:
    study = paper_study()
    rows = trials(study)
    assert measured_hypervolume(rows, study) == pytest.approx(LN2**2)

    rows.loc[1, "p95_latency_ms"] = 50.0
    rows.loc[1, "throughput_mib_s"] = 20.0
    assert measured_hypervolume(rows, study) == pytest.approx((2 * LN2) ** 2)
    losses = relative_losses(rows, study, ["p95_latency_ms", "throughput_mib_s"])
    assert losses is not None
    assert losses[1] == pytest.approx([-LN2, -LN2])


@pytest.mark.parametrize(
    "change",
    [
        {"feasible": False},
        {"durability": "acks_0"},
        {"repetitions_lost_records": 1},
        {"repetitions_valid": 0},
        {"p95_latency_ms": 101.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_trials_that_may_not_be_recommended_add_no_volume(change: dict[str, object]) -> None:
    study = changed(paper_study(), limits=["p95_latency_ms <= 100"], durability=None)
    rows = trials(study)
    rows.loc[1, ["p95_latency_ms", "throughput_mib_s"]] = [50.0, 20.0]
    assert measured_hypervolume(rows, study) > LN2**2
    for name, value in change.items():
        rows.loc[1, name] = value
    assert measured_hypervolume(rows, study) == pytest.approx(LN2**2)


def test_without_a_trial_within_limits_or_a_measured_baseline_there_is_no_volume() -> None:
    limited, study = changed(paper_study(), limits=["p95_latency_ms <= 60"]), paper_study()
    rows = trials(study)
    assert measured_hypervolume(trials(limited), limited) == 0.0
    assert measured_hypervolume(rows[~rows.is_baseline], study) == 0.0
    assert relative_losses(rows.assign(latency_cv=np.nan), study, ["latency_cv"]) is None
