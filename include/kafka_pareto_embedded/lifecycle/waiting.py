"""Wait for a condition, with a deadline and a message."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto_embedded.errors import StackError

_POLL_S = 0.2


def wait_until(
    what: str, condition: Callable[[], bool], timeout_s: float, fix: str = "", poll_s: float = _POLL_S
) -> None:
    """Poll until the condition holds; `what` describes it, as in "MinIO answers".

    Raises:
        StackError: If it does not hold in time; errors of the condition pass through.
    """
    if not holds_within(timeout_s, condition, poll_s):
        raise StackError("; ".join(filter(None, (f"timeout after {timeout_s:.0f} s, waiting until {what}", fix))))


def holds_within(timeout_s: float, condition: Callable[[], bool], poll_s: float) -> bool:
    """Poll until the condition holds; return False after the timeout."""
    asking = Retrying(
        retry=retry_if_result(lambda holds: not holds),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(poll_s),
        retry_error_callback=lambda _: False,
    )
    return asking(condition)
