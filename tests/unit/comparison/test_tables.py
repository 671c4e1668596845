from __future__ import annotations

import csv
import io

import pytest

from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.rows import other_rows, prediction_rows, prediction_sentence
from kafka_pareto.comparison.tables import WIDTH, comparison_text, part_csv, part_text, title
from kafka_pareto.comparison.words import mean_text
from tests.unit.comparison.made_parts import (
    COMPARED,
    FETCH,
    P50,
    P99,
    THROUGHPUT,
    batch_size_part,
    codec_part,
    fetch_part,
    grid_part,
    linger_part,
    producers_part,
    record_size_part,
    same_part,
)

pytestmark = pytest.mark.fast

MADE = (
    batch_size_part, codec_part, fetch_part, grid_part, linger_part, producers_part, record_size_part, same_part,
)  # fmt: skip


def row_of(text: str, level: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(level))


def csv_rows(part: PartComparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(part_csv(part))))


@pytest.mark.parametrize("made", MADE)
def test_no_line_is_wider_than_a_terminal(made: object) -> None:
    assert callable(made)
    text = comparison_text([made()])
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_row_has_mean_ratio_relative_letters_and_published_values() -> None:
    level = batch_size_part().levels[0]
    estimate = level.estimates[THROUGHPUT.name]
    assert estimate.mean
    assert estimate.sd
    assert estimate.ratio
    row = row_of(part_text(batch_size_part()), "16384")
    assert row.split("  ")[0] == "16384"
    assert f"{estimate.mean.value:,.0f} ± {estimate.sd:,.0f}" in row
    assert f"{estimate.ratio.value:.2f}* ({estimate.ratio.low:.2f} to {estimate.ratio.high:.2f})" in row
    assert f"{estimate.relative:.2f} ± {estimate.relative_sd:.2f}" in row
    assert row.endswith("180,000 (0.15)")


def test_the_reference_is_marked_and_has_no_ratio_to_itself() -> None:
    assert row_of(part_text(batch_size_part()), "1048576").split()[1:2] == ["(reference)"]
    assert " reference " in row_of(part_text(batch_size_part()), "1048576")


def test_an_insignificant_level_has_no_star() -> None:
    assert "*" not in row_of(part_text(same_part()), "all")


def test_untested_quantities_have_only_means() -> None:
    part = batch_size_part()
    levels = [
        level.model_copy(update={"estimates": level.estimates | {P50.name: level.estimates[P99.name]}})
        for level in part.levels
    ]
    found = part.model_copy(update={"levels": levels})
    _, row = other_rows(found)
    assert row == (P50.heading, *(mean_text(level, P99) for level in part.levels))
    assert "p50 latency" not in part_text(found)


def test_a_mean_says_of_how_many_repetitions_it_is_where_not_all_have_the_quantity() -> None:
    part = batch_size_part()
    level = part.levels[0]
    fewer = level.estimates[P99.name].model_copy(update={"repetitions": 2})
    found = level.model_copy(update={"estimates": level.estimates | {P99.name: fewer}})

    assert mean_text(found, P99) == f"{mean_text(level, P99)} (2 of 5)"
    assert mean_text(found, THROUGHPUT) == mean_text(level, THROUGHPUT)
    assert mean_text(found, FETCH) == "-"
    text = comparison_text([part.model_copy(update={"levels": [found, *part.levels[1:]]})])
    assert text.count("(2 of 5)") == 1
    assert "`n of m` in parentheses" in text
    assert "n of m" not in comparison_text([part])

    grid = grid_part()
    sparse = {name: each.model_copy(update={"repetitions": 3}) for name, each in grid.levels[0].estimates.items()}
    cut = [grid.levels[0].model_copy(update={"estimates": sparse}), *grid.levels[1:]]
    assert part_text(grid.model_copy(update={"levels": cut})).count("(3 of 5)") == len(COMPARED)


