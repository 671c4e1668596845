"""Answers the doctor's page: one examination at a time, with an end, and clear where the cluster is away."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto_airflow.explorer.doctor_routes import Examination, doctor_router

pytestmark = pytest.mark.fast


def asked(examination: Examination) -> tuple[int, str, str]:
    app = FastAPI()
    app.include_router(doctor_router(examination, "default-src 'none'"))
    answer = TestClient(app).get("/doctor")
    return answer.status_code, answer.text, answer.headers.get("Content-Security-Policy", "")


def failing(error: Exception) -> Callable[[], str]:
    def look() -> str:
        raise error

    return look


def test_a_finished_examination_is_the_page() -> None:
    assert asked(Examination(look=lambda: "<p>found</p>")) == (200, "<p>found</p>", "default-src 'none'")


@pytest.mark.parametrize(("error", "status"), [(ClusterError("<b> is away"), 503), (BadInputError("<b>: none"), 404)])
def test_a_cluster_that_is_away_or_missing_is_said_without_markup(error: Exception, status: int) -> None:
    found, text, _ = asked(Examination(look=failing(error)))
    assert found == status
    assert "The cluster could not be examined: &lt;b&gt;" in text


def test_who_asks_waits_for_a_limited_time_and_joins_an_examination_that_is_under_way() -> None:
    looks, go_on = [], Event()

    def look() -> str:
        looks.append(1)
        go_on.wait(10)
        return "found"

    examination = Examination(longest_s=0.02, look=look)
    status, text, _ = asked(examination)
    assert (status, "has not ended after 0.02 s" in text) == (503, True)
    assert asked(examination)[0] == 503
    go_on.set()
    assert len(looks) == 1
