"""How much a repetition sends: a pilot and a ramp of the baseline, on a cluster of known capacity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import RampStep, Sizing
from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures, LoadRequest, LoadResult
from kafka_pareto.drivers.producer.sizing import capacity_of, ramp_steps, sent_bytes, sizing_of
from kafka_pareto.errors import ClusterError, PlanError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study_file import parse_study
from tests.fakes import fake_testbed
from tests.small_quick import small_quick

pytestmark = pytest.mark.fast

CASE = "8192"
CAPACITY_RECORDS_S = 4000.0
GENERATOR = {"kind": "steady", "load_tool": "load_generator", "seconds": 3.0, "warmup_seconds": 1.0}
FOREIGN = {"bootstrap_servers": "b:9092", "ceiling_mib_s": 20.0, "ceiling_gib": 9.0, "consent": True}
PACED = {"rate_fraction": 0.5, "warmup_seconds": 0.5, "seconds": 3.0}


@dataclass
class KnownCluster:
    """A load generator for a cluster that takes this many records per second and queues the excess."""

    warm_after: int = 0
    stands_still_at: int = 0
    requests: list[LoadRequest] = field(default_factory=list)

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        self.requests.append(request)
        if watch:
            watch()
        asked, paced = request.throughput_records_s, None
        if request.timed and request.timed.paced_seconds:
            asked = request.timed.paced_rate_records_s
            paced = min(asked, CAPACITY_RECORDS_S)
        # As fast as it goes, a full buffer makes the fullest batches.
        loads = len(self.requests) - (0 < self.stands_still_at < len(self.requests))
        warmth = min(loads / self.warm_after, 1.0) if self.warm_after else 1.0
        throughput = warmth * CAPACITY_RECORDS_S * 1.1 if asked is None else min(asked, CAPACITY_RECORDS_S)
        latency_ms = 500.0 if asked is None else 5.0 + max(asked - CAPACITY_RECORDS_S, 0.0) * 0.2
        return LoadResult(
            records_attempted=request.records,
            records_sent=request.records,
            figures=figures(throughput, latency_ms, paced),
            client=ClientMetrics(),
            wall_s=4.0,
            client_cpu_s=1.0,
            errors="",
        )


def figures(throughput_records_s: float, latency_ms: float, paced_rate_records_s: float | None = None) -> LoadFigures:
    return LoadFigures(
        throughput_records_s,
        *[latency_ms] * 6,
        latency_from_send_p95_ms=latency_ms,
        paced_rate_records_s=paced_rate_records_s,
    )


def campaign_of(folder: Path, protocol: dict[str, Any], **changes: Any) -> Campaign:
    content = small_quick() | changes
    content["protocol"] = {"repetitions": 3} | protocol
    study = parse_study(yaml.safe_dump(content), "sized")
    return Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))


def sized(campaign: Campaign, case: str = CASE, **cluster: int) -> tuple[Sizing, list[LoadRequest]]:
    tool = KnownCluster(**cluster)
    with fake_testbed(campaign, case) as testbed:
        sizing = sizing_of(campaign, case, replace(testbed, load_tool=tool))
    return sizing, tool.requests


def test_a_burst_takes_its_records_from_the_study_and_sends_nothing_to_find_out(tmp_path: Path):
    sizing, requests = sized(campaign_of(tmp_path, {"kind": "cold_burst", "records": 1000}))

    assert (sizing.records, sizing.warmup_records, sizing.timed) == (1000, 0, None)
    assert requests == []


def test_kafkas_tool_gets_the_number_of_records_the_baseline_sends_in_the_time(tmp_path: Path):
    sizing, requests = sized(campaign_of(tmp_path, {"kind": "steady", "seconds": 4.0, "warmup_seconds": 2.0}))

    assert (sizing.records, sizing.warmup_records) == (26_400, 8_800)
    assert [request.throughput_records_s for request in requests] == [None] * 4
    assert all(request.warmup_records == request.records // 4 for request in requests)


def test_a_stated_rate_needs_no_ramp(tmp_path: Path):
    paced = {"rate_records_s": 700.0, "warmup_seconds": 0.5, "seconds": 3.0}
    sizing, requests = sized(campaign_of(tmp_path, GENERATOR | {"paced": paced}))

    assert sizing.timed is not None
    assert (sizing.timed.paced_rate_records_s, sizing.capacity_records_s, sizing.ramp) == (700.0, None, [])
    assert sizing.records == pytest.approx(4 * 4400 + 3.5 * 700, abs=2)
    assert all(request.timed is not None and not request.timed.paced_seconds for request in requests)


def test_kafkas_tool_sends_all_of_a_paced_repetition_at_the_fraction_of_the_capacity(tmp_path: Path):
    protocol = {"kind": "steady", "seconds": 4.0, "warmup_seconds": 2.0, "paced": {"rate_fraction": 0.5}}
    sizing, requests = sized(campaign_of(tmp_path, protocol))

    assert sizing.capacity_records_s == pytest.approx(3740)
    assert sizing.throughput_limit_records_s == pytest.approx(1870)
    assert sizing.records == pytest.approx(6 * 1870, abs=1)
    assert len(requests) == 4 + 5


def test_the_ramp_finds_the_highest_rate_sustained_by_the_baseline_and_keeps_its_steps(tmp_path: Path):
    campaign = campaign_of(tmp_path, GENERATOR | {"paced": PACED})
    sizing, requests = sized(campaign)

    assert [step.asked_records_s for step in sizing.ramp] == [1100, 2200, 3080, 3740, 4400]
    assert [step.sustained for step in sizing.ramp] == [True, True, True, True, False]
    assert sizing.capacity_records_s == 3740
    assert sizing.timed is not None
    assert sizing.timed.paced_rate_records_s == 1870
    assert (sizing.timed.warmup_s, sizing.timed.seconds) == (1.0, 3.0)
    assert (sizing.timed.paced_warmup_s, sizing.timed.paced_seconds) == (0.5, 3.0)
    assert all(request.timed for request in requests)


@pytest.mark.parametrize("protocol", [GENERATOR | {"paced": PACED}, {"kind": "steady", "seconds": 4.0}])
def test_the_rate_is_that_of_a_warm_cluster(tmp_path: Path, protocol: dict[str, Any]):
    warm, _ = sized(campaign_of(tmp_path / "warm", protocol))
    started_cold, _ = sized(campaign_of(tmp_path / "cold", protocol), warm_after=6)

    assert started_cold.records == warm.records


def test_a_cluster_that_warms_up_may_stall_once_and_is_not_taken_for_a_warm_one(tmp_path: Path):
    warm, _ = sized(campaign_of(tmp_path / "warm", GENERATOR | {"paced": PACED}))
    campaign = campaign_of(tmp_path / "cold", GENERATOR | {"paced": PACED})
    started_cold, _ = sized(campaign, warm_after=8, stands_still_at=3)

    assert started_cold.records == warm.records


@pytest.mark.parametrize(
    ("testbed", "loads"),
    [
        ({"testbed": {"brokers": 3}}, [4 + 5, 4]),  # four until the pace stands still, and the ramp
        ({}, [3 + 5, 0]),
        ({"testbed": {"brokers": 3}, "tables": [{"factor": "num.io.threads", "levels": [8, 16]}]}, [3 + 5, 0]),
    ],
    ids=["new brokers are warm before each part", "a cluster that is there", "each repetition starts its brokers anew"],
)
def test_new_brokers_of_the_studys_own_are_warm_before_each_part(
    tmp_path: Path, testbed: dict[str, Any], loads: list[int]
):
    content: dict[str, Any] = {"schema_version": 1, "kind": "compare", "name": "two", "description": "One part."}
    content |= {"reference": {"acks": 1}, "tables": [{"factor": "acks", "levels": [1, "all"]}]} | testbed
    content["protocol"] = GENERATOR | {"paced": PACED, "repetitions": 3}
    study = parse_study(yaml.safe_dump(content), "two")
    campaign = Campaign(study, CampaignKeys("two", "c1"), FolderStore(tmp_path))
    warm_after = 2 if "tables" not in testbed and testbed else 0

    assert [len(sized(campaign, study.cases[0], warm_after=warm_after)[1]) for _ in range(2)] == loads


def test_a_retry_reads_the_stored_result_instead_of_loading_the_cluster_again(tmp_path: Path):
    campaign = campaign_of(tmp_path, GENERATOR | {"paced": PACED})
    first, _ = sized(campaign)
    again, requests = sized(campaign)

    assert again == first
    assert requests == []


def test_on_a_foreign_cluster_no_load_exceeds_the_ceiling_and_the_estimate_is_the_most_that_can_be_sent(tmp_path: Path):
    sizing, requests = sized(campaign_of(tmp_path, GENERATOR | {"paced": PACED}, cluster=FOREIGN))

    limit = 20.0 * (1 << 20) / int(CASE)
    assert {request.throughput_records_s for request in requests} == {limit}
    assert max(request.timed.paced_rate_records_s for request in requests if request.timed) <= limit
    assert sizing.timed is not None
    assert sizing.records >= limit * 4.0 + sizing.timed.paced_rate_records_s * 3.5


def test_the_first_guess_of_kafkas_tool_takes_no_longer_than_the_limit_lets_it(tmp_path: Path):
    cluster = FOREIGN | {"ceiling_mib_s": 1.0}
    _, requests = sized(campaign_of(tmp_path, {"kind": "steady", "seconds": 4.0}, cluster=cluster))

    assert requests[0].records == (1 << 20) / int(CASE)  # one second's worth
    assert max(request.records * int(CASE) / (1 << 20) for request in requests) <= 4.0


def test_pilots_count_against_the_ceiling_of_a_foreign_cluster(tmp_path: Path):
    cluster = FOREIGN | {"ceiling_gib": 0.1}

    with pytest.raises(PlanError, match=r"would exceed its ceiling of 0\.1 GiB"):
        sized(campaign_of(tmp_path, GENERATOR | {"paced": PACED}, cluster=cluster))


def test_the_pilots_traffic_is_kept_and_counts_for_every_later_step(tmp_path: Path):
    campaign = campaign_of(tmp_path, GENERATOR | {"paced": PACED}, cluster=FOREIGN)
    sizing, requests = sized(campaign)

    assert sizing.pilot_bytes == sum(request.records for request in requests) * int(CASE) > 0
    assert sent_bytes(campaign) == sizing.pilot_bytes


def test_a_baseline_that_sends_nothing_is_one_clear_error(tmp_path: Path):
    campaign = campaign_of(tmp_path, GENERATOR | {"paced": PACED})
    tool = KnownCluster()
    nothing = replace(tool.run(LoadRequest("t", CASE, {}, 1.0)), figures=None, errors="TimeoutException (7 records)")
    with fake_testbed(campaign, CASE) as testbed:
        tool.run = lambda *_: nothing  # type: ignore[method-assign,assignment]
        with pytest.raises(ClusterError, match=r"maximum rate could not be measured: TimeoutException \(7 records\)"):
            sizing_of(campaign, CASE, replace(testbed, load_tool=tool))


def test_a_constant_queue_is_not_sustained_even_if_input_equals_output():
    found = [figures(9e9, 5.0, 1000.0), figures(9e9, 180.0, 2000.0)]

    assert [step.sustained for step in ramp_steps([1000.0, 2000.0], found)] == [True, False]


def test_the_latency_of_an_idle_cluster_does_not_count_as_an_unsustained_rate():
    """At linger.ms=100, 1.5 s of sending take 1.6 s from the first send to the last acknowledgement."""
    found = [figures(rate * 1.5 / 1.6, 105.0) for rate in (1000.0, 2000.0)]

    assert all(step.sustained for step in ramp_steps([1000.0, 2000.0], found))


def test_one_hiccup_of_a_lower_step_does_not_end_the_ramp():
    def step(asked: float, sustained: bool) -> RampStep:
        return RampStep(asked_records_s=asked, held_records_s=asked / 2, latency_p95_ms=5.0, sustained=sustained)

    assert capacity_of([step(100, True), step(200, False), step(300, True), step(400, False)]) == 300
    assert capacity_of([step(100, False), step(200, False)]) == 50
