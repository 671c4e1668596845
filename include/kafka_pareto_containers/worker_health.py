"""Check that this container's Celery worker is connected to its queue; pinging it would take seconds of CPU.

Detects a worker that has lost its queue, but not a connected worker that hangs.
"""

from __future__ import annotations

import os
import sys

import redis

_TIMEOUT_S = 5.0


def main() -> int:
    """Return 0 if another process at this container's address is a client of Redis, else 1."""
    broker = redis.Redis.from_url(os.environ["AIRFLOW__CELERY__BROKER_URL"], socket_timeout=_TIMEOUT_S)
    own = broker.client_info()
    clients = [client for client in broker.client_list() if int(client["id"]) != int(own["id"])]
    return 0 if any(_host(client["addr"]) == _host(own["addr"]) for client in clients) else 1


def _host(address: object) -> str:
    return str(address).rpartition(":")[0]


if __name__ == "__main__":
    sys.exit(main())
