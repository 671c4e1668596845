"""Gives one verdict on several repetitions of the same configuration. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from kafka_pareto.bottleneck.verdict import NONE_FOUND, Verdict

LEAST_SHARE = 0.5


def common_code(codes: Sequence[str | None]) -> str | None:
    """Returns the code that most repetitions carry, if at least half of them do; else an empty text, for none found.

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
    """Returns the verdict that at least half of the repetitions share, with the mean of each of its numbers."""
    code = common_code([verdict.code for verdict in verdicts])
    sharing = [verdict for verdict in verdicts if verdict.code == code]
    if not code or not sharing:
        return NONE_FOUND
    names = dict.fromkeys(name for verdict in sharing for name in verdict.numbers)
    means = {
        name: statistics.fmean(verdict.numbers[name] for verdict in sharing if name in verdict.numbers)
        for name in names
    }
    return Verdict(sharing[0].code, means)
