"""Measure other load on the client's machine during a run, and apply the study's outlier rule."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import psutil

from kafka_pareto.analysis.wording import share
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.study.protocol import OutlierRule


def outlier_reason(rule: OutlierRule, cpu_steal_fraction: float, other_cpu_fraction: float) -> str:
    """Describe the exceeded bound of the study's outlier rule, with both numbers; empty if there is none."""
    shares = {
        "cpu_steal_fraction": ("the hypervisor took", cpu_steal_fraction, rule.cpu_steal_fraction),
        "other_cpu_fraction": ("other processes took", other_cpu_fraction, rule.other_cpu_fraction),
    }
    for name, (words, found, bound) in shares.items():
        if bound is not None and found > bound:
            return f"{words} {share(found, 1)} of the machine's CPU time; protocol.outliers.{name} is {share(bound, 1)}"
    return ""


def judged_by_machine(attempt: Attempt, rule: OutlierRule) -> Attempt:
    """Return the attempt, failed and excused if others used more of the machine than the study's rule allows.

    A lost record stays lost, whatever else happened.
    """
    if attempt.outcome not in ("valid", "failed"):
        return attempt
    other = attempt.other_cpu_fraction if attempt.client_is_known else 0.0
    outlier = outlier_reason(rule, attempt.cpu_steal_fraction, other)
    if not outlier:
        return attempt
    reason = f"{outlier}; {attempt.reason}" if attempt.reason else outlier
    return replace(attempt, outcome="failed", reason=reason, is_excused=True)


def cpu_fractions(before: object, after: object, client_cpu_s: float) -> tuple[float, float]:
    """Return the shares of CPU time since `before`: stolen by the hypervisor, and used by all but the client."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    spent = {name: getattr(after, name, 0.0) - getattr(before, name, 0.0) for name in names}
    total = sum(spent.values())
    if total <= 0:
        return 0.0, 0.0
    busy = total - spent["idle"] - spent["iowait"] - spent["steal"]
    return spent["steal"] / total, max(busy - client_cpu_s, 0.0) / total


def _look_at_this_machine(seconds: float) -> tuple[float, float]:
    before = psutil.cpu_times()
    time.sleep(seconds)  # a share of the CPU is one over a time
    return cpu_fractions(before, psutil.cpu_times(), 0.0)


def wait_until_undisturbed(
    rule: OutlierRule,
    limits: MeasuringLimits = LIMITS,
    look: Callable[[float], tuple[float, float]] = _look_at_this_machine,
) -> None:
    """Wait, for a limited time without load, until the rest of the machine is within the rule.

    Args:
        rule: The study's.
        limits: Limits of the wait and of one look.
        look: Returns the shares of CPU time stolen and used by others, over this many seconds.
    """
    deadline = time.monotonic() + limits.undisturbed_deadline_s
    while outlier_reason(rule, *look(limits.look_s)) and time.monotonic() < deadline:
        pass  # the look itself takes time
