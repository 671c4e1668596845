"""No value at least as safe as the guide's gets a fix, in any check."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from kafka_pareto.doctor.guide import Check, Guide, Plain, Rule, load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.doctor.readings import Reading
from kafka_pareto.doctor.records import Finding, Found
from kafka_pareto.doctor.text import report_text
from kafka_pareto.doctor.verdicts import Circumstances, judge, threads_for
from tests.unit.doctor.checking import FAST_LINK, HERE, reading_of, report_of

pytestmark = pytest.mark.fast

# An old machine, so that few checks do not apply, and a large one, so that the guide's sizes are for it.
LARGE = replace(HERE, linux_version="4.9.0-el7", kafka_version="3.9", file_systems=frozenset({"xfs"}))
SMALL = replace(
    LARGE, memory_gb_per_broker=8.0, link=Reading((Found(subject="eth0", value=1_000),)), linux_version="6.1.0"
)
DAY_MS = 86_400_000
FOREVER = 9223372036854775807

# By hand, so that the checks cannot agree with themselves: what protects at least as well as the guide's value.
SAFE: dict[str, list[Plain | None]] = {
    "brokers": [3, 5],
    "heap_in_memory": [6 << 30, 1 << 30],
    "nobarrier": ["rw,noatime", "defaults"],
    "open_files": [1_048_576, "unlimited"],
    "swappiness": [1],
    "dirty_ratio": [80, 79, 20, 0],
    "dirty_background_ratio": [5, 1, 0],
    "dirty_expire": [12_000, 3_000, 0],
    "dirty_writeback": [500, 100],
    "rmem_default": [134_217_728, 212_992],
    "rmem_max": [134_217_728],
    "wmem_default": [134_217_728, 212_992],
    "wmem_max": [134_217_728],
    "tcp_rmem": ["4096 87380 134217728"],
    "tcp_wmem": ["4096 65536 134217728"],
    "netdev_max_backlog": [50_000],
    "tcp_max_syn_backlog": [30_000],
    "tcp_max_tw_buckets": [2_000_000],
    "tcp_tw_reuse": [1, 0, 2],
    "file_max": [2_097_152],
    "processes": [65_536, "unlimited"],
    "locked_memory": ["unlimited", 8_388_608, 0],
    "heap_start": [6 << 30, 32 << 30],
    "heap_most": [6 << 30, 32 << 30],
    "ihop": [35, 20],
    "pre_touch": [True],
    "io_threads": [8, 64],
    "network_threads": [4, 64],
    "send_buffer": [1_048_576, 102_400, -1],
    "receive_buffer": [1_048_576, 102_400, -1],
    "broker_compression": ["producer", "gzip", "lz4", "snappy", "zstd"],
    "replica_fetchers": [4, 8, 16],
    "background_threads": [10, 20],
    "request_max": [104_857_600, 1_048_576],
    "queued_requests": [1_000, 500],
    "default_replication": [3, 4, 5],
    "default_min_isr": [2, 3],
    "retention_hours": [168, 720, -1],
    "retention_bytes": [-1, 1 << 30],
    "retention_check": [300_000, 60_000],
    "flush_messages": [FOREVER, 10_000, 1],
    "flush_ms": [None, FOREVER, 1_000, 0],
    "replica_lag": [30_000, 60_000],
    "replica_fetch_wait": [500, 100],
    "replica_socket": [1_048_576, 65_536, -1],
    "partitions": [50, 1_000],
    "replication": [3, 4, 5],
    "min_isr": [2, 3],
    "topic_retention": [DAY_MS, 7 * DAY_MS, -1],
    "topic_compression": ["producer", "lz4", "gzip", "snappy", "zstd"],
    "compression": ["lz4", "gzip", "zstd"],
    "buffer_memory": [268_435_456, 33_554_432],
    "acks": ["1", "all", -1],
    "max_block": [60_000, 120_000, FOREVER],
    "in_flight": [5, 1],
    "retries": [3, 10, 2_147_483_647],
    "retry_backoff": [100, 1_000],
    "request_timeout": [30_000, 60_000],
    "delivery_timeout": [120_000, 300_000],
    "poll_records": [5_000, 500, 1],
    "fetch_max": [52_428_800, 1_048_576],
    "partition_fetch": [10_485_760, 1_048_576],
    "poll_interval": [300_000, 600_000],
    "auto_commit": ["true", "false"],
    "commit_interval": [5_000, 1_000, 0],
    "offset_reset": ["earliest", "none"],
    "session_timeout": [30_000, 45_000],
    "heartbeat": [10_000, 3_000],
}


@pytest.fixture(scope="module")
def guide() -> Guide:
    return load_guide()


def check_named(guide: Guide, check_id: str) -> Check:
    return next(check for check in guide.checks if check.id == check_id)


def guides_own(rule: Rule) -> Plain:
    """Return a value that meets the rule."""
    wanted = rule.wanted[0] if isinstance(rule.wanted, list) else rule.wanted
    if rule.cores_times is not None:
        return threads_for(rule.cores_times, 8)
    if rule.each_at_least is not None:
        return " ".join(map(str, rule.each_at_least))
    return f"{wanted}0n1" if rule.prefix is not None else wanted


def on_the_safe_side(guide: Guide) -> list[Finding]:
    """Judge every check with each of its safe values, each alone."""
    return [
        judge(check, reading_of(value), LARGE)
        for check in guide.checks
        for value in SAFE.get(check.id, [guides_own(check.rule)])
    ]


def test_exactly_the_protective_checks_have_safe_values(guide: Guide) -> None:
    assert {check.id for check in guide.checks if check.protects != "nothing"} == SAFE.keys()


def test_no_value_on_the_safe_side_gets_a_fix(guide: Guide) -> None:
    findings = on_the_safe_side(guide)
    assert {finding.check.id for finding in findings} == {check.id for check in guide.checks}
    advised = [each for each in findings if each.verdict == "not_met" or each.check.fix]
    assert [f"{each.check.id} {each.found}" for each in advised] == []


def test_no_surface_shows_a_fix_on_the_safe_side(guide: Guide) -> None:
    report = report_of(*on_the_safe_side(guide))
    page, text = html.unescape(doctor_page(report)), " ".join(report_text(report).split())
    assert "→" not in text
    for surface in (page, text, report.model_dump_json()):
        assert [check.fix for check in guide.checks if check.fix and check.fix in surface] == []


@pytest.mark.parametrize(
    ("check_id", "value", "protects"),
    [
        ("acks", "all", "durability"),
        ("retries", 2_147_483_647, "delivery"),
        ("auto_commit", "false", "delivery"),
        ("topic_retention", 7 * DAY_MS, "retention"),
        ("retention_bytes", 1 << 40, "disk"),
        ("replication", 4, "durability"),
        ("min_isr", 3, "durability"),
        ("in_flight", 1, "ordering"),
        ("dirty_ratio", 20, "durability"),
    ],
)
def test_a_safer_value_than_the_guides_is_shown_with_the_guides(
    guide: Guide, check_id: str, value: Plain, protects: str
) -> None:
    finding = judge(check_named(guide, check_id), reading_of(value), LARGE)
    assert finding.verdict == "safer"
    said = " ".join(report_text(report_of(finding)).split())
    assert f" safer than the guide {finding.check.title} " in said
    assert "; guide: " in said
    assert f" protects {protects}" in said


@pytest.mark.parametrize(
    ("check_id", "value", "fix"),
    [
        ("acks", 0, "set acks=all in producer.properties"),
        ("retries", 0, "remove retries from producer.properties; delivery.timeout.ms then limits them"),
        ("replication", 1, "reassign the topic to three replicas"),
        ("min_isr", 1, "raise the topic's min.insync.replicas to 2, if it has three replicas"),
        ("dirty_writeback", 0, "set vm.dirty_writeback_centisecs to 500, Linux's default, in /etc/sysctl.conf"),
        ("topic_retention", DAY_MS // 24, ""),
        ("retention_hours", 1, ""),
    ],
)
def test_a_less_safe_value_than_the_guides_gets_safe_advice_or_none(
    guide: Guide, check_id: str, value: Plain, fix: str
) -> None:
    finding = judge(check_named(guide, check_id), reading_of(value), LARGE)
    assert (finding.verdict, finding.check.fix) == ("not_met", fix)


def test_one_broker_on_the_unsafe_side_has_the_fix_though_another_is_safer(guide: Guide) -> None:
    finding = judge(check_named(guide, "default_min_isr"), reading_of(3, 1), LARGE)
    assert (finding.verdict, finding.check.fix.partition(" in ")[0]) == ("not_met", "raise min.insync.replicas to 2")


@pytest.mark.parametrize("machine", [SMALL, replace(SMALL, link=FAST_LINK)], ids=["slow link", "fast link"])
def test_kernel_and_java_get_no_memory_advice_on_a_small_machine(guide: Guide, machine: Circumstances) -> None:
    takers = [check for check in guide.checks if check.reads.source in ("sysctl", "jvm") and check.protects == "memory"]
    assert len(takers) >= 11
    findings = [judge(check, reading_of("1 1 1" if check.rule.each_at_least else 1), machine) for check in takers]
    assert [finding.check.id for finding in findings if finding.check.fix] == []


def test_an_xfs_option_is_not_advised_for_another_file_system(guide: Guide) -> None:
    allocsize = check_named(guide, "allocsize")
    assert judge(allocsize, reading_of("rw"), LARGE).verdict == "not_met"
    other = judge(allocsize, reading_of("rw"), replace(LARGE, file_systems=frozenset({"ext4"})))
    assert (other.verdict, other.check.fix) == ("not_applicable", "")


def test_the_guides_own_value_is_met_and_shown_with_its_risk(guide: Guide) -> None:
    finding = judge(check_named(guide, "acks"), reading_of("1"), LARGE)
    assert finding.verdict == "met"
    assert " 1 (acks=1 may lose acknowledged records" in " ".join(report_text(report_of(finding)).split())