def test_a_part_that_is_named_by_its_factor_does_not_say_its_name_twice() -> None:
    part = batch_size_part()
    assert title(part.model_copy(update={"part": "batch_size"})).startswith("batch.size, compared with batch.size")
    assert title(part.model_copy(update={"part": "of_zeros"})).startswith("of_zeros: batch.size, compared with")


def test_a_grid_is_a_matrix_of_means_and_ratios_with_the_interactions_that_hold() -> None:
    text = part_text(grid_part())
    assert text.count("batch.size \\ linger.ms") == 2
    assert "(ref)" in row_of(text, "1048576")
    assert row_of(text, "throughput  ").startswith("throughput  batch.size 16384 with linger.ms 0")
    assert "1.73 (1.64 to 1.82)" in text
    assert "0.95 (" not in text  # an interaction that does not hold


def test_a_grid_without_interactions_reports_none_significant_with_its_blocks() -> None:
    tested = [each.model_copy(update={"p_value_holm": 0.4}) for each in grid_part().interactions]
    none = part_text(grid_part().model_copy(update={"interactions": tested}))
    assert "No significant interaction of batch.size and linger.ms (5 blocks)" in none
    assert "was not tested" in part_text(grid_part().model_copy(update={"interactions": []}))


def test_a_grid_that_is_too_wide_continues_below_with_its_first_column() -> None:
    part = grid_part()
    wide = [
        level.model_copy(
            update={"values": {**level.values, "linger.ms": str(level.values["linger.ms"]).rjust(12, "0")}}
        )
        for level in part.levels
    ]
    text = part_text(part.model_copy(update={"levels": [*part.levels, *wide]}))
    assert text.count("batch.size \\ linger.ms") > 2
    assert max(map(len, text.splitlines())) <= WIDTH


def test_scaling_gives_its_limit_and_bands_their_jump_in_the_shown_units() -> None:
    assert "Throughput levels off at 4.55 (4.10 to 5.10) times one client" in part_text(producers_part())
    text = " ".join(part_text(record_size_part()).split())
    assert (
        "P99 latency jumps up between record_size_bytes 1024 and 2048: to 1.86 (1.79 to 1.94) times the trend" in text
    )
    straight = producers_part().scaling[0].model_copy(update={"limit": None, "serial_fraction": None})
    unlimited = producers_part().model_copy(update={"scaling": [straight]})
    assert "Throughput: no limit found up to 10 clients." in part_text(unlimited)


def test_lost_repetitions_and_notes_of_levels_are_reported() -> None:
    assert "Note: gzip: 1 failed of 5 repetitions; the fixed rate was not held" in part_text(codec_part())


def test_a_note_says_of_how_many_repetitions_it_is_and_numbers_alone_make_no_other() -> None:
    part = codec_part()
    said = ["3 of 7 records were late", "12 of 7,500 records were late", "another note", *["of all"] * 5]
    noted = part.levels[1].model_copy(update={"notes": said, "outcomes": {"valid": 5}})
    text = " ".join(part_text(part.model_copy(update={"levels": [part.levels[0], noted]})).split())

    late = "3 of 7 records were late (2 of 5 repetitions; figures vary)"
    assert f"{late}; another note (1 of 5 repetitions); of all" in text
    assert "of all (" not in text
    assert "7,500" not in text


def test_a_level_without_values_has_dashes() -> None:
    part = same_part()
    empty = part.levels[1].model_copy(update={"estimates": {}, "repetition_ids": [], "outcomes": {"failed": 5}})
    text = part_text(part.model_copy(update={"levels": [part.levels[0], empty]}))
    assert row_of(text, "all").split() == ["all", "-", "-", "-", "-"]
    assert "all: 5 failed of 5 repetitions" in text


