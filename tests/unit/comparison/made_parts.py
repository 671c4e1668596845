"""Build parts like step `compare` does, from a guide's published numbers, with noise and blocks.

A block's value is the level's mean times the block's own speed; all statistics follow from the blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from scipy import stats

from kafka_pareto.comparison.records import Band, Estimate, Interaction, Interval, Level, PartComparison, Scaling
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.quantity import Quantity

THROUGHPUT = Quantity("throughput_records_s", float, True, label="throughput", maximised=True)
P99 = Quantity("latency_p99_ms", float, True, label="p99 latency", maximised=False)
P50 = Quantity("latency_p50_ms", float, True, label="p50 latency", maximised=False)
FETCH = Quantity("fetch_latency_avg_ms", float, True, label="fetch latency", maximised=False)
COMPARED = (THROUGHPUT, P99)
BLOCKS = 5
SLOWER = 6.0  # how much slower than the published cluster the made machine is

Values = Mapping[str, float]


def estimates_of(
    level: Values, reference: Values, best: Values, letters: Mapping[str, str], seed: int, noise: float, blocks: int
) -> dict[str, Estimate]:
    """Return the estimates of one level from generated blocks: paired test on logs, Holm over eight."""
    found = {}
    for at, (name, true_mean) in enumerate(level.items()):
        rng = np.random.default_rng((seed, at))
        own = true_mean * np.exp(rng.normal(0, noise, blocks))
        logs = np.log(own) - np.log(reference[name]) - rng.normal(0, noise, blocks)
        same = level is reference
        half = stats.t.isf(0.025, blocks - 1) * own.std(ddof=1) / np.sqrt(blocks)
        spread = stats.t.isf(0.025, blocks - 1) * logs.std(ddof=1) / np.sqrt(blocks)
        p = float(stats.ttest_1samp(logs, 0).pvalue)
        times = [own.mean() / best[name], best[name] / own.mean()]
        found[name] = Estimate(
            repetitions=blocks,
            mean=Interval(value=own.mean(), low=own.mean() - half, high=own.mean() + half),
            sd=own.std(ddof=1),
            ratio=None if same else _interval(np.exp([logs.mean(), logs.mean() - spread, logs.mean() + spread])),
            p_value_holm=None if same else min(1.0, 8 * p),
            welch_p_value=None if same else p,
            relative=max(1.0, *times),
            relative_sd=0.0 if min(times) >= 1 else max(times) * noise,
            letters=letters[name],
        )
    return found


def _interval(ends: Sequence[float]) -> Interval:
    value, low, high = (float(end) for end in ends)
    return Interval(value=value, low=low, high=high)


def made_part(
    part: str,
    levels: Mapping[tuple[str | int | float, ...], Values],
    factors: Sequence[str],
    reference: tuple[str | int | float, ...],
    published: Mapping[tuple[str | int | float, ...], Values] | None = None,
    fixed: Configuration | None = None,
    noise: float = 0.02,
    blocks: int = BLOCKS,
    compared: Sequence[Quantity] = COMPARED,
    bottleneck: str = "cpu",
) -> PartComparison:
    """Return a part whose levels have these true means."""
    names = list(levels[reference])
    maximised = {quantity.name: quantity.maximised for quantity in (*COMPARED, P50, FETCH)}
    best = {
        name: (max if maximised[name] else min)(values[name] for values in levels.values() if name in values)
        for name in names
    }
    ranks = {
        name: sorted({values[name] for values in levels.values()}, reverse=bool(maximised[name])) for name in names
    }
    return PartComparison(
        kind="grid" if len(factors) == 2 else "table",
        part=part,
        factors=list(factors),
        fixed=dict(fixed or {}),
        reference=dict(zip(factors, reference, strict=True)),
        compared=[quantity.name for quantity in compared],
        blocks=blocks,
        levels=[
            Level(
                configuration_id=configuration_id(dict(zip(factors, level, strict=True))),
                values=dict(zip(factors, level, strict=True)),
                is_reference=level == reference,
                outcomes={"valid": blocks},
                repetition_ids=[f"{part}-{at}-b{block}" for block in range(blocks)],
                estimates=estimates_of(
                    values,
                    levels[reference],
                    best,
                    {name: chr(97 + ranks[name].index(value)) for name, value in values.items()},
                    seed=at,
                    noise=noise,
                    blocks=blocks,
                ),
                published=dict((published or {}).get(level, {})),
                bottleneck=bottleneck,
            )
            for at, (level, values) in enumerate(levels.items())
        ],
    )


def both(records_s: float, p99_ms: float) -> dict[str, float]:
    return {THROUGHPUT.name: records_s, P99.name: p99_ms}


def slower(published: Mapping[tuple[str | int | float, ...], Values]) -> dict[tuple[str | int | float, ...], Values]:
    """Return the generated machine's means for the guide's published values."""
    return {
        level: both((values[THROUGHPUT.name] / SLOWER) ** 0.95, 2 * values[P99.name] ** 0.9)
        for level, values in published.items()
    }


BATCH_SIZE = {
    (16384,): both(180_000, 8), (65536,): both(420_000, 12), (262144,): both(780_000, 18),
    (1048576,): both(1_200_000, 23),
}  # fmt: skip
LINGER = {
    (0,): both(650_000, 5), (5,): both(950_000, 12), (10,): both(1_200_000, 18), (50,): both(1_300_000, 60),
    (100,): both(1_350_000, 110),
}  # fmt: skip
CODECS = {
    ("none",): both(1_000_000, 22), ("lz4",): both(1_200_000, 25), ("snappy",): both(1_100_000, 30),
    ("zstd",): both(1_000_000, 45), ("gzip",): both(600_000, 70),
}  # fmt: skip


@cache
def batch_size_part() -> PartComparison:
    return made_part("batch_size", slower(BATCH_SIZE), ["batch.size"], (1048576,), BATCH_SIZE)


@cache
def linger_part() -> PartComparison:
    return made_part("linger", slower(LINGER), ["linger.ms"], (10,), LINGER)


@cache
def codec_part() -> PartComparison:
    part = made_part(
        "codec_text", slower(CODECS), ["compression.type"], ("lz4",), CODECS, {"payload": "text"}, bottleneck=""
    )
    gzip = part.levels[-1].model_copy(
        update={
            "bottleneck": "cpu",
            "bottleneck_numbers": {"client_cpu_cores": 1.02, "host_cpu_busy_fraction": 0.97},
            "outcomes": {"valid": 4, "failed": 1},
            "notes": ["the fixed rate was not held"],
        }
    )
    return part.model_copy(update={"levels": [*part.levels[:-1], gzip]})


@cache
def same_part(part: str = "acks", blocks: int = BLOCKS) -> PartComparison:
    levels = {("1",): both(200_000, 40), ("all",): both(200_000, 40)}
    return made_part(part, levels, ["acks"], ("1",), noise=0.05, blocks=blocks, bottleneck="")


@cache
def grid_part() -> PartComparison:
    """Return batch.size by linger.ms, where small batches gain nothing from a longer linger."""
    batches = (16384, 65536, 262144, 1048576)
    gain = {0: 0.55, 5: 0.8, 10: 1.0, 50: 1.08, 100: 1.12}
    levels = {}
    for (batch, base), (linger, effect) in itertools.product(
        zip(batches, (30_000, 70_000, 130_000, 200_000), strict=True), gain.items()
    ):
        softened = 1 + (effect - 1) * (0.1 if batch == 16384 else 1)
        levels[(batch, linger)] = both(base * softened, 14 + 1.1 * linger + batch / 60_000)
    part = made_part("grid", levels, ["batch.size", "linger.ms"], (1048576, 10))
    interactions = [
        Interaction(
            quantity=THROUGHPUT.name,
            values={"batch.size": batch, "linger.ms": linger},
            ratio=Interval(value=ratio, low=ratio * 0.95, high=ratio * 1.05),
            p_value_holm=0.003 if batch == 16384 and linger == 0 else 0.6,
        )
        for batch, linger, ratio in ((16384, 0, 1.73), (16384, 100, 0.95), (65536, 0, 1.01))
    ]
    return part.model_copy(update={"interactions": interactions})


@cache
def producers_part() -> PartComparison:
    clients, serial = (1, 2, 3, 5, 10), 0.22
    speedup = {n: n / (1 + serial * (n - 1)) for n in clients}
    levels = {(n,): both(80_000 * speedup[n], 20 + 9 * n) for n in clients}
    part = made_part("producers", levels, ["producers"], (1,))
    scaling = Scaling(
        quantity=THROUGHPUT.name,
        speedup={
            str(n): Interval(value=value * 0.99, low=value * 0.94, high=value * 1.05) for n, value in speedup.items()
        },
        limit=Interval(value=4.55, low=4.1, high=5.1),
        serial_fraction=Interval(value=0.22, low=0.196, high=0.244),
    )
    return part.model_copy(update={"scaling": [scaling]})


RECORD_SIZES = (100, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


@cache
def record_size_part() -> PartComparison:
    """Return record sizes with a slowly rising p99 latency that jumps by half between 1,024 and 2,048 B."""
    levels = {
        (size,): both(300_000_000 / (600 + size), (12 + size / 4000) * (1.9 if size > 1024 else 1.0))
        for size in RECORD_SIZES
    }
    part = made_part("record_size", levels, ["record_size_bytes"], (1024,))
    band = Band(
        quantity=P99.name, lower=1024, upper=2048, ratio=Interval(value=1.86, low=1.79, high=1.94), p_value_holm=0.0004
    )
    return part.model_copy(update={"bands": [band]})


@cache
def fetch_part() -> PartComparison:
    """Return a consumer's table; the guide gives one group of ten, none of these levels."""
    names = (THROUGHPUT.name, FETCH.name)
    levels = {
        (size,): dict(zip(names, values, strict=True))
        for size, values in {1: (900_000, 4.0), 65536: (1_150_000, 9.0), 1048576: (1_400_000, 45.0)}.items()
    }
    return made_part("fetch_min_bytes", levels, ["fetch.min.bytes"], (1048576,), compared=(THROUGHPUT, FETCH))
