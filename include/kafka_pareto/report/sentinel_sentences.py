"""Says what the sentinel's tests found, in sentences. Pure."""

from __future__ import annotations

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.sentinel import SentinelReport, SeriesStability
from kafka_pareto.study.drivers import label_of


def sentinel_sentences(report: SentinelReport) -> list[str]:
    """Says what was found in every series, or that there were too few repetitions to look."""
    repetitions = len(report.repetition_ids)
    if not report.series:
        return [f"{repetitions} repetitions of the baseline are too few to tell whether the cluster moved."]
    return [sentence for one in report.series for sentence in _sentences(one, repetitions)]


def move_sentences(report: SentinelReport) -> list[str]:
    """Says what was found in the series that moved; empty where none did."""
    repetitions = len(report.repetition_ids)
    return [sentence for one in report.series if one.moved for sentence in _sentences(one, repetitions)]


def _sentences(series: SeriesStability, repetitions: int) -> list[str]:
    label = label_of(series.objective)
    subject = f"The {label} of the baseline"
    found = []
    if series.first_run_p_value_holm < SIGNIFICANCE:
        found.append(
            f"The first repetition was unlike the others: {label} {series.first_run_change_fraction:+.0%} "
            f"(p {series.first_run_p_value_holm:.3f})."
        )
    if series.change_p_value_holm < SIGNIFICANCE:
        found.append(
            f"{subject} changed by {series.change_fraction:+.0%} after "
            f"{series.change_after} of {repetitions} repetitions (p {series.change_p_value_holm:.3f})."
        )
    elif series.drift_p_value_holm < SIGNIFICANCE:
        direction = "rose" if series.drift_tau > 0 else "fell"
        found.append(
            f"{subject} {direction} over the {repetitions} repetitions "
            f"(Kendall's tau {series.drift_tau:+.2f}, p {series.drift_p_value_holm:.3f})."
        )
    return found or [f"{subject} shows no move in {repetitions} repetitions."]
