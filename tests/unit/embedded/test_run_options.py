"""What `make` hands over, read and refused."""

from __future__ import annotations

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.commands.options import PREFIX, read_options
from kafka_pareto_embedded.runs.request import RunRequest
from kafka_pareto_embedded.runs.rollout import RollBackRequest

pytestmark = pytest.mark.fast


def given(**options: str) -> dict[str, str]:
    return {"STUDY": "of somebody's shell", **{f"{PREFIX}{name}": value for name, value in options.items()}}


def test_what_was_given_is_read_and_what_is_empty_was_not_given() -> None:
    said = given(STUDY="steady", SEED="7", CEILING_GIB="2.5", APPROVAL="yes", CAMPAIGN="", REASON=" ")
    assert read_options(RunRequest, "run", said) == RunRequest(study="steady", seed=7, ceiling_gib=2.5, approval=True)


def test_a_reason_keeps_every_character() -> None:
    reason = '$(rm -rf /) "quoted" {{ 1 + 1 }}; --campaign=x'
    said = given(STUDY="quick", RECORD_SIZE="8192", REASON=reason)
    assert read_options(RollBackRequest, "rollback", said).reason == reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"STUDY": "quick"}, "RECORD_SIZE is missing"),
        ({"STUDY": "quick", "RECORD_SIZE": "1/2"}, "RECORD_SIZE=1/2: must be lower-case letters, digits, '-' or '_'"),
        ({"STUDY": "../quick", "RECORD_SIZE": "1"}, "STUDY=../quick: must be lower-case letters, digits, '-' or '_'"),
        (
            {"STUDY": "quick", "RECORD_SIZE": "1", "RECORD_SIZES": "1,2"},
            "RECORD_SIZES=1,2: make rollback has no such option; did you mean RECORD_SIZE?",
        ),
        (
            {"STUDY": "quick", "RECORD_SIZE": "1", "XYZ": "1"},
            "XYZ=1: make rollback has no such option; it takes STUDY, RECORD_SIZE, REASON",
        ),
    ],
)
def test_what_cannot_be_used_is_named_as_it_was_given(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read_options(RollBackRequest, "rollback", given(**options))
    assert str(raised.value).splitlines() == [message, "`make help` explains every target and its options"]


@pytest.mark.parametrize(
    ("pause", "message"),
    [("-1", "must not be below 0"), ("nan", "must be a number"), ("5s", "must be a number")],
)
def test_a_pause_that_is_none_is_refused_before_anything_starts(pause: str, message: str) -> None:
    assert read_options(RunRequest, "run", given(COOL_DOWN_S="0")).cool_down_s == 0
    with pytest.raises(BadInputError, match=f"COOL_DOWN_S={pause}: {message}"):
        read_options(RunRequest, "run", given(COOL_DOWN_S=pause))
