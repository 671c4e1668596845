"""Test whether one configuration fails more often than another, and bound its failure rate."""

from __future__ import annotations

import numpy as np

from kafka_pareto.analysis.paired_tests import CONFIDENCE


def failing_more_p_value(failed: int, repetitions: int, reference_failed: int, reference_repetitions: int) -> float:
    """Return Fisher's exact p-value, one-sided, of failing no more often than the reference."""
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps do not need it)

    table = np.array([[failed, repetitions - failed], [reference_failed, reference_repetitions - reference_failed]])
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def largest_failure_fraction(failed: int, repetitions: int) -> float:
    """Return the upper 95 % bound of the failure rate (Clopper and Pearson, Biometrika 26, 1934)."""
    from scipy import stats  # noqa: PLC0415  (as above)

    interval = stats.binomtest(failed, repetitions, alternative="less").proportion_ci(CONFIDENCE, method="exact")
    return float(interval.high)
