"""Name what limited one load, and compare it with the machine's ceilings without Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, Verdict, number_in, verdict_on
from kafka_pareto.study.quantity import Values

CeilingName: TypeAlias = Literal["generator", "codec", "disk", "loopback"]


@dataclass(frozen=True)
class Limit:
    """The limit of a load, and its share of each ceiling."""

    verdict: Verdict
    shares: Mapping[CeilingName, float] = field(default_factory=dict)


def limit_of(values: Values, setting: LoadSetting, ceilings: Ceilings | None) -> Limit:
    """Return what limited a load; ceilings of other records do not count towards the verdict.

    Args:
        values: The quantities of the repetition, by name.
        setting: The request.
        ceilings: Of the same machine, if measured.
    """
    if ceilings is None:
        return Limit(verdict_on(values, setting))
    comparable = ceilings if is_comparable(ceilings, setting) else None
    return Limit(verdict_on(values, setting, comparable), shares_of(values, setting, ceilings))


def is_comparable(ceilings: Ceilings, setting: LoadSetting) -> bool:
    """Return whether codecs and load generator were measured with the load's kind of records."""
    return (ceilings.record_size_bytes, ceilings.payload) == (setting.record_size_bytes, setting.payload)


def shares_of(values: Values, setting: LoadSetting, ceilings: Ceilings) -> dict[CeilingName, float]:
    """Return a load's share of each ceiling, without those not measured.

    The one-core ceilings of generator and codec are multiplied by the producers, up to the machine's cores. Loopback
    counts what the client sent after compression, over all its connections.

    Args:
        values: The quantities of the repetition, by name.
        setting: The request.
        ceilings: Of the same machine. Those of codecs and generator count only for comparable records.
    """
    sent_mib_s, codec = number_in(values, "throughput_mib_s"), str(setting.property_of("compression.type"))
    rate, kept = number_in(values, "compression_rate_avg"), is_comparable(ceilings, setting)
    on_the_wire_mib_s = None if sent_mib_s is None else sent_mib_s * (1.0 if rate is None else rate)
    cores = ceilings.cores_for(setting.producers)
    pairs: Mapping[CeilingName, tuple[float | None, float | None]] = {
        "generator": (
            number_in(values, "throughput_records_s"),
            ceilings.generator_records_s * cores if kept else None,
        ),
        "codec": (sent_mib_s, ceilings.codec_mib_s.get(codec, 0.0) * cores if kept else None),
        "disk": (number_in(values, "disk_write_mib_s"), ceilings.disk_write_mib_s),
        "loopback": (on_the_wire_mib_s, ceilings.loopback_mib_s),
    }
    return {name: done / most for name, (done, most) in pairs.items() if done is not None and most}
