"""Confirmations that reach the hospital before and after a run has ended."""

from __future__ import annotations

import json
import time

import pytest

from kafka_pareto.drivers.services.programs.hospital import Asked, Hospital
from kafka_pareto.drivers.services.programs.messages import ORDER_CONFIRMATION, Record
from kafka_pareto.drivers.services.programs.service import options_of

pytestmark = pytest.mark.fast


@pytest.fixture
def hospital() -> Hospital:
    """One whose orders reach nobody: no cluster listens there."""
    argv = ["--bootstrap-servers", "127.0.0.1:1", "--partitions", "1", "--partitioning", "round_robin"]
    return Hospital(options_of("hospital").parse_args([*argv, "--producer", json.dumps({"log_level": 0})]))


def confirmed(hospital: Hospital, order_id: str) -> None:
    now = time.time()
    record: Record = {"order_id": order_id, "key": order_id, "created_at": now, "placed_at": now}
    assert list(hospital.handle(ORDER_CONFIRMATION, record, now)) == []


def end_run(hospital: Hospital, run: str) -> None:
    """Request two orders; confirm only the first before time is over."""
    hospital.ask(Asked(run, 2, timeout_s=0.2))
    hospital.tick()
    confirmed(hospital, f"{run}-0")
    time.sleep(0.25)
    hospital.tick()


def test_confirmations_after_the_end_of_a_run_are_late_or_repeats(hospital: Hospital) -> None:
    end_run(hospital, "a")
    assert hospital.after("a") == {"after": "a", "confirmed": 1, "repeated": 0}
    confirmed(hospital, "a-1")
    confirmed(hospital, "a-1")
    confirmed(hospital, "a-0")
    assert hospital.after("a") == {"after": "a", "confirmed": 2, "repeated": 2}


def test_confirmations_of_another_run_are_not_counted(hospital: Hospital) -> None:
    end_run(hospital, "a")
    confirmed(hospital, "ab-1")
    confirmed(hospital, "b-1")
    assert hospital.after("a")["confirmed"] == 1
    with pytest.raises(ValueError, match="b: must be the run that ended last"):
        hospital.after("b")
