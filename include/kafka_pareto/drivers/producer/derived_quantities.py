"""Derives what a repetition of a producer cost, and how full its batches were, for comparisons."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from kafka_pareto.study.quantity import Shown, Value, Values, quantities_of


@dataclass(frozen=True)
class ProducerCosts:
    """Holds what follows from a repetition's values; None where one of them is missing.

    Attributes:
        client_cores: CPU seconds of the load tool in each second of its life, warm-ups included.
        client_cpu_s_per_million_records: Of all records that it sent.
        batch_fill_fraction: The average batch as it was sent, compressed where it is, over `batch.size`.
    """

    client_cores: Annotated[float | None, Shown("client CPU", maximised=False)] = None
    client_cpu_s_per_million_records: Annotated[float | None, Shown("client CPU", maximised=False)] = None
    batch_fill_fraction: Annotated[float | None, Shown("batch fill", maximised=True)] = None


PRODUCER_COSTS = quantities_of(ProducerCosts)


def costs_of(values: Values, batch_size_bytes: int) -> dict[str, Value]:
    """Returns the costs of one repetition by name.

    Args:
        values: The repetition's row.
        batch_size_bytes: Its `batch.size`.
    """
    wall_s, cpu_s = _positive(values["wall_s"]), _positive(values["client_cpu_s"])
    sent, batch_bytes = _positive(values["records_sent"]), _positive(values["batch_size_avg_bytes"])
    return asdict(
        ProducerCosts(
            client_cores=cpu_s / wall_s if cpu_s and wall_s else None,
            client_cpu_s_per_million_records=1e6 * cpu_s / sent if cpu_s and sent else None,
            batch_fill_fraction=batch_bytes / batch_size_bytes if batch_bytes and batch_size_bytes else None,
        )
    )


def _positive(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None
