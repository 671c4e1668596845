"""The guide's checks are read strictly; those shipped cover its checklist."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.doctor.guide import CHECKLIST_ITEMS, GUIDE, Guide, load_guide
from kafka_pareto.errors import StudyError
from kafka_pareto.kafka.known_properties import DEFAULTS

pytestmark = pytest.mark.fast

GOOD = """
title: Our own guide
source: a book
read_on: "2026-11-23"
checks:
  - id: io_threads
    group: broker
    title: num.io.threads
    item: 14
    section: Chapter 1
    reads: {source: broker, name: num.io.threads}
    rule: {at_least: 8}
    protects: nothing
    fix: set num.io.threads
"""


@pytest.fixture(scope="module")
def guide() -> Guide:
    return load_guide()


def test_every_item_of_the_checklist_is_checked(guide: Guide) -> None:
    assert {check.item for check in guide.checks} - {None} == set(range(1, CHECKLIST_ITEMS + 1))


def test_every_kernel_value_limit_and_setting_that_the_guide_lists_is_checked(guide: Guide) -> None:
    # Counted in the guide's listings: sysctl.conf, limits.conf, server.properties without addresses and folders.
    assert len(guide.names("sysctl")) == 22
    assert len(guide.names("limit")) == 3
    assert len(guide.names("broker")) == 27
    assert len(guide.names("producer")) == 11
    assert len(guide.names("consumer")) == 11


def test_a_producers_defaults_are_those_of_kafka(guide: Guide) -> None:
    for check in guide.checks:
        if check.reads.source == "producer":
            assert check.reads.default == DEFAULTS[check.reads.name], check.id


def test_every_check_cites_the_guide(guide: Guide) -> None:
    assert all(check.section and check.title for check in guide.checks)


def test_advice_that_depends_on_link_or_memory_gives_the_size_assumed_by_the_guide(guide: Guide) -> None:
    sized = {check.id: check.sized_for for check in guide.checks if check.sized_for}
    of_link = {id_ for id_, sized_for in sized.items() if sized_for.link_mbit_s}
    assert all(sized_for.memory_gb for sized_for in sized.values())
    assert of_link == {"rmem_max", "wmem_max", "tcp_rmem", "tcp_wmem", "netdev_max_backlog"}
    assert sized.keys() - of_link == {
        *("dirty_ratio", "dirty_background_ratio"),
        *("tcp_max_syn_backlog", "tcp_max_tw_buckets", "file_max"),
        *("heap_in_memory", "heap_start", "heap_most", "region_size", "pre_touch"),
    }


def test_lines_are_short_enough_to_read() -> None:
    assert max(map(len, GUIDE.read_text(encoding="utf-8").splitlines())) <= 120


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("source: broker", "source: oracle", r"checks\.0\.reads\.source.*oracle"),
        ("group: broker", "group: brokers", r"checks\.0\.group.*brokers"),
        ("at_least: 8", "at_leest: 8", r"at_leest"),
        ("{at_least: 8}", "{at_least: 8, at_most: 9}", r"exactly one of"),
        ("{at_least: 8}", "{}", r"exactly one of"),
        ("item: 14", "item: 29", r"checks\.0\.item.*29"),
        ("fix:", "fixes:", r"fixes"),
        ("    protects: nothing\n", "", r"checks\.0\.protects"),
        ("protects: nothing", "protects: speed", r"checks\.0\.protects.*speed"),
        ("protects: nothing", "protects: nothing\n    safer: [below]", r"safer: remove it"),
    ],
)
def test_a_defect_is_named_with_file_key_and_value(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(GOOD.replace(right, wrong))
    with pytest.raises(StudyError, match=f"(?s)own\\.yaml.*{said}"):
        load_guide(file)


def test_two_checks_of_one_id_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(GOOD + GOOD.partition("checks:\n")[2])
    with pytest.raises(StudyError, match=r"io_threads: two checks have this id"):
        load_guide(file)
