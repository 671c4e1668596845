"""Accepting, retrying and storing repetitions; on the seeded fake, with a real store and lease."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_pareto.campaign.records import Fingerprint, Repetition
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import (
    BadInputError,
    DisturbedError,
    GateError,
    LeaseHeldError,
    LoadStartError,
    LoadToolError,
    PlanError,
)
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.host_load import outlier_reason, wait_until_undisturbed
from kafka_pareto.measurement.limits import MeasuringLimits
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.study.protocol import OutlierRule
from tests.unit.measuring import CASE, IN_A_BLOCK, PLANNED, Measuring, foreign, measuring, quick

pytestmark = pytest.mark.fast

# So that the early stop stays out of what is not about it.
TOLERANT = {"tolerated_rejected_fraction": 1.0}


def test_measures_every_planned_repetition_once_and_the_baseline_in_every_block(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.measure()

    found = m.stored()
    assert len({repetition.repetition_id for repetition in found}) == len(found) == PLANNED
    assert sorted(r.block for r in found if r.is_baseline) == [0, 1]
    assert {r.outcome for r in found} == {"valid"}


def test_a_killed_task_resumes_where_it_stopped_and_ends_with_the_same_repetitions(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.fail(KeyboardInterrupt(), lambda _: len(m.tool.requests) == 7)
        with pytest.raises(KeyboardInterrupt):
            m.measure()
    first = {repetition.repetition_id: repetition for repetition in m.stored()}
    with measuring(tmp_path) as m:
        m.measure()
        assert len(m.tool.requests) == PLANNED - 6

    after = {repetition.repetition_id: repetition for repetition in m.stored()}
    assert len(first) == 6
    assert len(after) == PLANNED
    assert all(after[name] == repetition for name, repetition in first.items())


def test_stored_repetitions_are_returned_whoever_measured_them(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.fail(KeyboardInterrupt(), lambda _: len(m.tool.requests) == 7)
        with pytest.raises(KeyboardInterrupt):
            m.measure()
    with measuring(tmp_path) as m:
        returned = m.measure()

    assert len(returned) == PLANNED
    assert returned == m.stored()


def test_repetitions_of_other_phases_below_the_prefix_are_not_returned(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.measure("choice")
        store = RepetitionStore(m.campaign, m.prefix("choice"))
        gain = MeasurementPhase(m.planned("gain")[:2], store)
        returned = Measurer(m.campaign.study, ProducerRunner(m.campaign, CASE, m.testbed)).measure(gain)

    assert [r.phase for r in returned] == ["gain", "gain"]
    assert len(m.stored("choice")) == PLANNED + 2


def test_a_phase_reads_the_store_once(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.fail(KeyboardInterrupt(), lambda _: len(m.tool.requests) == 9)
        with pytest.raises(KeyboardInterrupt):
            m.measure()
    with measuring(tmp_path) as m:
        read: list[str] = []
        get = m.campaign.store.get
        m.campaign.store.get = lambda key: read.append(key) or get(key)  # type: ignore[method-assign]
        m.measure()

    repetitions = [key for key in read if key.startswith(m.prefix())]
    assert len(repetitions) == len(set(repetitions)) == 8


def test_values_that_contradict_each_other_are_stored_as_failed_and_not_measured_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with measuring(tmp_path, quick(validation=TOLERANT)) as m:

        def print_nonsense_once(result: LoadResult) -> LoadResult:
            if len(m.tool.requests) != 3 or result.figures is None:
                return result
            return replace(result, figures=replace(result.figures, latency_p95_ms=1e6))

        m.tool.after_run = print_nonsense_once
        m.measure()
        assert len(m.tool.requests) == PLANNED

    (failed,) = [r for r in m.stored() if r.outcome != "valid"]
    assert failed.repetition_id == m.planned()[2].repetition_id
    assert (failed.outcome, failed.attempts, failed.number("latency_p95_ms")) == ("failed", 1, 1e6)
    assert failed.reason == "the p95 latency is above p99"
    assert failed.broken_rules == ["p95_within_p99"]
    assert f"{failed.repetition_id} counts as failed because of implausible values: {failed.reason}" in caplog.text


def test_implausible_values_count_for_the_early_stop(tmp_path: Path):
    study = quick(record_sizes_bytes=[int(CASE)], validation={"tolerated_rejected_fraction": 0.0})
    with measuring(tmp_path, study) as m:

        def print_nonsense(result: LoadResult) -> LoadResult:
            assert result.figures is not None
            return replace(result, figures=replace(result.figures, latency_p95_ms=1e6))

        m.tool.after_run = print_nonsense
        with pytest.raises(GateError, match=r"1 of 12 planned repetitions failed(.|\n)*the p95 latency is above p99"):
            m.measure()


@pytest.mark.parametrize(
    ("lost", "outcome", "reason"),
    [
        (3, "records_lost", "3 of 1000 records counted as sent are missing from the topic"),
        (-2, "records_duplicated", "the topic contains 2 more records than were sent"),
    ],
)
def test_other_records_in_the_topic_than_were_sent_are_an_outcome_that_is_kept(
    tmp_path: Path, lost: int, outcome: str, reason: str
):
    with measuring(tmp_path) as m:
        m.tool.lost_records = lost
        m.measure()

    assert {(r.outcome, r.reason, r.attempts) for r in m.stored()} == {(outcome, reason, 1)}


@pytest.mark.parametrize("late_after", [4, PLANNED], ids=["in the midst", "after the last"])
def test_duplicates_that_arrive_late_amend_the_repetition_they_belong_to(tmp_path: Path, late_after: int):
    with measuring(tmp_path) as m:

        def let_two_arrive_late(result: LoadResult) -> LoadResult:
            m.cluster.arriving_late = 2 if len(m.tool.requests) == late_after else 0
            return result

        m.tool.after_run = let_two_arrive_late
        m.measure()

    duplicated = [r for r in m.stored() if r.outcome != "valid"]
    wanted = m.planned()[late_after - 1].repetition_id
    assert [(r.repetition_id, r.outcome, r.number("end_offset_growth")) for r in duplicated] == [
        (wanted, "records_duplicated", 1002)
    ]
    assert duplicated[0].reason == "the topic contains 2 more records than were sent"


def test_a_decision_between_blocks_sees_amended_repetitions_and_waits_for_no_deletion(tmp_path: Path):
    seen: list[list[str]] = []

    def continues(block: Block, before: list[Repetition]) -> Block:
        seen.append([each.outcome for each in before])
        return block

    with measuring(tmp_path) as m:

        def let_two_arrive_late(result: LoadResult) -> LoadResult:
            m.cluster.arriving_late = 2 if len(m.tool.requests) == IN_A_BLOCK else 0
            return result

        m.tool.after_run = let_two_arrive_late
        m.measure(race=continues)
        assert len(m.cluster.deletions) == 1
    assert [outcomes.count("records_duplicated") for outcomes in seen[:2]] == [0, 1]


def test_a_late_duplicate_is_in_the_store_before_the_next_load_begins(tmp_path: Path):
    with measuring(tmp_path) as m:

        def let_one_arrive_late_and_die_at_the_next(_: LoadRequest) -> None:
            m.cluster.arriving_late = 1
            if len(m.tool.requests) == 2:
                raise KeyboardInterrupt

        m.tool.before_run = let_one_arrive_late_and_die_at_the_next
        with pytest.raises(KeyboardInterrupt):
            m.measure()

    assert [r.outcome for r in m.stored()] == ["records_duplicated"]


def test_a_failure_that_the_configuration_may_have_caused_is_kept_immediately(tmp_path: Path):
    with measuring(tmp_path, quick(validation=TOLERANT)) as m:
        m.fail(LoadToolError("the load tool did not end"), lambda request: request.properties["acks"] == "0")
        m.measure()

    found = m.stored()
    failed = [r for r in found if r.configuration["acks"] == "0"]
    assert len(found) == PLANNED
    assert failed
    assert {(r.outcome, r.attempts, r.reason) for r in failed} == {("failed", 1, "the load tool did not end")}
    assert {r.outcome for r in found if r.configuration["acks"] != "0"} == {"valid"}


def test_records_lost_while_a_leader_moved_are_lost(tmp_path: Path):
    with measuring(tmp_path) as m:

        def move_a_leader_and_lose(_: LoadRequest) -> None:
            second = len(m.tool.requests) == 2
            m.cluster.leaders = [2, 2, 3] if second else m.cluster.leaders
            m.tool.lost_records = 40 if second else 0

        m.tool.before_run = move_a_leader_and_lose
        m.measure()

    outcomes = [(r.outcome, r.attempts) for r in m.stored()]
    assert outcomes.count(("records_lost", 1)) == 1
    assert {outcome for outcome, _ in outcomes} == {"valid", "records_lost"}


def test_a_tool_that_did_not_start_is_started_again_and_the_attempts_are_kept(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.fail(LoadStartError("java: Cannot allocate memory"), lambda _: len(m.tool.requests) <= 2)
        m.measure()

    assert sorted(r.attempts for r in m.stored())[-2:] == [1, 3]
    assert {r.outcome for r in m.stored()} == {"valid"}


def test_a_tool_that_never_starts_counts_against_no_configuration(tmp_path: Path):
    with measuring(tmp_path) as m:
        m.fail(LoadStartError("the load generator cannot be started: java: Cannot allocate memory"))
        with pytest.raises(DisturbedError, match="cannot be started"):
            m.measure()

    assert m.stored() == []


def test_a_leader_that_moved_spoils_the_repetition_which_is_measured_again(tmp_path: Path):
    with measuring(tmp_path) as m:

        def move_a_leader_once(_: LoadRequest) -> None:
            if len(m.tool.requests) == 4:
                m.cluster.leaders = [2, 2, 3]

        m.tool.before_run = move_a_leader_once
        m.measure()

    upset = sorted((r.attempts, r.upsets) for r in m.stored())
    assert upset == [(1, 0)] * (PLANNED - 1) + [(2, 1)], "it is counted as what the configuration may have done"
    assert {r.outcome for r in m.stored()} == {"valid"}


def disturbed_during(m: Measuring, loads: range) -> Callable[[LoadResult], LoadResult]:
    """Another process works during the loads of these numbers; the fake's own CPU time hides all others."""

    def another_process_works(result: LoadResult) -> LoadResult:
        if len(m.tool.requests) not in loads:
            return result
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
        return replace(result, client_cpu_s=0.0)

    return another_process_works


