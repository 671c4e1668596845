"""A run's load; separate from `load.py`, whose web client takes a quarter of a second to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """The load of a run.

    Attributes:
        run: Prefix of its account names.
        seed: Seed of customers' behavior and due times.
        rate_s: Requests per second; a process gets its share.
        begins_at: Start of the first second, in seconds since 1970.
        workload: `shop`; `static` for one path that the web server answers itself; or `replay`.
        burst_from_s: Start of the burst in seconds after `begins_at`.
        burst_until_s: End of the burst; 0 for none.
        burst_times: Factor of the burst.
    """

    run: str
    seed: str
    rate_s: float
    seconds: float
    begins_at: float = 0.0
    workload: str = "shop"
    burst_from_s: float = 0.0
    burst_until_s: float = 0.0
    burst_times: float = 1.0
