"""Compute what adaptive repetitions save and cost, on recorded cold bursts: `python -m benchmarks.adaptive`.

A resample draws ten of the ten recorded blocks with replacement. `measurement/racing.py` may stop trials after each
block. The choice is the largest log balanced gain, log(throughput / p95 latency), among what remains at the end. Each
is compared with the baseline in its own blocks. The true gains are those of the ten recorded blocks. The regret is the
difference between the best true gain and the choice's.

The noise floor is what even the full protocol cannot tell apart: half of the 95 % interval of the difference between
the choice and the best in the ten recorded blocks, by the linearised ratio of means (Cochran, Sampling Techniques, 3rd
ed., section 6.5). The printed one is the median over the resamples that did not choose the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from scipy import stats

from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.measurement.racing import active_candidates, remaining_candidates
from kafka_pareto.study.protocol import Adaptive
from kafka_pareto.study.tune import Tune
from tests.recorded import paper_study, recorded_repetitions

RECORD_SIZES_BYTES = (1024, 8192, 10240, 16383, 65636)
PROMISES = (Durability.acks_0, Durability.acks_all_idempotent)
BLOCKS = 10
ALL_BLOCKS = np.arange(BLOCKS)

Values = npt.NDArray[np.float64]
Blocks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Resample:
    """One resample: the share of the full protocol's repetitions that was used, and both choices' regrets."""

    used_fraction: float
    regret: float
    noise_floor: float
    full_regret: float
    full_noise_floor: float


def adaptive_study(promise: Durability) -> Tune:
    """Return a study of the paper's factors in ten blocks, adaptive from the second on.

    A single cold burst varies by a third, so its mean is never known to 5 %. Intervals end at 25 %.
    """
    study = paper_study()
    changes = {
        "order": "blocks",
        "minimum_valid_repetitions": 2,
        "adaptive": Adaptive(minimum_repetitions=2, interval_fraction=0.25),
    }
    protocol = study.protocol.model_copy(update=changes)
    return study.model_copy(update={"protocol": protocol, "durability": promise})


class Recording:
    """The recorded blocks of one record size, under one promise of durability."""

    def __init__(self, record_size_bytes: int, promise: Durability) -> None:
        self.study = adaptive_study(promise)
        rows = recorded_repetitions((str(record_size_bytes),))
        by_id = {
            row.configuration_id: Candidate(row.configuration_id, row.is_baseline, row.configuration) for row in rows
        }
        self.candidates = list(by_id.values())
        self._rows = {(row.configuration_id, row.block): row for row in rows}
        self._values = {name: self._values_of(name) for name in by_id}
        self._baseline = next(each.configuration_id for each in self.candidates if each.is_baseline)
        self._may_be_chosen = [
            each.configuration_id
            for each in self.candidates
            if each.is_baseline or self.study.durability_of(each.configuration) >= promise
        ]
        self._best = self._choice(dict.fromkeys(self._may_be_chosen, ALL_BLOCKS))
        self._copies: dict[tuple[str, int, int], Repetition] = {}

    def _values_of(self, name: str) -> tuple[Values, Values]:
        rows = [self._rows[name, block] for block in range(BLOCKS)]
        least_ms = smallest_value("p95_latency_ms", self.study.protocol)
        latency_ms = np.array([max(row.number("latency_p95_ms") or 0.0, least_ms) for row in rows])
        return np.array([row.number("throughput_mib_s") for row in rows], dtype=float), latency_ms

    def resample(self, rng: np.random.Generator) -> Resample:
        """Draw ten blocks and return the regrets of the adaptive choice and of the choice from all ten blocks."""
        drawn = rng.integers(BLOCKS, size=BLOCKS)
        measured = self._measured_adaptively(drawn)
        remaining = {each.configuration_id for each in remaining_candidates(self.candidates, measured, self.study)}
        counts = Counter(repetition.configuration_id for repetition in measured)
        choice = self._choice({name: drawn[: counts[name]] for name in remaining})
        full_choice = self._choice(dict.fromkeys(self._may_be_chosen, drawn))
        return Resample(
            used_fraction=len(measured) / (BLOCKS * len(self.candidates)),
            regret=self._regret(choice),
            noise_floor=self._noise_floor(choice),
            full_regret=self._regret(full_choice),
            full_noise_floor=self._noise_floor(full_choice),
        )

    def _measured_adaptively(self, drawn: Blocks) -> list[Repetition]:
        measured: list[Repetition] = []
        for block, recorded_block in enumerate(drawn):
            active = active_candidates(self.candidates, measured, self.study)
            measured += [self._as_block(each.configuration_id, int(recorded_block), block) for each in active]
        return measured

    def _as_block(self, configuration_id: str, recorded_block: int, block: int) -> Repetition:
        key = (configuration_id, recorded_block, block)
        if key not in self._copies:
            self._copies[key] = self._rows[configuration_id, recorded_block].model_copy(update={"block": block})
        return self._copies[key]

    def _choice(self, blocks: Mapping[str, Blocks]) -> str:
        """Return the largest balanced gain over the baseline, each in its own blocks; of equal ones the smaller id."""
        gains = {name: self._balanced(name, own) - self._balanced(self._baseline, own) for name, own in blocks.items()}
        return max(sorted(gains), key=lambda name: gains[name])

    def _balanced(self, name: str, blocks: Blocks) -> float:
        throughput_mib_s, latency_ms = (values[blocks].mean() for values in self._values[name])
        return float(np.log(throughput_mib_s / latency_ms))

    def _regret(self, choice: str) -> float:
        return self._balanced(self._best, ALL_BLOCKS) - self._balanced(choice, ALL_BLOCKS)

    def _noise_floor(self, choice: str) -> float:
        difference = self._linearised(self._best) - self._linearised(choice)
        return float(stats.t.isf(0.025, BLOCKS - 1) * stats.sem(difference))

    def _linearised(self, name: str) -> Values:
        """Return each block's contribution to the log balanced gain, up to a constant."""
        throughput_mib_s, latency_ms = self._values[name]
        relative: Values = throughput_mib_s / throughput_mib_s.mean() - latency_ms / latency_ms.mean()
        return relative