@pytest.mark.slow
def test_a_repetition_disturbed_by_other_processes_is_measured_again(tmp_path: Path):
    with measuring(tmp_path, quick(protocol={"outliers": {"other_cpu_fraction": 0.0}})) as m:
        m.tool.after_run = disturbed_during(m, range(1, 2))
        m.measure()

    repeated = [r for r in m.stored() if r.repetition_id == m.planned()[0].repetition_id]
    assert [(r.attempts, r.upsets) for r in repeated] == [(2, 0)], "no configuration has other processes"
    assert {r.outcome for r in m.stored()} == {"valid"}


@pytest.mark.slow
@pytest.mark.parametrize("disturbed", [5, 100], ids=["for a while", "for good"])
def test_a_machine_that_stays_disturbed_is_not_a_configurations_failure(tmp_path: Path, disturbed: int):
    with measuring(tmp_path, quick(protocol={"outliers": {"other_cpu_fraction": 0.0}})) as m:
        m.tool.after_run = disturbed_during(m, range(2, disturbed + 1))
        if disturbed == 100:
            with pytest.raises(
                DisturbedError, match=r"block 0 could not be completed in 3 .* every attempt was disturbed"
            ):
                m.measure()
        else:
            m.measure()

    assert "failed" in {r.outcome for r in m.aside()}
    assert {r.outcome for r in m.stored()} <= {"valid"}
    assert len(m.stored()) == (0 if disturbed == 100 else PLANNED)


