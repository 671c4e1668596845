"""The message that a failed step leaves in its log."""

from __future__ import annotations

import pytest

from kafka_pareto_embedded.runs.follow import message_in

pytestmark = pytest.mark.fast

RUN = "Running command: ['setpriv']"
EXIT = "Command exited with return code 65"
END = "Task failed with exception"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ([RUN, "error: a: b: c", EXIT, END, "AirflowFailException: error: a: b: c"], "error: a: b: c"),
        ([RUN, "error: a: one", "a: two", "", EXIT], "error: a: one\na: two"),
        ([RUN, "error: first try", "error: second try", END], "error: second try"),
        ([RUN, "plan: 9 repetitions", "cluster x", "error: too much", END], "plan: 9 repetitions\nerror: too much"),
        (
            [RUN, "plan: 9 repetitions", "plan: not watched: 3 topics", "error: consent", END],
            "plan: 9 repetitions\nplan: not watched: 3 topics\nerror: consent",
        ),
        ([RUN, "KeyError: 'x'", EXIT, END, "AirflowException: step x ended with exit code 1"], "KeyError: 'x'"),
        ([RUN, "error: killed before the end"], "error: killed before the end"),
        (["Filling up the DagBag", END, "TypeError: no step was started"], "TypeError: no step was started"),
        (
            [RUN, END, "AirflowException: step x ended with exit code -9"],
            "no output; see the task's log in Airflow",
        ),
        ([], "no output; see the task's log in Airflow"),
    ],
)
def test_is_found_complete_and_alone(log: list[str], message: str) -> None:
    assert message_in(log) == message
