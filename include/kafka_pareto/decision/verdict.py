"""Decides whether a change is recommended, a person is asked, or all stays as it is. Pure."""

from __future__ import annotations

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.decision.decision import Decision, Verdict


def concluded(decision: Decision) -> Decision:
    """Returns the decision with the verdict that follows from its gains, and from what was lost, failed or missed."""
    verdict, chosen = _verdict(decision), decision.pick_configuration_id
    recommended = chosen if verdict == "recommended" and chosen is not None else decision.reference_configuration_id
    return decision.model_copy(update={"verdict": verdict, "recommended_configuration_id": recommended})


def _verdict(decision: Decision) -> Verdict:
    if decision.pick_configuration_id is None:
        return "keep_limits_missed" if decision.limits_missed else "keep_no_gain"
    if decision.pick_counts.lost_records:
        return "keep_lost_records"
    p_value = decision.pick_counts.failing_more_p_value(decision.reference_counts)
    if decision.fails_more and (p_value is None or p_value < SIGNIFICANCE):
        return "keep_failed_more"
    if not decision.has_enough_blocks:
        return "keep_not_enough_evidence"
    if decision.limits_missed:
        return "keep_limits_missed"
    if decision.harmed:
        return "keep_harmed"
    if not decision.better:
        return "keep_no_gain"
    if decision.unjudged:
        return "keep_not_enough_evidence"
    doubtful = decision.harm_not_excluded or decision.harm_over_baseline_not_excluded or decision.fails_more
    return "ask_a_person" if doubtful else "recommended"
