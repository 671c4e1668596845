"""Derives what a repetition of a group of consumers cost, for comparisons."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from kafka_pareto.study.quantity import Shown, Value, Values, quantities_of


@dataclass(frozen=True)
class ConsumerCosts:
    """Holds what follows from a repetition's values; None where one of them is missing.

    Attributes:
        reading_cores: CPU seconds of the consumers' threads in each second in which they read what the topic held.
    """

    reading_cores: Annotated[float | None, Shown("consumers' CPU", maximised=False)] = None


CONSUMER_COSTS = quantities_of(ConsumerCosts)


def costs_of(values: Values) -> dict[str, Value]:
    """Returns the costs of one repetition by name; `values` is its row."""
    cpu_s, measured_s = values["consumer_threads_cpu_s"], values["measured_s"]
    known = isinstance(cpu_s, (int, float)) and isinstance(measured_s, (int, float)) and measured_s > 0
    return asdict(ConsumerCosts(float(cpu_s) / float(measured_s) if known else None))  # type: ignore[arg-type]
