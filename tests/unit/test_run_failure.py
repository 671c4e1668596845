"""The message that a failed step leaves in its log."""

from __future__ import annotations

import pytest

from kafka_pareto_embedded.follow import message_in

pytestmark = pytest.mark.fast

END = "Command exited with return code 65"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (["Output:", "error: a: b: c", END, "Task failed"], "error: a: b: c"),
        (["error: a: one", "a: two", "", END], "error: a: one\na: two"),
        (["error: first try", END, "error: second try", END], "error: second try"),
        (["plan: 9 repetitions", "cluster x", "error: too much", END], "plan: 9 repetitions\nerror: too much"),
        (["Output:", "KeyError: 'x'", "Command exited with return code 1", "step ended"], "KeyError: 'x'"),
        (["Output:", "error: killed before the end"], "error: killed before the end"),
        ([], "it has logged nothing; look at its log in Airflow"),
    ],
)
def test_is_found_whole_and_alone(log: list[str], message: str) -> None:
    assert message_in(log) == message