def test_the_wait_for_a_quiet_machine_ends_with_the_disturbance():
    looks = iter([(0.5, 0.0), (0.0, 0.5), (0.0, 0.0), (0.5, 0.5)])
    rule = OutlierRule(cpu_steal_fraction=0.1, other_cpu_fraction=0.1)

    wait_until_undisturbed(rule, MeasuringLimits(look_s=0.01), look=lambda _: next(looks))
    assert list(looks) == [(0.5, 0.5)]


def test_the_wait_for_a_quiet_machine_ends_at_its_deadline():
    looks: list[float] = []

    def always_disturbed(seconds: float) -> tuple[float, float]:
        looks.append(seconds)
        return 0.5, 0.5

    limits = MeasuringLimits(look_s=0.01, undisturbed_deadline_s=0.0)
    wait_until_undisturbed(OutlierRule(cpu_steal_fraction=0.1), limits, look=always_disturbed)
    assert looks == [0.01]


def test_the_reason_of_an_outlier_gives_its_value_and_the_studys_limit():
    rule = OutlierRule(cpu_steal_fraction=0.1, other_cpu_fraction=0.3)

    assert outlier_reason(rule, 0.1, 0.3) == ""
    assert outlier_reason(rule, 0.234, 0.0) == (
        "the hypervisor took 23.4 % of the machine's CPU time; protocol.outliers.cpu_steal_fraction is 10.0 %"
    )
    assert "other processes took 50.0 %" in outlier_reason(rule, 0.0, 0.5)
    assert outlier_reason(OutlierRule(), 0.9, 0.9) == ""


