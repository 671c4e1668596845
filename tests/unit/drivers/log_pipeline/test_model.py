"""Predicts stages, and checks Kingman's formula against a queue that is simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_pareto.drivers.log_pipeline.model import StageModel, mean_wait_in_batch_ms

pytestmark = pytest.mark.fast


def test_the_wait_is_that_of_a_simulated_queue() -> None:
    rng = np.random.default_rng(5)
    arrivals = np.cumsum(rng.exponential(1 / 70, 200_000))
    services = rng.exponential(1 / 100, 200_000)
    free_at, waits = 0.0, []
    for arrived, service in zip(arrivals, services, strict=True):
        begins = max(free_at, arrived)
        waits.append(begins - arrived)
        free_at = begins + service

    found = StageModel(batching_ms=0, service_ms=10, arrivals_s=70, capacity_s=100)

    assert found.waiting_ms == pytest.approx(1e3 * float(np.mean(waits)), rel=0.1)
    assert found.total_ms == found.waiting_ms + 10


def test_a_stage_that_is_asked_too_much_waits_for_ever() -> None:
    assert StageModel(5, 10, arrivals_s=100, capacity_s=100).total_ms == math.inf


def test_a_batch_is_full_or_its_time_is_over() -> None:
    assert mean_wait_in_batch_ms(1, 1000, 300) == 0
    assert mean_wait_in_batch_ms(31, 1000, 300) == 50
    assert mean_wait_in_batch_ms(2048, 1000, 300) == 500
    assert mean_wait_in_batch_ms(2048, 1000, 0) == 500
