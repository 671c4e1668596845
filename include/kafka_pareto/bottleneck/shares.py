"""Find the bottleneck of one load, and compare the load with the machine's ceilings without Kafka."""

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
    """The bottleneck of a load, and the load's share of each ceiling."""

    verdict: Verdict
    shares: Mapping[CeilingName, float] = field(default_factory=dict)


def limit_of(values: Values, setting: LoadSetting, ceilings: Ceilings | None) -> Limit:
    """Return the bottleneck and shares; ceilings for other records do not affect the verdict.

    Args:
        values: The repetition's quantities by name.
        setting: The repetition's settings.
        ceilings: The machine's, if measured.
    """
    if ceilings is None:
        return Limit(verdict_on(values, setting))
    comparable = ceilings if is_comparable(ceilings, setting) else None
    return Limit(verdict_on(values, setting, comparable), shares_of(values, setting, ceilings))


def is_comparable(ceilings: Ceilings, setting: LoadSetting) -> bool:
    """Return whether codecs and load generator were measured with the load's kind of records."""
    return (ceilings.record_size_bytes, ceilings.payload) == (setting.record_size_bytes, setting.payload)


def shares_of(values: Values, setting: LoadSetting, ceilings: Ceilings) -> dict[CeilingName, float]:
    """Return a load's share of each measured ceiling.

    The one-core ceilings of generator and codec are multiplied by the producers, up to the machine's cores. For
    loopback, the compressed bytes of all connections count.

    Args:
        values: The repetition's quantities by name.
        setting: The repetition's settings.
        ceilings: The machine's; those of codecs and generator count only for comparable records.
    """
    sent_mib_s, codec = number_in(values, "throughput_mib_s"), str(setting.property_of("compression.type"))
    rate, comparable = number_in(values, "compression_rate_avg"), is_comparable(ceilings, setting)
    on_the_wire_mib_s = None if sent_mib_s is None else sent_mib_s * (1.0 if rate is None else rate)
    cores = ceilings.cores_for(setting.producers)
    pairs: Mapping[CeilingName, tuple[float | None, float | None]] = {
        "generator": (
            number_in(values, "throughput_records_s"),
            ceilings.generator_records_s * cores if comparable else None,
        ),
        "codec": (sent_mib_s, ceilings.codec_mib_s.get(codec, 0.0) * cores if comparable else None),
        "disk": (number_in(values, "disk_write_mib_s"), ceilings.disk_write_mib_s),
        "loopback": (on_the_wire_mib_s, ceilings.loopback_mib_s),
    }
    return {name: value / ceiling for name, (value, ceiling) in pairs.items() if value is not None and ceiling}
