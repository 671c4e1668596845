from __future__ import annotations

import pytest

from kafka_pareto.comparison.records import Interval, PartComparison
from kafka_pareto.comparison.sentences import closing_sentences
from tests.unit.comparison.made_parts import (
    BATCH_SIZE,
    P99,
    THROUGHPUT,
    batch_size_part,
    both,
    codec_part,
    grid_part,
    linger_part,
    made_part,
    same_part,
)

pytestmark = pytest.mark.fast


def with_ratio(part: PartComparison, level: int, quantity: str, ratio: float, p: float) -> PartComparison:
    """Return the part with this ratio (without an interval) and adjusted p-value at one level."""
    levels = list(part.levels)
    changed = levels[level].estimates[quantity].model_copy(
        update={"ratio": Interval(value=ratio), "p_value_holm": p}
    )  # fmt: skip
    levels[level] = levels[level].model_copy(update={"estimates": levels[level].estimates | {quantity: changed}})
    return part.model_copy(update={"levels": levels})


def test_there_are_three_sentences_and_another_on_published_numbers() -> None:
    for parts in ([same_part(), linger_part()], [batch_size_part()], [codec_part(), grid_part(), linger_part()]):
        sentences = closing_sentences(parts)
        published = any(len(level.published) for part in parts for level in part.levels)
        assert len(sentences) == (4 if published else 3)
        assert all(text[0].isupper() and text.endswith(".") and ".." not in text for text in sentences)


def test_the_largest_gain_of_each_quantity_is_named_with_its_interval() -> None:
    (helped, *_) = closing_sentences([batch_size_part(), linger_part()])
    more = linger_part().levels[-1].estimates[THROUGHPUT.name].ratio
    less = linger_part().levels[0].estimates[P99.name].ratio
    assert more
    assert less
    assert helped == (
        f"Largest improvement in throughput: linger.ms 100 instead of 10, {more.value:.2f}x (95 % interval "
        f"{more.low:.2f} to {more.high:.2f}); largest improvement in p99 latency: linger.ms 0 instead of 10, "
        f"{less.value:.2f}x (95 % interval {less.low:.2f} to {less.high:.2f})."
    )


def test_where_nothing_is_better_than_the_reference_the_largest_loss_is_named_as_a_loss() -> None:
    (helped, *_) = closing_sentences([batch_size_part()])
    assert helped.startswith("No level improved throughput; largest loss: batch.size 16384 instead of 1048576, 0.16x")


def test_an_insignificant_gain_is_not_a_gain() -> None:
    part = with_ratio(same_part(), 1, THROUGHPUT.name, ratio=3.0, p=0.06)
    (helped, *_) = closing_sentences([part])
    assert helped == "No significant difference from the reference in any compared quantity (5 blocks)."


def test_that_nothing_differs_is_said_once() -> None:
    helped, cost = closing_sentences([same_part()])
    assert helped == "No significant difference from the reference in any compared quantity (5 blocks)."
    assert cost == "No bottleneck was found at the reference."


def test_one_quantity_may_differ_while_the_other_does_not() -> None:
    part = with_ratio(same_part(), 1, THROUGHPUT.name, ratio=1.2, p=0.01)
    helped, same, cost, *_ = closing_sentences([part])
    assert helped == (
        "Largest improvement in throughput: acks all instead of 1, 1.20x; no significant difference in p99 latency "
        "(5 blocks)."
    )
    assert same == "Every tested level differs from the reference in at least one compared quantity."
    assert cost == (
        "No gain came with a significant loss in another compared quantity; no bottleneck was found at the reference."
    )


def test_a_gain_names_the_settings_a_grid_kept_and_a_part_fixed() -> None:
    (of_grid, *_) = closing_sentences([grid_part()])
    assert "linger.ms 100 instead of 10 at batch.size 1048576, " in of_grid
    (of_codecs, *_) = closing_sentences([codec_part()])
    assert "compression.type none instead of lz4 (payload text), " in of_codecs


def test_levels_that_differ_in_nothing_are_named_and_counted_where_they_are_many() -> None:
    (_, few, *_) = closing_sentences([linger_part(), same_part(blocks=3)])
    assert few == "No significant difference (3 to 5 blocks): acks all."
    alike = {(at,): both(1000, 10) for at in range(8)}
    alike_part = made_part("alike", alike, ["linger.ms"], (0,), noise=0.05)
    (_, many, *_) = closing_sentences([linger_part(), alike_part])
    assert many == "No significant difference (5 blocks): 7 of 7 levels of linger.ms."


def test_levels_without_a_test_are_not_called_equal() -> None:
    part = same_part()
    untested = {
        name: estimate.model_copy(update={"p_value_holm": None, "ratio": None})
        for name, estimate in part.levels[1].estimates.items()
    }
    levels = [part.levels[0], part.levels[1].model_copy(update={"estimates": untested})]
    (_, same, *_) = closing_sentences([part.model_copy(update={"levels": levels})])
    assert same == "No level could be tested against the reference."


def test_the_cost_of_the_largest_gain_is_given_with_both_means_and_the_references_bottleneck() -> None:
    (_, _, cost, *_) = closing_sentences([linger_part(), codec_part()])
    ours, theirs = (linger_part().levels[at].estimates[THROUGHPUT.name].mean for at in (0, 2))
    assert ours
    assert theirs
    assert cost.startswith("Largest trade-off: linger.ms 0 has 0.31x")
    assert f"the throughput: {ours.value:,.0f} instead of {theirs.value:,.0f} records/s" in cost
    assert cost.endswith("; the reference was limited by CPU in 1 of 2 parts.")


def test_a_resource_without_words_is_named_by_its_code() -> None:
    part = made_part("batch_size", BATCH_SIZE, ["batch.size"], (1048576,), bottleneck="page_cache")
    assert closing_sentences([part])[2].endswith("the reference was limited by page cache.")


def test_published_ratios_outside_the_intervals_are_counted_and_the_farthest_named() -> None:
    part = linger_part()
    ratio = part.levels[0].estimates[THROUGHPUT.name].ratio
    assert ratio
    reference = part.reference_level.model_copy(update={"published": {THROUGHPUT.name: 100.0}})
    others = [level.model_copy(update={"published": {}}) for level in part.levels if not level.is_reference]
    far = others[0].model_copy(update={"published": {THROUGHPUT.name: 900.0}})
    near = others[0].model_copy(update={"published": {THROUGHPUT.name: 100 * ratio.value}})

    (*_, otherwise) = closing_sentences([part.model_copy(update={"levels": [reference, far, *others[1:]]})])
    (*_, alike) = closing_sentences([part.model_copy(update={"levels": [reference, near, *others[1:]]})])

    assert otherwise.startswith(
        "Outside the 95 % intervals measured here: 1 of 1 published ratio to the reference: throughput with "
        "linger.ms 0, 0.56x ("
    )
    assert alike == "Outside the 95 % intervals measured here: 0 of 1 published ratio to the reference."


@pytest.mark.parametrize("numbers", [(100.0, 0.0), (0.0, 100.0), (100.0, -1.0)])
def test_published_numbers_that_have_no_ratio_are_not_compared(numbers: tuple[float, float]) -> None:
    part = linger_part()
    reference, other = (
        level.model_copy(update={"published": {THROUGHPUT.name: number}})
        for level, number in zip((part.reference_level, part.levels[0]), numbers, strict=True)
    )
    sentences = closing_sentences([part.model_copy(update={"levels": [reference, other]})])
    assert not any("published" in text for text in sentences)
