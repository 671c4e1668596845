"""The first screen of each kept comparison, against the one in `first_screens/`, which a reader has looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.answer import answer_lines, effect_lines, limit_lines
from kafka_pareto.comparison.records import Interval
from kafka_pareto.comparison.screen import MOST_LINES, WIDTH, effect_text, fitting, listed
from kafka_pareto.study.quantity import Value
from tests.kept_comparison import KeptComparison, kept_comparison
from tests.unit.comparison.made_parts import codec_part, grid_part, record_size_part, same_part

pytestmark = pytest.mark.fast
SCREENS = Path(__file__).parent / "first_screens"
NAMES = (
    "impact",
    "impact_consumer",
    "ingest",
    "ingest_cold",
    "ingest_senders",
    "log_pipeline_short",
    "topologies",
    "topologies_faults",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_first_screen_of_a_comparison_fits_a_terminal_and_is_the_one_kept(name: str) -> None:
    kept, file = kept_comparison(name), SCREENS / f"{name}.txt"
    lines = answer_lines(kept.study, kept.parts, kept.repetitions)
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH
    assert lines == file.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("ratio", "is_better", "text"),
    [
        (Interval(value=2.5, low=2.0, high=3.0), False, "2.50x worse [2.00, 3.00]"),
        (Interval(value=0.4, low=0.25, high=0.5), True, "2.50x better [2.00, 4.00]"),
        (Interval(value=1.2, low=1.1, high=1.3), False, "20 % worse [10, 30]"),
        (Interval(value=0.8, low=0.7, high=0.95), False, "20 % worse [5, 30]"),
        (Interval(value=0.02), False, "50.0x worse"),
    ],
)
def test_an_effect_is_a_multiple_or_between_a_half_and_twice_a_percentage(
    ratio: Interval, is_better: bool, text: str
) -> None:
    assert effect_text(ratio, is_better=is_better) == text


def test_names_that_do_not_fit_a_line_are_counted() -> None:
    names = [f"part_{number}" for number in range(20)]
    line = listed("Parts: ", names)
    assert len(line) <= WIDTH
    assert line.endswith(" and 13 more")
    assert listed("Parts: ", names[:2]) == "Parts: part_0, part_1"
    assert listed("Parts: ", ["a" * WIDTH, "b"]) == "Parts: 2 in all"
    assert fitting("a" * 9, 5) == "aaaa…"


def test_effects_that_do_not_fit_are_counted_and_the_largest_come_first() -> None:
    parts = [codec_part(), grid_part(), record_size_part()]
    whole, cut = effect_lines(parts), effect_lines(parts, most=5)
    assert len(cut) == 5
    assert cut[1].split("  ")[0] == whole[1].split("  ")[0]
    assert cut[-2:] == [f"… and {len(whole) - 4} smaller", *limit_lines(parts)]


def test_a_comparison_without_any_effect_says_so() -> None:
    part = same_part()
    assert effect_lines([part])[0] == f"No significant effect ({part.blocks} blocks): {part.part}"


def test_rows_that_were_lost_doubled_or_wrong_are_counted() -> None:
    kept = kept_comparison("ingest")
    read_back = kept.repetitions["reader"]
    rows = int(read_back[0].quantities["rows_in_file"] or 0)
    lost = _changed(read_back[0], read_back="different", rows_read_back=rows - 7)
    doubled = _changed(read_back[1], read_back="different", rows_read_back=rows + 1, rows_malformed=2)
    lines = _lines(kept, "reader", [lost, doubled, *read_back[2:]])
    assert "210,000,000 rows read back: 7 lost, 1 duplicated, 2 runs with wrong rows" in lines
    assert "Dead-letter topic: 2 malformed lines" in lines


def test_events_that_were_lost_are_counted_and_the_most_frequent_label_is_shown() -> None:
    kept = kept_comparison("log_pipeline_short")
    first, *others = kept.repetitions["light_load"]
    lines = _lines(kept, "light_load", [_changed(first, events_lost=3, label="throttled"), *others])
    assert lines[-1] == "Events: 3 lost, 0 duplicated, 0 in flight"
    assert lines[-2].startswith("light_load (load 10%): fastest is otel, 884* ms, stable")


def _changed(repetition: Repetition, **values: Value) -> Repetition:
    return repetition.model_copy(update={"quantities": {**repetition.quantities, **values}})


def _lines(kept: KeptComparison, part: str, repetitions: list[Repetition]) -> list[str]:
    return answer_lines(kept.study, kept.parts, kept.repetitions | {part: repetitions})
