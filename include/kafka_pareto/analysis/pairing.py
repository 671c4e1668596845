"""Pairs repetitions of two configurations by block."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.campaign.records import Repetition


def valid_by_block(repetitions: Sequence[Repetition]) -> dict[str, dict[int, Repetition]]:
    """Maps configuration id and block to the valid repetition."""
    found: dict[str, dict[int, Repetition]] = {}
    for repetition in repetitions:
        if repetition.outcome == "valid":
            found.setdefault(repetition.configuration_id, {})[repetition.block] = repetition
    return found


def paired(
    baseline_id: str, chosen_id: str, repetitions: Sequence[Repetition]
) -> tuple[list[Repetition], list[Repetition]]:
    """Returns valid repetitions of the baseline and of the chosen configuration, in the blocks that have both."""
    valid = valid_by_block(repetitions)
    baseline, chosen = valid.get(baseline_id, {}), valid.get(chosen_id, {})
    blocks = sorted(baseline.keys() & chosen.keys())
    return [baseline[block] for block in blocks], [chosen[block] for block in blocks]
