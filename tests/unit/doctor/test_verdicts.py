"""Verdicts by each rule, for missing values, and for other releases, links and machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_pareto.doctor.guide import Plain
from kafka_pareto.doctor.readings import Reading
from kafka_pareto.doctor.records import Found
from kafka_pareto.doctor.verdicts import judge
from kafka_pareto.doctor.words import reason_text
from tests.unit.doctor.checking import HERE, check_of, finding_of, reading_of, report_of

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        ({"equals": 8}, [8, "8", 8.0], [7, "8 GB", None, "unlimited", True]),
        ({"equals": True}, [True, "true"], [False, "false", None, 1]),
        ({"equals": "1"}, ["1", 1], ["all", None]),
        ({"equals": "unlimited"}, ["unlimited"], [8_388_608]),
        ({"at_least": 8}, [8, 9.5, "unlimited"], [7, None, "many", True]),
        ({"at_most": 10}, [10, 0], [11, "unlimited", None]),
        ({"between": [10, 50]}, [10, 50, "20"], [9, 51, None]),
        ({"one_of": ["", 9223372036854775807]}, [None, "9223372036854775807"], [1000]),
        ({"each_at_least": [4096, 87380]}, ["4096 131072"], ["4096 16384", "4096", "4096 131072 1"]),
        ({"any_word": ["noatime"]}, ["rw,noatime"], ["rw,relatime", None]),
        ({"prefix": "nvme"}, ["nvme0n1 nvme1n1"], ["nvme0n1 sda"]),
        ({"cores_times": 1.0}, [8], [7, 9]),
        ({"cores_times": 0.5}, [4], [8]),
    ],
)
def test_a_rule_separates_valid_values_from_invalid_ones(
    rule: dict[str, Any], kept: list[Plain | None], broken: list[Plain | None]
) -> None:
    assert [finding_of(rule, value).verdict for value in kept] == ["met"] * len(kept)
    assert [finding_of(rule, value).verdict for value in broken] == ["not_met"] * len(broken)


def test_one_broker_that_breaks_the_rule_is_enough() -> None:
    assert finding_of({"equals": 8}, 8, 8, 1).verdict == "not_met"
    assert finding_of({"equals": 8}, 8, 1, reason="brokers_elsewhere").verdict == "not_met"


def test_a_check_met_by_some_brokers_and_unreadable_on_others_is_not_met() -> None:
    found = finding_of({"equals": 8}, 8, reason="brokers_elsewhere")
    assert (found.verdict, found.reason) == ("not_readable", "brokers_elsewhere")


def test_nothing_read_is_not_readable() -> None:
    assert finding_of({"equals": 8}).verdict == "not_readable"


def test_an_unknown_share_of_cores_is_not_judged() -> None:
    unknown = replace(HERE, cores=None)
    found = judge(check_of({"cores_times": 1.0}), reading_of(8), unknown)
    assert (found.verdict, found.reason) == ("not_readable", "cores_unknown")


def test_a_half_core_is_a_whole_thread() -> None:
    one_core = replace(HERE, cores=1)
    assert judge(check_of({"cores_times": 0.5}), reading_of(1), one_core).verdict == "met"


@pytest.mark.parametrize(
    ("since", "version", "verdict"),
    [
        ({"kafka_from": "4.0"}, "4.0", "not_applicable"),
        ({"kafka_from": "4.0"}, "3.10", "met"),
        ({"kafka_from": "4.0"}, "level 9999", "not_applicable"),
        ({"kafka_from": "4.0"}, None, "met"),
        ({"kafka_from": "3.9"}, "3.10", "not_applicable"),
        ({}, None, "not_applicable"),
    ],
)
def test_settings_removed_from_kafka_do_not_apply(since: dict[str, str], version: str | None, verdict: str) -> None:
    check = check_of({"looked_at": True}, not_applicable={**since, "why": "it is gone"})
    assert (
        judge(check, reading_of("zk1:2181"), replace(HERE, kafka_version=version, linux_version=None)).verdict
        == verdict
    )


def test_settings_removed_from_linux_do_not_apply() -> None:
    check = check_of({"any_word": ["nobarrier"]}, not_applicable={"linux_from": "4.19", "why": "it is gone"})
    assert judge(check, reading_of("rw"), HERE).verdict == "not_applicable"
    assert judge(check, reading_of("rw"), replace(HERE, linux_version="4.9.0-el7")).verdict == "not_met"


def test_a_reading_that_says_nothing_here_does_not_apply() -> None:
    reading = Reading(reason="loopback", is_applicable=False)
    found = judge(check_of({"at_least": 25_000}), reading, HERE)
    assert (found.verdict, found.reason) == ("not_applicable", "loopback")


def link_of(*speeds: int, reason: str = "", is_applicable: bool = True) -> Reading:
    found = tuple(Found(subject=f"eth{n}", value=speed) for n, speed in enumerate(speeds))
    return Reading(found, reason, is_applicable)


BUFFER = check_of({"at_least": 134_217_728}, sized_for={"link_mbit_s": 25_000})


@pytest.mark.parametrize(
    ("link", "bytes_found", "verdict"),
    [
        (link_of(25_000), 134_217_728, "met"),
        (link_of(25_000), 6_291_456, "not_met"),
        (link_of(100_000), 134_217_728, "met"),  # never more than the guide says
        (link_of(1_000), 6_291_456, "met"),
        (link_of(1_000), 5_368_709, "not_met"),
        (link_of(25_000, 1_000), 6_291_456, "met"),
        (link_of(reason="unknown_speed"), 212_992, "not_readable"),
        (link_of(reason="loopback", is_applicable=False), 212_992, "not_applicable"),
    ],
)
def test_a_buffer_is_sized_for_the_link_that_is_there(link: Reading, bytes_found: int, verdict: str) -> None:
    assert judge(BUFFER, reading_of(bytes_found), replace(HERE, link=link)).verdict == verdict


def test_the_rule_that_is_shown_is_the_one_for_this_link_and_of_several_sizes_the_last_is_the_buffers() -> None:
    slow = replace(HERE, link=link_of(1_000))
    assert judge(BUFFER, reading_of(1), slow).check.rule.wanted == 5_368_710
    three = check_of({"each_at_least": [4096, 87380, 134_217_728]}, sized_for={"link_mbit_s": 25_000})
    found = judge(three, reading_of("4096 131072 6291456"), slow)
    assert (found.verdict, found.check.rule.wanted) == ("met", [4096, 87380, 5_368_710])


def test_the_memory_that_the_guide_sizes_a_value_for_is_reported() -> None:
    heap = check_of({"between": [6 << 30, 8 << 30]}, sized_for={"memory_gb": 32})
    finding = judge(heap, reading_of(512 << 20), replace(HERE, memory_gb_per_broker=8.0))
    assert reason_text(finding) == "the guide's value is for brokers with 32 GB of memory; these have less"


@pytest.mark.parametrize(
    ("memory_gb", "verdict"), [(64.0, "not_met"), (63.9, "not_applicable"), (None, "not_readable")]
)
def test_a_heap_for_64_gb_is_not_advised_for_a_smaller_broker(memory_gb: float | None, verdict: str) -> None:
    heap = check_of({"between": [6 << 30, 8 << 30]}, sized_for={"memory_gb": 64})
    assert judge(heap, reading_of(512 << 20), replace(HERE, memory_gb_per_broker=memory_gb)).verdict == verdict


def test_an_item_of_the_checklist_is_met_only_if_all_of_its_checks_are() -> None:
    met, broken, unread = (
        finding_of({"equals": 8}, 8, item=1),
        finding_of({"equals": 8}, 1, item=2),
        finding_of({"equals": 8}, item=3),
    )
    also = [finding_of({"equals": 8}, 8, item=item) for item in (1, 2, 3)]
    assert report_of(met, broken, unread, *also).items() == {1: "met", 2: "not_met", 3: "not_readable"}