def run(record_size_bytes: int, promise: Durability, resamples: int, seed: int) -> list[Resample]:
    """Return that many resamples of one record size; they follow from the seed alone."""
    recording = Recording(record_size_bytes, promise)
    rng = np.random.default_rng([seed, record_size_bytes])
    return [recording.resample(rng) for _ in range(resamples)]


def main(
    resamples: Annotated[int, typer.Option(help="of each record size and promise")] = 100,
    seed: Annotated[int, typer.Option()] = 42,
) -> None:
    """Print one line for each accepted durability and record size, and one for all record sizes together."""
    print(
        f"{resamples} resamples of {BLOCKS} recorded blocks, seed {seed}; regret and noise floor of log balanced gain"
    )
    print(f"{'':29} {'repetitions used':>17} {'regret below noise floor':>25} {'regret, 9 of 10':>16}  noise floor")
    print(
        f"{'accepted':20} {'size':>8} {'mean':>9} {'most':>7} {'adaptive':>16} {'full':>8} {'adaptive':>10} {'full':>5}"
    )
    for promise in PROMISES:
        by_size = {size: run(size, promise, resamples, seed) for size in RECORD_SIZES_BYTES}
        for size, found in by_size.items():
            print(f"{promise.name:20} {size:>6} B {_line(found)}")
        campaigns = [resample for found in by_size.values() for resample in found]
        print(f"{promise.name:20} {'all':>8} {_line(campaigns)}")


def _line(found: Sequence[Resample]) -> str:
    used = np.array([each.used_fraction for each in found])
    below = np.mean([each.regret <= each.noise_floor for each in found])
    full_below = np.mean([each.full_regret <= each.full_noise_floor for each in found])
    regret, full = (np.quantile([getattr(each, name) for each in found], 0.9) for name in ("regret", "full_regret"))
    floors = [each.noise_floor for each in found if each.regret > 0]
    floor = f"{np.median(floors):12.2f}" if floors else f"{'-':>12}"
    return f"{used.mean():9.1%} {used.max():7.1%} {below:16.0%} {full_below:8.0%} {regret:10.2f} {full:5.2f} {floor}"


if __name__ == "__main__":
    typer.run(main)
