"""Declare the quantities of the driver `producer`, from the load tools' parsers to the tables, and their costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures
from kafka_pareto.study.quantity import Quantities, Shown, Value, Values, quantities_of


@dataclass(frozen=True)
class ProducerQuantities(Quantities):
    """All quantities of one repetition of a producer.

    Attributes:
        window: The part of the run that the figures describe.
        throughput_mib_s: From the records per second.
        figures: None if nothing was measured.
        generator_bound: Why the load tool was the bottleneck; empty if it was not.
        counters: Counted on machine, brokers and client during the load.
        limited_by: The resource that limited the load, as a code of `bottleneck.limiting_resource`; empty if none was
            found, None if none was looked for.
        client_cpu_s_per_million_records: CPU seconds of the load tool in its whole life, per million records sent.
    """

    window: Literal["whole_run", "steady_state"]
    records_requested: int
    records_sent: int | None = None
    end_offset_growth: int | None = None
    throughput_mib_s: Annotated[float | None, Shown("throughput", maximised=True)] = None
    figures: LoadFigures | None = None
    client: ClientMetrics = field(default_factory=ClientMetrics)
    generator_bound: str = ""
    counters: LoadCounters = field(default_factory=LoadCounters)
    limited_by: str | None = None
    client_cpu_s_per_million_records: Annotated[float | None, Shown("client CPU", maximised=False)] = None


PRODUCER_QUANTITIES = quantities_of(ProducerQuantities)


@dataclass(frozen=True)
class ProducerCosts:
    """Derived from a repetition's values; None if one of them is missing.

    Attributes:
        client_cores: CPU seconds of the load tool per second of its life, warm-ups included.
        batch_fill_fraction: The average batch as sent (compressed) over `batch.size`.
    """

    client_cores: Annotated[float | None, Shown("client CPU", maximised=False)] = None
    batch_fill_fraction: Annotated[float | None, Shown("batch fill", maximised=True)] = None


PRODUCER_COSTS = quantities_of(ProducerCosts)


def costs_of(values: Values, batch_size_bytes: int) -> dict[str, Value]:
    """Return the costs of one repetition by name, from its row and its `batch.size`."""
    wall_s, cpu_s = _positive(values["wall_s"]), _positive(values["client_cpu_s"])
    sent, batch_bytes = _positive(values["records_sent"]), _positive(values["batch_size_avg_bytes"])
    costs = ProducerCosts(
        client_cores=cpu_s / wall_s if cpu_s and wall_s else None,
        batch_fill_fraction=batch_bytes / batch_size_bytes if batch_bytes and batch_size_bytes else None,
    )
    # Repetitions stored before it was a quantity lack it.
    return {**asdict(costs), "client_cpu_s_per_million_records": per_million(cpu_s, sent)}


def per_million(cpu_s: float | None, records: float | None) -> float | None:
    """Return the CPU time per million records, in seconds; None if either is missing or zero."""
    return 1e6 * cpu_s / records if cpu_s and records else None


def _positive(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None