@pytest.mark.parametrize("made", MADE)
def test_the_csv_has_every_number_of_every_level_unrounded_with_its_repetitions(made: object) -> None:
    assert callable(made)
    part: PartComparison = made()
    rows = {(row["configuration_id"], row["quantity"]): row for row in csv_rows(part)}
    assert len(rows) == sum(len({*level.estimates, *level.published}) for level in part.levels)
    for level in part.levels:
        for name, estimate in level.estimates.items():
            row = rows[level.configuration_id, name]
            assert estimate.mean
            assert (float(row["mean"]), float(row["sd"])) == (estimate.mean.value, estimate.sd)
            assert row["ratio_low"] == ("" if estimate.ratio is None else str(estimate.ratio.low))
            assert row["p_value_holm"] == ("" if estimate.p_value_holm is None else str(estimate.p_value_holm))
            assert row["repetition_ids"].split() == level.repetition_ids
            assert [row[f"factor {factor}"] for factor in part.factors] == [str(v) for v in level.values.values()]


def test_a_published_number_without_a_measurement_has_its_own_row() -> None:
    part = batch_size_part()
    first = part.levels[0].model_copy(update={"published": {"client_cpu_fraction": 0.15}})
    rows = csv_rows(part.model_copy(update={"levels": [first, *part.levels[1:]]}))
    (row,) = [row for row in rows if row["quantity"] == "client_cpu_fraction"]
    assert (row["published"], row["mean"], row["is_compared"]) == ("0.15", "", "False")


def test_errors_of_stages_that_cancel_in_the_total_are_reported() -> None:
    part = codec_part()
    level = part.levels[0]
    whole = level.estimates[THROUGHPUT.name].mean
    assert whole
    of_stages = {
        name: level.estimates[THROUGHPUT.name].model_copy(
            update={"mean": whole.model_copy(update={"value": share * whole.value})}
        )
        for name, share in (("filebeat_ms", 0.6), ("aggregator_ms", 0.4))
    }
    wrong = {THROUGHPUT.name: whole.value, "filebeat_ms": 0.8 * whole.value, "aggregator_ms": 0.2 * whole.value}
    level = level.model_copy(update={"estimates": level.estimates | of_stages, "predicted": wrong})

    said = prediction_sentence(part.model_copy(update={"levels": [level, *part.levels[1:]]}))
    assert said.endswith(" Total: median error 0 % (1 level). Sum of absolute stage errors: 40 % of the total.")


def test_a_total_of_zero_has_no_relative_error() -> None:
    part = codec_part()
    level = part.levels[0]
    whole = level.estimates[THROUGHPUT.name]
    assert whole.mean
    nothing = whole.model_copy(update={"mean": whole.mean.model_copy(update={"value": 0.0})})
    level = level.model_copy(
        update={"estimates": level.estimates | {THROUGHPUT.name: nothing}, "predicted": {THROUGHPUT.name: 1.0}}
    )
    said = prediction_sentence(part.model_copy(update={"levels": [level, *part.levels[1:]]}))
    assert said == "Predicted from a lightly loaded run; in parentheses, relative to the measured value."


def test_predictions_are_shown_next_to_measurements() -> None:
    part = codec_part()
    first, second, *others = part.levels
    mean = first.means[THROUGHPUT.name]
    levels = [
        first.model_copy(update={"predicted": {THROUGHPUT.name: 0.5 * mean, "filebeat_ms": 12.0}}),
        second.model_copy(update={"predicted": {THROUGHPUT.name: None}}),
        *others,
    ]
    predicted = part.model_copy(update={"levels": levels})

    header, throughput, stage = prediction_rows(predicted)
    assert len(header) == len(part.levels) + 1
    assert throughput[1].endswith("(0.50)")
    assert throughput[2] == "above its capacity"
    assert (stage[0], stage[1], stage[2]) == ("in Filebeat [ms]", "12.0", "-")
    assert prediction_sentence(predicted).endswith(" Total: median error 50 % (1 level).")
    assert prediction_rows(part) == []
    assert PartComparison.model_validate_json(predicted.model_dump_json()) == predicted
    row = next(each for each in csv_rows(predicted) if each["quantity"] == THROUGHPUT.name)
    assert float(row["predicted"]) == pytest.approx(0.5 * mean)
