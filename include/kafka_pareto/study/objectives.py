"""What is wanted of a configuration: the objectives, hard limits on them, and how to choose among what keeps them."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from kafka_pareto.study.factors import is_number
from kafka_pareto.study.section import Texts

Objective = Literal["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"]
OBJECTIVES: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv")
Amount = TypeVar("Amount", float, npt.NDArray[np.float64])
MEANS: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s")
"""What every configuration is judged by first: a repetition measures them well, and the CVs hardly."""
MAXIMISED: frozenset[Objective] = frozenset({"throughput_mib_s"})


class Limit(BaseModel):
    """A bound that an objective must keep, like `p95_latency_ms <= 50`; the baseline is exempt."""

    model_config = ConfigDict(frozen=True)

    objective: Objective
    bound: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Reads one limit.

        Raises:
            ValueError: If it is not of the form `objective <= number`, or bounds the objective on its good side.
        """
        match = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*([0-9.eE+-]+)\s*", text)
        if match is None or not is_number(match[3]):
            raise ValueError(f"{text!r} is no limit: write it like 'p95_latency_ms <= 50'")
        name = next((objective for objective in OBJECTIVES if objective == match[1]), None)
        if name is None:
            near = difflib.get_close_matches(match[1], OBJECTIVES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{match[1]} is no objective; there are {', '.join(OBJECTIVES)}{hint}")
        wanted = ">=" if name in MAXIMISED else "<="
        if match[2] != wanted or float(match[3]) <= 0:
            raise ValueError(f"{text!r}: a limit on {name} reads '{name} {wanted} <a number above 0>'")
        return cls(objective=name, bound=float(match[3]))

    def excess_fraction(self, value: Amount) -> Amount:
        """By which share of the bound the value misses it; 0 or below where it keeps it, NaN where it is not known."""
        excess: Amount = (value - self.bound) / self.bound
        return -excess if self.objective in MAXIMISED else excess

    def __str__(self) -> str:
        bound = f"{self.bound:g}"
        exact = bound if float(bound) == self.bound else repr(self.bound)
        return f"{self.objective} {'>=' if self.objective in MAXIMISED else '<='} {exact}"


Limits: TypeAlias = Annotated[list[Limit], Texts(Limit.parse)]
