from __future__ import annotations

import pytest

from kafka_pareto.study.configuration_words import configuration_words

pytestmark = pytest.mark.fast


def test_a_configuration_is_reported_in_one_order_whatever_order_it_has():
    configuration = {"acks": "all", "linger.ms": 0, "batch.size": 500_000, "compression.type": "zstd"}
    assert configuration_words(configuration) == "zstd · 488 KiB · linger 0 ms · acks all"
    assert configuration_words(dict(reversed(configuration.items()))) == configuration_words(configuration)


def test_terms_without_their_own_words_are_shown_by_name():
    configuration = {"max.request.size": 1_048_576, "enable.idempotence": True, "acks": "1"}
    assert configuration_words(configuration, ", ") == "acks 1, enable.idempotence true, max.request.size 1048576"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (200, "200 B"),
        (1023, "1023 B"),
        (16_384, "16 KiB"),
        (147_103, "144 KiB"),
        (40_000, "39.1 KiB"),
        (1_048_575, "1024 KiB"),
        (1_572_864, "1.5 MiB"),
    ],
)
def test_sizes_are_written_in_a_readable_unit(size: int, words: str):
    assert configuration_words({"batch.size": size}) == words


def test_no_compression_is_reported_as_such_and_the_buffer_is_named():
    configuration = {"compression.type": "none", "buffer.memory": 33_554_432}
    assert configuration_words(configuration) == "no compression · buffer 32 MiB"
