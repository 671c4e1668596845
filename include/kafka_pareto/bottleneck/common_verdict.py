"""Give one verdict on several repetitions of the same configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from kafka_pareto.bottleneck.limiting_resource import NONE_FOUND, Verdict

LEAST_SHARE = 0.5


def common_code(codes: Sequence[str | None]) -> str | None:
    """Return the code that most repetitions carry, if at least half of them do; else an empty text, for none found.

    Where as many found nothing as found a resource, the resource is named.

    Args:
        codes: Of each repetition; None where nobody looked.

    Returns:
        None where nobody looked at any.
    """
    looked_at = [code for code in codes if code is not None]
    if not looked_at:
        return None
    code, number = max(Counter(looked_at).items(), key=lambda each: (each[1], each[0] != NONE_FOUND.code))
    return code if number >= LEAST_SHARE * len(codes) else NONE_FOUND.code


def common_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that at least half of the repetitions share, with the means of its numbers.

    One code may be found by different numbers, as the CPU by a codec or by busy cores. A number counts where at least
    half of the repetitions with the code have it.
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
