from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, encode_table
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.study.objectives import Limit
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast


STUDY = paper_study()


@cache
def recorded() -> pd.DataFrame:
    return summarise_trials(recorded_repetitions(("8192",)), STUDY)


def front_from(trials: pd.DataFrame) -> pd.DataFrame:
    estimates = {f"estimated_{objective}": trials[objective] for objective in PRODUCER.objective_names}
    flags = {"durability_accepted": True, "on_joint_front": True, "limits_met_estimated": True, "feasible": True}
    return trials.assign(**flags, **estimates)


def test_the_best_of_each_objective_the_knee_and_r1_are_among_the_picked():
    front = front_from(recorded())
    picked = select_candidates(front, recorded(), STUDY, 12)
    others = front[~front.is_baseline]
    by_role = {role: row.configuration_id for row in picked.itertuples() for role in row.chosen_as}
    assert by_role["best_p95_latency_ms"] in set(
        others[others.p95_latency_ms == others.p95_latency_ms.min()].configuration_id
    )
    assert by_role["best_throughput_mib_s"] == others.loc[others.throughput_mib_s.idxmax()].configuration_id
    assert by_role["best_latency_cv"] == others.loc[others.latency_cv.idxmin()].configuration_id
    assert by_role["best_throughput_cv"] == others.loc[others.throughput_cv.idxmin()].configuration_id
    assert by_role["r1"] == others.loc[(others.throughput_mib_s / others.throughput_cv).idxmax()].configuration_id
    assert "knee" in by_role
    assert len(picked) == 12
    encode_table(picked, CANDIDATE_COLUMNS, STUDY)


def test_neither_the_baseline_nor_any_configuration_twice_is_picked():
    front = pd.concat([front_from(recorded())] * 2)
    picked = select_candidates(front, recorded(), STUDY, 100)
    assert STUDY.baseline_id() not in set(picked.configuration_id)
    assert picked.configuration_id.is_unique
    assert len(picked) == len(recorded()) - 1


def test_the_order_of_the_front_changes_nothing():
    front = front_from(recorded())
    shuffled = front.sample(frac=1.0, random_state=3)
    pd.testing.assert_frame_equal(
        select_candidates(front, recorded(), STUDY, 10), select_candidates(shuffled, recorded(), STUDY, 10)
    )


def test_with_few_points_throughput_and_latency_come_first():
    picked = select_candidates(front_from(recorded()), recorded(), STUDY, 2)
    assert len(picked) == 2
    assert {"best_p95_latency_ms", "best_throughput_mib_s"} <= set(picked.chosen_as.explode())


def test_points_of_a_line_are_picked_far_from_each_other():
    front = front_from(recorded()[~recorded().is_baseline].iloc[:11])
    along = np.linspace(0, 1, 11)
    front = front.sort_values("configuration_id").assign(
        estimated_p95_latency_ms=10 + along,
        estimated_throughput_mib_s=10 + along,
        estimated_latency_cv=np.nan,
        estimated_throughput_cv=np.nan,
    )
    picked = select_candidates(front, recorded().iloc[:0], STUDY, 3)
    assert sorted(picked.estimated_throughput_mib_s) == pytest.approx([10.0, 10.5, 11.0])


def test_only_feasible_points_of_the_joint_front_are_picked():
    front = front_from(recorded())
    front = front.assign(on_joint_front=front.acks != "0", feasible=front["batch.size"] >= 8192)
    picked = select_candidates(front, recorded().iloc[:0], STUDY, 100)
    assert len(picked)
    assert (picked.acks != "0").all()
    assert (picked["batch.size"] >= 8192).all()


def test_in_rounds_half_of_the_points_are_the_best_that_was_measured():
    in_rounds = STUDY.model_copy(update={"strategy": "rounds", "limits": [Limit.parse("p95_latency_ms <= 200")]})
    promised = recorded()[~recorded().is_baseline].head(6)
    picked = select_candidates(front_from(promised), recorded(), in_rounds, 8)
    measured = picked[picked.chosen_as.map(lambda roles: roles[0].startswith("measured"))]
    known = recorded().set_index("configuration_id")
    assert len(picked) == 8
    assert picked.configuration_id.is_unique
    assert list(measured.index[:4]) == [0, 1, 2, 3]
    assert (known.loc[measured.configuration_id].p95_latency_ms <= 200).all()
    of_front = picked[~picked.index.isin(measured.index)]
    assert set(of_front.configuration_id) <= set(promised.configuration_id)
    assert len(of_front) > 0


