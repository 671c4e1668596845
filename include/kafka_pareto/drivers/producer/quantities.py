"""Declares the quantities of the driver `producer`: each once, from the load tools' parsers to the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.drivers.common.load_figures import ClientMetrics, LoadFigures
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class ProducerQuantities(Quantities):
    """Holds all quantities of one repetition of a producer.

    Attributes:
        window: What the figures are of.
        throughput_mib_s: From the records per second.
        figures: None where nothing was measured.
        generator_bound: Why the load tool rather than Kafka set the pace; empty when it did not.
        counters: What was counted of machine, brokers and client while the load ran.
        limited_by: The resource that limited the load, as a code of `bottleneck.verdict`; empty where none was found,
            None where nobody looked.
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


PRODUCER_QUANTITIES = quantities_of(ProducerQuantities)
