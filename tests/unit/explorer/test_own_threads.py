from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from threading import Event, get_ident

import pytest
from fastapi import FastAPI, Response
from pydantic import BaseModel
from starlette.testclient import TestClient

from kafka_pareto.errors import BadInputError
from kafka_pareto_airflow.explorer.own_threads import BusyError, DataRouter, OwnThreads

pytestmark = pytest.mark.fast


class Counted:
    """Returns its number of calls once `resume` is set."""

    def __init__(self, resume: Event) -> None:
        self.resume, self.times = resume, 0

    def __call__(self) -> Response:
        self.times += 1
        self.resume.wait(10)
        return Response(str(self.times))


@pytest.fixture
def counted() -> Iterator[Counted]:
    found = Counted(Event())
    yield found
    found.resume.set()


def bodies(*answers: Response) -> list[bytes]:
    return [bytes(answer.body) for answer in answers]


def test_whoever_asks_while_an_answer_is_computed_gets_that_one_and_whoever_asks_later_a_new_one(
    counted: Counted,
) -> None:
    async def story() -> list[bytes]:
        threads = OwnThreads()
        asked = [asyncio.create_task(threads.shared_answer("a", counted)) for _ in range(40)]
        await asyncio.sleep(0)
        counted.resume.set()
        together = await asyncio.gather(*asked)
        return bodies(*together, await threads.shared_answer("a", counted))

    assert asyncio.run(story()) == [b"1"] * 40 + [b"2"]


def test_an_answer_is_cached_in_proportion_to_its_cost(counted: Counted) -> None:
    async def story() -> list[bytes]:
        threads = OwnThreads()
        begun = asyncio.create_task(threads.shared_answer("a", counted, 1e6))
        await asyncio.sleep(0.01)
        counted.resume.set()
        first = await begun
        return bodies(first, await threads.shared_answer("a", counted), await threads.shared_answer("b", counted))

    assert asyncio.run(story()) == [b"1", b"1", b"2"]


def test_an_error_is_not_cached(counted: Counted) -> None:
    def fail() -> Response:
        raise BadInputError("not yet")

    async def story() -> list[bytes]:
        threads = OwnThreads()
        counted.resume.set()
        with pytest.raises(BadInputError, match="not yet"):
            await threads.shared_answer("a", fail, 1e6)
        return bodies(await threads.shared_answer("a", counted))

    assert asyncio.run(story()) == [b"1"]


def test_too_many_questions_are_refused_until_there_is_room(counted: Counted) -> None:
    async def story() -> list[bytes]:
        threads = OwnThreads(threads=1, most_open=2)
        asked = [asyncio.create_task(threads.answer(counted)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="the explorer is busy; try again in a minute"):
            await threads.answer(counted)
        counted.resume.set()
        await asyncio.gather(*asked)
        return bodies(await threads.answer(counted))

    assert asyncio.run(story()) == [b"3"]


def test_repeated_page_requests_do_not_delay_other_requests(counted: Counted) -> None:
    async def story() -> bytes:
        threads = OwnThreads(threads=2, most_open=2, longest_s=5)
        asked = [asyncio.create_task(threads.shared_answer(campaign, counted, 9)) for campaign in ("a", "b")]
        await asyncio.sleep(0)
        found = await threads.answer(lambda: b"moved")
        counted.resume.set()
        await asyncio.gather(*asked)
        return found

    assert asyncio.run(story()) == b"moved"


def test_a_question_waits_for_a_limited_time(counted: Counted) -> None:
    with pytest.raises(BusyError, match=r"no answer after 0\.01 s"):
        asyncio.run(OwnThreads(longest_s=0.01).answer(counted))


class Found(BaseModel):
    size: float
    thread: int


def client_of(route: Callable[[str], object]) -> TestClient:
    app, router = FastAPI(), DataRouter(OwnThreads(), "/api")
    router.get("/{name}")(route)
    app.include_router(router)
    return TestClient(app)


def test_a_route_is_computed_elsewhere_and_answers_in_the_json_of_its_type() -> None:
    def found(name: str) -> list[Found]:
        return [Found(size=len(name), thread=get_ident())]

    answer = client_of(found).get("/api/four")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()[0]["size"] == 4.0
    assert answer.json()[0]["thread"] != get_ident()


def test_a_route_that_answers_by_itself_is_left_as_it_is() -> None:
    def found(name: str) -> Response:
        return Response(name, 202, media_type="text/plain")

    answer = client_of(found).get("/api/four")
    assert (answer.status_code, answer.text) == (202, "four")
