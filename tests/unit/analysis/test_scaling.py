from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_pareto.analysis.ratios import ByBlock, ratio_of_levels
from kafka_pareto.analysis.scaling import ScalingFit, fit_scaling
from tests.unit.made_parts import noise

pytestmark = pytest.mark.fast

CLIENTS = (1, 2, 3, 5, 10)


def measured(serial: float, sd: float = 0.03, seed: int = 6, blocks: int = 5) -> dict[int, ByBlock]:
    noisy = noise(np.random.default_rng(seed), len(CLIENTS), blocks, sd)
    return {
        clients: dict(enumerate(1e5 * clients / (1 + serial * (clients - 1)) * row))
        for clients, row in zip(CLIENTS, noisy, strict=True)
    }


def fitted(throughput: dict[int, ByBlock]) -> ScalingFit:
    fit = fit_scaling(throughput)
    assert fit is not None
    return fit


@pytest.mark.parametrize("serial", [0.1, 0.3, 0.8])
def test_a_planted_serial_fraction_and_its_limit_are_recovered(serial: float):
    fit = fitted(measured(serial))
    assert fit.serial_fraction.low < serial < fit.serial_fraction.high
    assert fit.serial_fraction.value == pytest.approx(serial, rel=0.15)
    assert fit.limit.low < 1 / serial < fit.limit.high
    assert fit.limit.value == 1 / fit.serial_fraction.value


def test_without_noise_every_block_gives_the_law_s_own_fraction():
    assert fitted(measured(0.25, sd=0.0)).serial_fraction.value == pytest.approx(0.25, abs=1e-6)


@pytest.mark.slow
def test_the_interval_covers_the_true_fraction_about_as_often_as_it_says():
    fits = [fitted(measured(0.2, seed=seed)).serial_fraction for seed in range(100)]
    assert np.mean([fit.low <= 0.2 <= fit.high for fit in fits]) >= 0.88


def test_throughput_that_does_not_bend_has_no_limit():
    fits = [fitted(measured(0.0, seed=seed)) for seed in range(40)]
    # One end of a 95 % interval misses 0 in 2.5 % of cases.
    assert sum(math.isfinite(fit.limit.value) for fit in fits) <= 4
    assert min(fit.serial_fraction.low for fit in fits) == 0.0


def test_throughput_that_falls_with_more_clients_tends_to_no_more_than_one_client_s():
    rows = zip(CLIENTS, noise(np.random.default_rng(1), 5), strict=True)
    fit = fitted({clients: dict(enumerate(1e5 / clients * row)) for clients, row in rows})
    assert (fit.serial_fraction.value, fit.limit.value) == (1.0, 1.0)


def test_speed_ups_are_the_ratios_to_one_client():
    throughput = measured(0.3)
    speedup = fitted(throughput).speedup
    assert speedup.pop(1).value == 1.0
    assert speedup == {each: ratio_of_levels(throughput[1], throughput[each]) for each in CLIENTS[1:]}


def test_without_one_client_there_is_no_speed_up():
    throughput = measured(0.3)
    assert fit_scaling({each: throughput[each] for each in (2, 5)}) is None
    assert fit_scaling({**throughput, 1: {}}) is None


def test_one_block_has_no_interval_nor_limit_and_one_client_alone_no_serial_fraction():
    one, alone = fitted(measured(0.3, blocks=1)), fitted({1: {0: 1.0, 1: 2.0}})
    assert one.serial_fraction.value == pytest.approx(0.3, abs=0.1)
    unknown = (one.serial_fraction.low, one.limit.value, alone.serial_fraction.value, alone.limit.value)
    assert np.isnan(unknown).all()
    assert math.isfinite(fitted(measured(0.3, blocks=2)).serial_fraction.low)
