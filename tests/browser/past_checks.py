"""A history of checks in the store, as the steps of a re-tune write it."""

from __future__ import annotations

import math

from kafka_pareto.analysis.drift import Ratio, RatioChange
from kafka_pareto.campaign.keys import CheckKeys
from kafka_pareto.drift.check_records import Check, CheckedCase, CheckOutcome
from kafka_pareto.storage.store import Store
from kafka_pareto.study.objectives import ObjectiveName

STUDY, BLOCKS, DEVIATION = "paper", 5, 0.04


def ratio(value: float) -> Ratio:
    half = 1.24 * DEVIATION
    return Ratio(
        ratio=value,
        low=value * math.exp(-half),
        high=value * math.exp(half),
        blocks=BLOCKS,
        log_ratio=math.log(value),
        log_deviation=DEVIATION,
    )


def change(objective: ObjectiveName, found: float, reference: float, *, drifted: bool) -> RatioChange:
    of = found / reference
    return RatioChange(
        objective=objective,
        found=ratio(found),
        reference=ratio(reference),
        change_fraction=of - 1,
        change_low_fraction=of * 0.94 - 1,
        change_high_fraction=of * 1.06 - 1,
        p_value=0.001 if drifted else 0.8,
        p_value_holm=0.002 if drifted else 1.0,
        drifted=drifted,
    )


def write_check(store: Store, day: int, case: str, p95: float, throughput: float, *, version: int = 1) -> None:
    """One check of that day: drifted where p95 latency has left a half of the baseline's by more than a quarter."""
    drifted = abs(p95 / 0.5 - 1) > 0.25
    outcome: CheckOutcome = "drifted" if drifted else "unchanged"
    name = f"202612{day:02d}T030000"
    checked = CheckedCase(
        case=case,
        version=version,
        configuration_id="c0123456789",
        outcome=outcome,
        tune=drifted,
        reasons=["p95 latency has left what was confirmed." if drifted else "Nothing has changed that matters."],
        compared_with="campaign 20261121-recorded",
        changes=[
            change("p95_latency_ms", p95, 0.5, drifted=drifted),
            change("throughput_mib_s", throughput, 2.0, drifted=False),
        ],
    )
    check = Check(study=STUDY, check=name, at=f"2026-12-{day:02d}T03:00:00+00:00", drift_fraction=0.1, cases=[checked])
    keys = CheckKeys(STUDY, name)
    store.put(keys.frozen_study(), b"kind: tune\n")  # what it says of its cluster: the installation's own
    store.put(keys.check(), check.model_dump_json().encode())
