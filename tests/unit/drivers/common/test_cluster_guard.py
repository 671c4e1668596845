"""A cluster in trouble: seen, waited for or stopped at, and the block measured again; on the seeded fake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadRequest, LoadResult
from kafka_pareto.errors import ClusterError, LoadToolError, SafetyStop
from kafka_pareto.kafka.cluster import LogDir, TopicHealth
from tests.unit.measuring import CASE, IN_A_BLOCK, PLANNED, Measuring, foreign, measuring, quick

pytestmark = pytest.mark.fast

LOAD_BYTES = 1000 * int(CASE)


def in_trouble_after(m: Measuring, wanted: Callable[[int], bool]) -> Callable[[LoadResult], LoadResult]:
    """A replica falls out of sync during the given loads, and is back at the second check."""
    real = m.cluster.topic_health

    def spoil(result: LoadResult) -> LoadResult:
        if wanted(len(m.tool.requests)):
            m.cluster.in_sync = 2

            def look(*asked: object) -> TopicHealth:
                seen = real(*asked)
                m.cluster.in_sync = 3
                return seen

            m.cluster.topic_health = look
        return result

    return spoil


def test_trouble_during_a_block_sets_it_aside_and_measures_it_again(tmp_path: Path):
    with measuring(tmp_path) as m:
        spoiled = IN_A_BLOCK + 3
        m.tool.after_run = in_trouble_after(m, lambda number: number == spoiled)
        m.measure()

    assert len(m.tool.requests) == PLANNED + 3
    assert [r.outcome for r in m.stored()] == ["valid"] * PLANNED
    aside = m.aside()
    assert [r.repetition_id for r in aside] == [p.repetition_id for p in m.planned()[IN_A_BLOCK:spoiled]]
    assert [(r.outcome, r.upsets) for r in aside] == [("valid", 0), ("valid", 0), ("failed", 1)]
    assert "3 with a replica out of sync" in aside[-1].reason
    again = {r.repetition_id: r.started_at for r in m.stored()}
    assert all(again[r.repetition_id] > r.started_at for r in aside)


@pytest.mark.slow
def test_a_rejected_repetition_is_not_measured_a_third_time_by_a_resumed_task(tmp_path: Path):
    with measuring(tmp_path) as m:

        def die_after_trouble(_: LoadRequest) -> None:
            if len(m.tool.requests) == 5:
                raise KeyboardInterrupt

        m.tool.after_run = in_trouble_after(m, lambda number: number == 3)
        m.tool.before_run = die_after_trouble
        with pytest.raises(KeyboardInterrupt):
            m.measure()
        assert len(m.stored()) == 1
    with measuring(tmp_path) as m:
        m.measure()
        assert len(m.tool.requests) == PLANNED - 1
    assert len(m.stored()) == PLANNED
    assert len(m.aside()) == 3


def test_trouble_of_a_sequential_order_concerns_a_single_repetition(tmp_path: Path):
    with measuring(tmp_path, quick(protocol={"order": "sequential"})) as m:
        m.tool.after_run = in_trouble_after(m, lambda number: number == 5)
        m.measure()

    assert len(m.tool.requests) == PLANNED + 1
    assert [r.repetition_id for r in m.aside()] == [m.planned()[4].repetition_id]
    assert len(m.stored()) == PLANNED


def test_rejected_repetitions_of_the_confirmation_are_stored_under_their_own_prefix(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.tool.after_run = in_trouble_after(m, lambda number: number == 2)
        m.measure("choice")

    assert len(m.campaign.read_repetitions(m.campaign.keys.confirmation(CASE, "set_aside/"))) == 2
    assert m.aside() == []
    assert len(m.stored("choice")) == PLANNED


def test_a_block_that_never_gets_through_ends_the_task(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.tool.after_run = in_trouble_after(m, lambda _: True)
        with pytest.raises(ClusterError, match=r"block 0 could not be completed in 3 attempts .*replica out of sync"):
            m.measure()

    assert len(m.tool.requests) == 3
    assert m.stored() == []
    assert len(m.aside()) == 3


@pytest.mark.slow
def test_trouble_that_lasts_is_waited_for_and_then_said(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with measuring(tmp_path) as m:
        m.cluster.leaders = [1, None, 3]
        with pytest.raises(ClusterError, match="1 without a leader"):
            m.measure()

    assert m.tool.requests == []
    waits = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(waits) == 1
    assert "the cluster is unhealthy: topic" in waits[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"error": "KafkaStorageException: the disk is gone"}, "is offline: KafkaStorageException"),
        ({"usable_bytes": 3 * IN_A_BLOCK * LOAD_BYTES - 1}, "is nearly full: 140.6 MiB are free"),
    ],
    ids=["offline", "nearly full"],
)
def test_a_bad_log_directory_is_detected_before_a_block(tmp_path: Path, found: dict[str, int], words: str):
    with measuring(tmp_path) as m:
        directory = LogDir(
            broker_id=2, path="/data", total_bytes=1 << 40, usable_bytes=1 << 39, topic_bytes=0, error=None
        )
        m.cluster.dirs = (directory, directory.model_copy(update=found))
        with pytest.raises(ClusterError, match=f"log directory /data of broker 2 {words}"):
            m.measure()

    assert m.tool.requests == []


@pytest.mark.slow
def test_a_log_directory_that_goes_offline_during_a_block_spoils_it(tmp_path: Path):
    with measuring(tmp_path) as m:
        offline = LogDir(broker_id=2, path="/data", topic_bytes=0, error="KafkaStorageException")
        looks = iter([(), (offline,)])
        m.cluster.log_dirs = lambda _: next(looks, ())
        m.measure()

    assert len(m.aside()) == IN_A_BLOCK
    assert [r.outcome for r in m.stored()] == ["valid"] * PLANNED


def throttled(result: LoadResult) -> LoadResult:
    return replace(result, client=ClientMetrics(produce_throttle_max_ms=40.0))


@pytest.mark.parametrize("study", [quick(), foreign()], ids=["our own", "foreign"])
def test_a_quota_that_throttles_stops_the_campaign_on_any_cluster(tmp_path: Path, study):
    with measuring(tmp_path, study) as m:
        m.tool.after_run = lambda result: throttled(result) if len(m.tool.requests) == 3 else result
        with pytest.raises(SafetyStop, match="a quota of the cluster throttled the load by up to 40 ms"):
            m.measure()

    assert len(m.tool.requests) == 3
    assert m.stored() == []
    assert [r.outcome for r in m.aside()] == ["valid", "valid", "failed"]


@pytest.mark.parametrize("says_so", ["in its error", "in its result"])
def test_a_refused_load_stops_the_campaign_immediately(tmp_path: Path, says_so: str):
    complaint = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [t]"
    with measuring(tmp_path) as m:

        def refused(result: LoadResult) -> LoadResult:
            if says_so == "in its error":
                raise LoadToolError(f"the load generator failed with exit code 1: {complaint}")
            return replace(result, records_sent=0, figures=None, errors=complaint)

        m.tool.after_run = refused
        with pytest.raises(SafetyStop, match=r"the cluster denied access.*Not authorized"):
            m.measure()
    assert len(m.tool.requests) == 1


@pytest.mark.parametrize(("question", "loads"), [("topic_health", 0), ("wait_for_end_offset_growth", 1)])
def test_a_right_that_is_missing_before_or_after_a_load_stops_the_campaign(tmp_path: Path, question: str, loads: int):
    with measuring(tmp_path) as m:

        def refuse(*_: object) -> None:
            raise ClusterError("ask for Describe", "TopicAuthorizationException")

        setattr(m.cluster, question, refuse)
        with pytest.raises(SafetyStop, match="ask for Describe"):
            m.measure()
    assert len(m.tool.requests) == loads


def test_on_a_foreign_cluster_a_shrinking_isr_stops_the_campaign_immediately(tmp_path: Path):
    with measuring(tmp_path, foreign()) as m:

        def lose_a_replica(_: LoadRequest) -> None:
            m.cluster.in_sync = 2 if len(m.tool.requests) == 5 else 3

        m.tool.before_run = lose_a_replica
        with pytest.raises(SafetyStop, match=r"the load was stopped.*replica out of sync"):
            m.measure()

    assert m.stored() == []
    assert len(m.aside()) == 5


def test_on_a_foreign_cluster_trouble_seen_after_the_load_stops_the_campaign_too(tmp_path: Path):
    with measuring(tmp_path, foreign()) as m:
        m.tool.after_run = in_trouble_after(m, lambda _: True)
        with pytest.raises(SafetyStop, match="its load may be the cause: the cluster is unhealthy"):
            m.measure()
        assert len(m.tool.requests) == 1


def test_a_tool_that_gave_up_excuses_no_look_at_the_cluster(tmp_path: Path):
    with measuring(tmp_path) as m:

        def hang_on_a_sick_cluster(_: LoadRequest) -> None:
            if len(m.tool.requests) == 2:
                in_trouble_after(m, lambda _: True)(LoadResult(0, 0, None, ClientMetrics(), 0.0, 0.0, ""))
                raise LoadToolError("the load generator did not finish within 120 s")

        m.tool.before_run = hang_on_a_sick_cluster
        m.measure()

    assert len(m.aside()) == 2
    assert "replica out of sync" in m.aside()[-1].reason
    assert [r.outcome for r in m.stored()] == ["valid"] * PLANNED


def test_on_a_foreign_cluster_a_tool_that_gave_up_on_it_stops_the_campaign(tmp_path: Path):
    with measuring(tmp_path, foreign()) as m:

        def hang_on_a_sick_cluster(_: LoadRequest) -> None:
            m.cluster.in_sync = 2
            raise LoadToolError("the load generator did not finish within 120 s")

        m.tool.before_run = hang_on_a_sick_cluster
        with pytest.raises(SafetyStop, match="its load may be the cause"):
            m.measure()
    assert len(m.tool.requests) == 1


@pytest.mark.parametrize("question", ["topic_health", "wait_for_end_offset_growth"])
def test_a_foreign_cluster_that_stops_answering_under_a_load_is_left_alone(tmp_path: Path, question: str):
    with measuring(tmp_path, foreign()) as m:

        def silence(*_: object) -> None:
            raise ClusterError("no answer within 5 s", "TimeoutException")

        m.tool.before_run = lambda _: setattr(m.cluster, question, silence)
        with pytest.raises(SafetyStop, match="its load may be the cause: no answer within 5 s"):
            m.measure()
    assert len(m.tool.requests) == 1


@pytest.mark.parametrize("killed_at", ["copying", "deleting"])
def test_a_block_whose_setting_aside_was_killed_is_measured_again_as_a_whole(tmp_path: Path, killed_at: str):
    with measuring(tmp_path) as m:
        spoiled = IN_A_BLOCK + 4
        m.tool.after_run = in_trouble_after(m, lambda number: number == spoiled)
        store, calls = m.campaign.store, []
        operation = "put" if killed_at == "copying" else "delete"
        real = getattr(store, operation)

        def die_at_the_second(key: str, *content: bytes) -> None:
            counts = operation == "delete" or ("set_aside" in key and m.aside())
            calls.extend([key] if counts else [])
            if counts and len(calls) == 2:
                raise KeyboardInterrupt
            real(key, *content)

        setattr(store, operation, die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            m.measure()
    with measuring(tmp_path) as m:
        m.measure()

    again = {r.repetition_id: r.started_at for r in m.stored()}
    assert len(again) == PLANNED
    assert [r.repetition_id for r in m.aside()] == [p.repetition_id for p in m.planned()[IN_A_BLOCK:spoiled]]
    assert all(again[r.repetition_id] > r.started_at for r in m.aside())


def test_between_two_repetitions_without_a_pause_the_cluster_is_asked_once(tmp_path: Path):
    with measuring(tmp_path) as m:
        looks: list[str] = []
        real = m.cluster.topic_health
        m.cluster.topic_health = lambda topic, *_: looks.append(topic) or real(topic)
        m.measure()

    assert len(looks) == PLANNED + 1