def test_on_a_foreign_cluster_a_campaign_stops_at_its_ceiling_repeated_attempts_included(tmp_path: Path):
    with measuring(tmp_path, foreign(ceiling_gib=5 * 1000 * int(CASE) / (1 << 30))) as m:
        m.fail(LoadStartError("the machine hiccuped"), lambda _: len(m.tool.requests) == 2)
        with pytest.raises(PlanError, match="would exceed its ceiling"):
            m.measure()
        assert len(m.tool.requests) == 5
    assert len(m.stored()) == 4


def test_a_lease_lost_during_a_load_gives_no_repetition(tmp_path: Path):
    with measuring(tmp_path) as m:

        def lose_the_lease(_: LoadRequest) -> None:
            m.testbed.lease.__exit__(None, None, None)

        m.tool.before_run = lose_the_lease
        with pytest.raises(LeaseHeldError):
            m.measure()
    assert m.stored() == []


def test_a_load_during_which_the_machine_was_suspended_and_another_took_the_lease_gives_no_repetition(tmp_path: Path):
    with measuring(tmp_path) as m:

        def take_it_over(_: LoadRequest) -> None:
            m.campaign.store.put("leases/fake.json", b'{"holder": "somebody else", "nonce": "theirs"}')
            assert m.testbed.lease.is_held(), "as far as this machine knows"

        m.tool.before_run = take_it_over
        with pytest.raises(LeaseHeldError):
            m.measure()
    assert m.stored() == []


def test_a_campaign_does_not_resume_on_another_cluster(tmp_path: Path):
    with measuring(tmp_path) as m:
        known = m.campaign.read_record(m.campaign.keys.fingerprint(CASE), Fingerprint)

    with pytest.raises(BadInputError, match="cluster_id: the campaign started on fake, but this is another"):
        keep_fingerprint(
            m.campaign, CASE, known.model_copy(update={"system": known.system | {"cluster_id": "another"}})
        )


def test_records_are_deleted_at_the_end_and_as_blocks_end_that_filled_a_segment(tmp_path: Path):
    with measuring(tmp_path / "small") as m:
        m.measure()
        assert len(m.cluster.deletions) == 1
    with measuring(tmp_path / "large") as m:
        m.measure(limits=MeasuringLimits(delete_after_block_bytes=IN_A_BLOCK * 1000 * int(CASE)))
        assert len(m.cluster.deletions) == PLANNED / IN_A_BLOCK
