"""Combine the verdicts on several repetitions of one configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from kafka_pareto.bottleneck.limiting_resource import NONE_FOUND, Verdict

LEAST_SHARE = 0.5


def common_code(codes: Sequence[str | None]) -> str | None:
    """Return the code of at least half of the repetitions; empty if no code has that share.

    A resource wins a tie with none found. A code of None means not examined; the result is None if all are.
    """
    examined = [code for code in codes if code is not None]
    if not examined:
        return None
    code, number = max(Counter(examined).items(), key=lambda each: (each[1], each[0] != NONE_FOUND.code))
    return code if number >= LEAST_SHARE * len(codes) else NONE_FOUND.code


def common_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of at least half of the repetitions, with the means of its numbers.

    One code may have different evidence, such as a codec or busy cores for CPU. A number is included if at least half
    of the repetitions with the code have it.
    """
    code = common_code([verdict.code for verdict in verdicts])
    sharing = [verdict for verdict in verdicts if verdict.code == code]
    if not code or not sharing:
        return NONE_FOUND
    found: dict[str, list[float]] = {}
    for verdict in sharing:
        for name, number in verdict.numbers.items():
            found.setdefault(name, []).append(number)
    means = {name: fmean(numbers) for name, numbers in found.items() if len(numbers) >= LEAST_SHARE * len(sharing)}
    return Verdict(sharing[0].code, means)
