"""Combine the verdicts on several repetitions of one configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from kafka_pareto.bottleneck.limiting_resource import NONE_FOUND, Verdict

LEAST_SHARE = 0.5


def common_code(codes: Sequence[str | None]) -> str | None:
    """Return the code shared by at least half of the repetitions; else an empty text, for none found.

    In a tie between none and a resource, the resource wins. A repetition's code is None if none was looked for; the
    result is None if that holds for all.
    """
    looked_at = [code for code in codes if code is not None]
    if not looked_at:
        return None
    code, number = max(Counter(looked_at).items(), key=lambda each: (each[1], each[0] != NONE_FOUND.code))
    return code if number >= LEAST_SHARE * len(codes) else NONE_FOUND.code


def common_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict shared by at least half of the repetitions, with the means of its numbers.

    Different numbers may lead to one code, such as a codec or busy cores to the CPU. A number counts if at least half
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
