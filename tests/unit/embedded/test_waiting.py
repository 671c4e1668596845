"""What is said when a condition does not hold in time."""

from __future__ import annotations

import pytest

from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.waiting import wait_until

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("remedy", "said"), [("see its log", "not within 0 s: it is up; see its log"), ("", "not within 0 s: it is up")]
)
def test_is_the_condition_and_what_to_do_if_that_is_known(remedy: str, said: str) -> None:
    with pytest.raises(StackError) as refused:
        wait_until("it is up", lambda: False, 0.01, remedy, poll_s=0.01)
    assert str(refused.value) == said
