"""Judges a valid repetition by the critical rules of the suite `valid_repetitions`, once: before it is stored.

Great Expectations asks the same rules of the design in the gate, but takes seconds to load. This evaluator reads them
from the same file; a test holds the two equal. Records of schema version 3 were stored unjudged, so they are judged
when they are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.suites import Expectation, shipped_suites
from kafka_pareto.campaign.tables import repetition_row
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.producer_study import ProducerStudy

SUITE = "valid_repetitions"
_BYTES_PER_MIB = 1 << 20
_PRINTED_TOLERANCE = 1e-3
_KAFKA_TOOL_COLUMNS = ["printed_mib_s"]
_GENERATOR_COLUMNS = [
    "latency_p9999_ms",
    "latency_from_send_p95_ms",
    "paced_rate_asked_records_s",
    "paced_rate_records_s",
]
_WITHIN_RUN_COLUMNS = ["latency_cv_in_run", "throughput_cv_in_run"]
_KNOWN_ARGUMENTS = {
    "expect_column_values_to_not_be_null": {"column"},
    "expect_column_values_to_be_between": {"column", "min_value", "max_value", "strict_min"},
    "expect_column_pair_values_to_be_equal": {"column_A", "column_B", "ignore_row_if"},
    "expect_column_pair_values_a_to_be_greater_than_b": {"column_A", "column_B", "ignore_row_if", "or_equal"},
}
_FIXED_ARGUMENTS = {"or_equal": True, "ignore_row_if": "either_value_is_missing"}


class PlausibilityRules:
    """The critical rules of the suite, as one study asks them.

    Raises:
        BadInputError: If a rule cannot be judged here as Great Expectations would.
    """

    def __init__(self, study: ProducerStudy, suite: Sequence[Expectation] | None = None) -> None:
        self._study = study
        parameters = plausibility_parameters(study)
        self._asked = [
            asked
            for rule in (shipped_suites()[SUITE] if suite is None else suite)
            if rule.severity == "critical"
            for asked in rule.configurations(parameters)
        ]
        for asked in self._asked:
            _require_known(asked["type"], asked["kwargs"], asked["meta"]["name"])

    def with_implausible_failed(self, repetition: Repetition) -> Repetition:
        """Returns the repetition, as failed if it counted as valid and breaks a rule; its reason names all of them."""
        if repetition.outcome != "valid":
            return repetition
        values = {**repetition_row(repetition), **derived_values(repetition, self._study)}
        broken = [asked for asked in self._asked if _is_broken(asked["type"], asked["kwargs"], values)]
        if not broken:
            return repetition
        names = list(dict.fromkeys(asked["meta"]["name"] for asked in broken))
        reason = "; ".join(asked["notes"] for asked in broken)
        return repetition.model_copy(update={"outcome": "failed", "reason": reason, "broken_rules": names})


def plausibility_parameters(study: ProducerStudy) -> dict[str, list[str]]:
    """Returns what the `$…` of the critical rules stand for in this study."""
    by_generator = study.protocol.load_tool == "load_generator"
    return {
        "tool_columns": _GENERATOR_COLUMNS if by_generator else _KAFKA_TOOL_COLUMNS,
        "within_run_columns": _WITHIN_RUN_COLUMNS if study.protocol.variability == "within_run" else [],
    }


def derived_values(repetition: Repetition, study: ProducerStudy) -> dict[str, float]:
    """Returns what follows from a repetition's values, for rules that compare two of them; NaN where one is missing.

    `elapsed_at_throughput_ms` is how long the records of the window take at the throughput that the tool printed, up
    to its own 1 ms; a steady-state window holds its share of the records, less one for rounding. `elapsed_ms` is the
    same for a whole run; for a steady-state window, in which records of the warm-up still arrive, it is the life of
    the process. Of the load generator's records, the part that its throughput is of is not known, and so neither is
    `elapsed_at_throughput_ms`. `throughput_over_records` is the throughput over what the records per second come to,
    where both are above zero, and `throughput_unit_error_mib_s` how far it is from the MB/sec that Kafka's tool
    printed, beyond a thousandth of it.
    `latency_avg_least_ms` is what half the latencies alone contribute by being at or above the median; half a
    millisecond less, since the tool may take the median of a sample.
    """
    sent, pace_records_s = _number(repetition, "records_sent"), _number(repetition, "throughput_records_s")
    mib_s, printed_mib_s = _number(repetition, "throughput_mib_s"), _number(repetition, "printed_mib_s")
    wall_ms = repetition.wall_s * 1000
    has_pace = sent > 0 and pace_records_s > 0
    whole_run_ms = round(sent / pace_records_s * 1000, 0) + 1 if has_pace else math.nan
    steady_ms = (sent * _steady_share(study) - 1) / pace_records_s * 1000 if has_pace else math.nan
    is_whole_run = repetition.quantities["window"] == "whole_run"
    ratio = _ratio(mib_s * _BYTES_PER_MIB, pace_records_s * study.record_size_bytes(repetition.case))
    held, asked = _number(repetition, "paced_rate_records_s"), _number(repetition, "paced_rate_asked_records_s")
    return {
        "wall_ms": wall_ms,
        "elapsed_ms": whole_run_ms if is_whole_run else wall_ms,
        "elapsed_at_throughput_ms": whole_run_ms if is_whole_run else steady_ms,
        "latency_avg_least_ms": _number(repetition, "latency_p50_ms") / 2 - 0.5,
        "throughput_over_records": ratio if ratio > 0 and math.isfinite(ratio) else math.nan,
        "paced_rate_held": _ratio(held, asked),
        "throughput_unit_error_mib_s": abs(mib_s - printed_mib_s) - _PRINTED_TOLERANCE * printed_mib_s,
    }


def _is_broken(expectation_type: str, kwargs: dict[str, Any], values: dict[str, Any]) -> bool:
    """Returns whether the values break an expectation, as Great Expectations would say; for the suite's types alone.

    A missing value breaks only the expectation that asks for its presence.
    """
    if expectation_type == "expect_column_values_to_not_be_null":
        return _is_missing(values[kwargs["column"]])
    if expectation_type == "expect_column_values_to_be_between":
        value, low, high = values[kwargs["column"]], kwargs.get("min_value", -math.inf), kwargs.get("max_value")
        if _is_missing(value):
            return False
        too_low = value <= low if kwargs.get("strict_min") else value < low
        return bool(too_low or (high is not None and value > high))
    first, second = values[kwargs["column_A"]], values[kwargs["column_B"]]
    if _is_missing(first) or _is_missing(second):
        return False
    return bool(first != second if expectation_type.endswith("equal") else first < second)


def _require_known(expectation_type: str, kwargs: dict[str, Any], name: str) -> None:
    """Refuses a critical rule that this evaluator would judge otherwise than Great Expectations.

    Raises:
        BadInputError: Naming the rule, and its type or argument.
    """
    rule = f"critical rule {name} of {SUITE}"
    if expectation_type not in _KNOWN_ARGUMENTS:
        raise BadInputError(f"{rule}: {expectation_type}: must be one of {', '.join(_KNOWN_ARGUMENTS)}")
    if unknown := sorted(set(kwargs) - _KNOWN_ARGUMENTS[expectation_type]):
        raise BadInputError(f"{rule}: {expectation_type}: {unknown[0]}: is not known to campaign.plausibility")
    for argument, value in _FIXED_ARGUMENTS.items():
        if kwargs.get(argument, value) != value:
            raise BadInputError(f"{rule}: {expectation_type}: {argument}: {kwargs[argument]!r}: must be {value!r}")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _number(repetition: Repetition, name: str) -> float:
    value = repetition.number(name)
    return math.nan if value is None else value


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.nan


def _steady_share(study: ProducerStudy) -> float:
    protocol = study.protocol
    if protocol.seconds is None or protocol.load_tool == "load_generator":
        return math.nan
    return protocol.seconds / (protocol.seconds + protocol.warmup_seconds)
