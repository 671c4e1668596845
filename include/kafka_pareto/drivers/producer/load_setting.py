"""Says what a producer's repetition was asked to do, as far as it tells what limited it."""

from __future__ import annotations

from kafka_pareto.bottleneck.verdict import LoadSetting
from kafka_pareto.campaign.records import Sizing, TimedLoad
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.workload import Payload


def load_setting(study: ProducerStudy, case: str, configuration: Configuration, sizing: Sizing) -> LoadSetting:
    """Returns the setting of a repetition of this configuration.

    Args:
        study: The study that it belongs to.
        case: Its case.
        configuration: What it was measured with.
        sizing: What was sent with it, see `attempt.sized_for`.
    """
    load = study.load_of(case, configuration)
    return LoadSetting(
        record_size_bytes=load.record_size_bytes,
        properties=study.properties(configuration),
        rate_limit_records_s=rate_limit_records_s(sizing.timed, sizing.throughput_limit_records_s),
        producers=load.producers,
        payload=payload_text(load.payload),
    )


def rate_limit_records_s(timed: TimedLoad | None, limit_records_s: float | None) -> float | None:
    """Returns the rate that the first part of a load may not exceed; None for as fast as it goes."""
    if timed is not None and timed.seconds <= 0:
        return timed.paced_rate_records_s
    return limit_records_s


def payload_text(payload: Payload) -> str:
    """Names a payload, so that equal ones are told from others."""
    return payload if isinstance(payload, str) else repr(payload)
