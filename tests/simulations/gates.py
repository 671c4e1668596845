"""Simulated gates: `python -m tests.simulations.gates` prints the figures of docs/gate.md.

Blocks are judged one by one by the code in use, with the default conditions of a margin of 10 % on p95 latency and
throughput at one record size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.gate.gate_study import candidate_of
from kafka_pareto.gate.judgement import judge
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.tune import Tune
from tests.unit.deciding import CASE, TEMPLATE
from tests.unit.gate.made_gate import study_with

GATES = 2_000
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Returns errors with a standard deviation of 1, the last axis in measuring order."""


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def _heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_t(3, shape) / np.sqrt(3)


def _correlated(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Errors of which each is half of the one before, plus new noise."""
    new = rng.standard_normal(shape) * np.sqrt(0.75)
    errors = new.copy()
    for place in range(1, shape[-1]):
        errors[..., place] = errors[..., place - 1] / 2 + new[..., place]
    return errors


NOISE: dict[str, Noise] = {
    "normal": _normal,
    "t with 3 degrees of freedom": _heavy,
    "each half like the one before": _correlated,
}


def verdicts(
    study: Tune, p95_ratio: float, sd: float, gates: int = GATES, noise: Noise = _normal, seed: int = 7
) -> tuple[Counter[str], float]:
    """Count the verdicts of gates of equal throughput and this true ratio of p95 latency, and the mean of blocks.

    `sd` is that of a block's log-ratio.
    """
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    blocks = []
    for _ in range(gates):
        errors = noise(rng, (2, 2, study.gate.blocks)) * sd / np.sqrt(2)
        p95_ms, throughput = 100 * np.exp(errors[0]), 20 * np.exp(errors[1])
        p95_ms[1] *= p95_ratio
        verdict, used = _gate(study, p95_ms, throughput)
        found[verdict] += 1
        blocks.append(used)
    return found, float(np.mean(blocks))


def _gate(study: Tune, p95_ms: np.ndarray, throughput_mib_s: np.ndarray) -> tuple[str, int]:
    sides = [dict(study.baseline_configuration()), candidate_of(study).configuration]
    ids = [study.baseline_id(), candidate_of(study).configuration_id]
    repetitions: list[Repetition] = []
    for block in range(study.gate.blocks):
        repetitions += _block(sides, ids, block, p95_ms[:, block], throughput_mib_s[:, block])
        judged = judge(study, CASE, repetitions)
        if judged.verdict != "undecided" or not judged.may_be_decided:
            break
    return judged.verdict, judged.blocks


def _block(
    sides: list[Configuration], ids: list[str], block: int, p95_ms: np.ndarray, throughput_mib_s: np.ndarray
) -> Iterator[Repetition]:
    for place, side in enumerate(sides):
        head = {"configuration": side, "configuration_id": ids[place], "is_baseline": not place, "block": block}
        values = {"latency_p95_ms": float(p95_ms[place]), "throughput_mib_s": float(throughput_mib_s[place])}
        yield TEMPLATE.with_values({**head, "phase": "gain", "outcome": "valid", **values})


def main() -> None:
    study, strict = study_with(), study_with("p95_latency_ms < reference", "throughput_mib_s > reference")
    of_cv = study_with("latency_cv < 3 * reference")
    print("| true change of p95 | SD of a block | noise | holds | broken | undecided | blocks, mean |")
    print("|---|---|---|---|---|---|---|")
    rows = [(study, ratio, sd, "normal") for sd in (0.05, 0.1, 0.2) for ratio in (0.8, 1.0, 1.1, 1.2, 1.5)]
    rows += [(study, 1.0, 0.1, name) for name in NOISE if name != "normal"]
    rows += [(strict, 1.0, 0.1, name) for name in NOISE]
    rows += [(of_cv, 1.0, 0.1, "normal")]
    for each, ratio, sd, noise in rows:
        found, blocks = verdicts(each, ratio, sd, noise=NOISE[noise])
        shares = [f"{found[verdict] / GATES:.1%}" for verdict in ("holds", "broken", "undecided")]
        margin = "" if each is study else " (no margin)" if each is strict else " (CV below three times)"
        cells = [f"{ratio - 1:+.0%}{margin}", f"{sd:g}", noise, *shares, f"{blocks:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