def test_objectives_without_a_model_are_excluded_from_the_roles():
    front = front_from(recorded()).assign(estimated_latency_cv=np.nan, estimated_throughput_cv=np.nan)
    roles = select_candidates(front, recorded(), STUDY, 6).chosen_as.explode()
    assert set(roles) == {"best_p95_latency_ms", "best_throughput_mib_s", "knee", "spread"}


def losses_by_hand(rows: pd.DataFrame) -> np.ndarray:
    columns = [rows.p95_latency_ms, -rows.throughput_mib_s, rows.latency_cv, rows.throughput_cv]
    return np.column_stack([(each - each.min()) / (each.max() - each.min()) for each in columns])


def test_the_knee_is_the_point_nearest_to_the_best_of_all_objectives():
    others = recorded()[~recorded().is_baseline]
    picked = select_candidates(front_from(recorded()), recorded(), STUDY, 12)
    [knee] = [row.configuration_id for row in picked.itertuples() if "knee" in row.chosen_as]
    assert knee == others.configuration_id.iloc[int(np.argmin((losses_by_hand(others) ** 2).sum(axis=1)))]


def test_fill_candidates_are_the_measured_front_then_the_nearest_and_never_on_the_estimated_front():
    allowed = recorded()[~recorded().is_baseline & (recorded().acks == "all") & recorded().feasible]
    losses = losses_by_hand(allowed)
    beaten = np.array([((losses <= one).all(axis=1) & (losses < one).any(axis=1)).any() for one in losses])
    nearest = np.lexsort((np.linalg.norm(losses, axis=1), beaten))
    strict = STUDY.model_copy(update={"durability": None})
    picked = select_candidates(front_from(recorded()).iloc[:0], recorded(), strict, len(allowed))
    assert picked.configuration_id.tolist() == allowed.configuration_id.iloc[nearest].tolist()
    assert picked.chosen_as.tolist() == [["measured" if beaten[at] else "measured_non_dominated"] for at in nearest]
    assert not picked[["on_joint_front", "limits_met_estimated"]].any(axis=None)
    assert picked.durability_accepted.all()
    assert picked.estimated_throughput_mib_s.isna().all()
    one = allowed[allowed.configuration_id != picked.configuration_id[0]].iloc[:1]
    beside = select_candidates(front_from(one), recorded(), strict, 5)
    assert len(beside) == 5
    assert (beside.acks == "all").all()
    assert "measured_non_dominated" in beside.chosen_as.iloc[1]


def test_one_valid_repetition_is_enough_to_fill_up_with_and_none_or_lost_records_are_not():
    allowed = recorded()[~recorded().is_baseline & (recorded().acks == "all") & recorded().feasible].iloc[:3]
    counted = allowed.assign(repetitions_valid=[1, 0, 5], repetitions_lost_records=[0, 0, 1])
    strict = STUDY.model_copy(update={"durability": None})
    filled = select_candidates(front_from(recorded()).iloc[:0], counted, strict, 5)
    assert filled.configuration_id.tolist() == [allowed.configuration_id.iloc[0]]


def test_advice_comes_first_all_of_the_measured_front_up_to_half_of_the_points_else_the_best_of_it():
    front = front_from(recorded())
    measured = select_candidates(front.iloc[:0], recorded(), STUDY, len(recorded()))
    on_front = [row.configuration_id for row in measured.itertuples() if "measured_non_dominated" in row.chosen_as]
    dominated = [row.configuration_id for row in measured.itertuples() if "measured" in row.chosen_as]
    assert len(on_front) >= 4
    for points in (3, 6):
        picked = select_candidates(front, recorded(), STUDY, points, [*on_front, *dominated])
        advised = [row.configuration_id for row in picked.itertuples() if row.chosen_as == ["advised"]]
        assert advised == on_front[: points // 2]
        assert len(picked) == points
    none_on_front = select_candidates(front, recorded(), STUDY, 6, dominated)
    assert none_on_front.configuration_id[0] == dominated[0]
    assert none_on_front.chosen_as.tolist().count(["advised"]) == 1
    assert not any("advised" in roles for roles in select_candidates(front, recorded(), STUDY, 1, dominated).chosen_as)
