"""Says what a process of the load is to send. It imports no web client, which takes a quarter of a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """Says what is to be sent.

    Attributes:
        run: Begins the names of its accounts.
        seed: What people do, and when, is drawn from it.
        rate_s: Requests in each second: a process is told its share.
        seconds: How long.
        begins_at: The first second's beginning, in seconds since 1970.
        workload: A shopper's requests, or those that the web server answers itself: one path, or a log's.
        burst_from_s: From so many seconds after `begins_at` on requests are due faster.
        burst_until_s: Until so many seconds after it; 0 for never.
        burst_times: How many times as fast.
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
