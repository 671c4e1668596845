"""Decide whether a case needs another round."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from kafka_pareto.analysis.hypervolume import measured_hypervolume
from kafka_pareto.campaign.records import RoundsSoFar, Stop
from kafka_pareto.study.tune import Tune


def rounds_so_far(study: Tune, case: str, trials_by_round: Sequence[pd.DataFrame]) -> RoundsSoFar:
    """Return the rounds' gains in one case, and why the rounds end, if they do.

    `trials_by_round` holds each round's trials with those before it. They tell which configurations a round added; the
    values are the last round's, as volumes over different measurements of the baseline are not comparable.
    """
    of_case = [trials[trials.case == case] for trials in trials_by_round]
    latest, counts = of_case[-1], [len(trials) for trials in of_case]
    # A round without this case has added no configuration.
    measured = [trials for at, trials in enumerate(of_case) if at == 0 or counts[at] > counts[at - 1]]
    volumes = [
        measured_hypervolume(latest[latest.configuration_id.isin(trials.configuration_id)], study)
        for trials in measured
    ]
    return RoundsSoFar(case=case, measured_hypervolume=volumes, stopped_because=_why_it_stops(volumes, study))


def _why_it_stops(volumes: Sequence[float], study: Tune) -> Stop | None:
    """Return why the rounds end, if they do: two poor rounds in a row are evidence, a single one may be bad luck."""
    if not volumes[-1]:  # nothing that keeps the limits was found yet
        return None
    rounds, least_rise_fraction = len(volumes) - 1, study.rounds.least_rise_fraction
    if rounds >= 2:
        before, after = volumes[-3], volumes[-1]
        rise_fraction = after / before - 1 if before else float("inf")
        if rise_fraction < least_rise_fraction:
            return Stop(code="rise_too_small", rise_fraction=rise_fraction, least_rise_fraction=least_rise_fraction)
    if rounds + 1 == len(study.round_numbers()):
        return Stop(code="last_round")
    return None
