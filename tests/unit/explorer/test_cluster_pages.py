from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from threading import Event

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.middleware.gzip import GZipMiddleware
from starlette.testclient import TestClient

from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto_airflow.explorer.cluster_pages import cluster_router

pytestmark = pytest.mark.fast


@pytest.fixture
def resume() -> Iterator[Event]:
    """Release waiting examinations, at the latest at the end of the test."""
    event = Event()
    yield event
    event.set()


def asked(look: Callable[[], str], **options: float) -> tuple[int, str, str]:
    app = FastAPI()
    app.include_router(cluster_router("default-src 'none'", {"audit": look}, **options))
    answer = TestClient(app).get("/audit")
    return answer.status_code, answer.text, answer.headers.get("Content-Security-Policy", "")


def failing(error: Exception) -> Callable[[], str]:
    def look() -> str:
        raise error

    return look


def test_a_finished_examination_is_the_page() -> None:
    assert asked(lambda: "<p>found</p>") == (200, "<p>found</p>", "default-src 'none'")


@pytest.mark.parametrize(("error", "status"), [(ClusterError("<b> is away"), 503), (BadInputError("<b>: none"), 404)])
def test_a_cluster_that_is_away_or_missing_is_reported_without_markup(error: Exception, status: int) -> None:
    found, text, _ = asked(failing(error))
    assert found == status
    assert "<title>Audit</title>" in text
    assert "The cluster could not be inspected: &lt;b&gt;" in text


def test_who_asks_waits_for_a_limited_time(resume: Event) -> None:
    status, text, _ = asked(lambda: str(resume.wait(10)), longest_s=0.02)
    assert (status, "no answer after 0.02 s; try again in a minute" in text) == (503, True)


def test_forty_open_pages_are_one_examination_and_do_not_delay_a_heartbeat(resume: Event) -> None:
    looks = []

    def look() -> str:
        looks.append(1)
        resume.wait(10)
        return "found"

    app = FastAPI()
    app.add_middleware(GZipMiddleware, minimum_size=1)  # as Airflow does: it edits the headers of each answer
    app.include_router(cluster_router("default-src 'none'", {"doctor": look}))
    app.get("/heartbeat")(lambda: "alive")  # a synchronous route, as those of Airflow's API server are

    async def story() -> tuple[str, int, set[str]]:
        async with AsyncClient(transport=ASGITransport(app), base_url="http://here") as client:
            pages = [asyncio.create_task(client.get("/doctor")) for _ in range(40)]
            while not looks:
                await asyncio.sleep(0.001)
            heartbeat = await asyncio.wait_for(client.get("/heartbeat"), 5)
            answered = sum(page.done() for page in pages)
            resume.set()
            return heartbeat.json(), answered, {answer.text for answer in await asyncio.gather(*pages)}

    assert asyncio.run(story()) == ("alive", 0, {"found"})
    assert len(looks) == 1
