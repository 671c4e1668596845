"""Tables of the configurations that a round measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kafka_pareto.campaign.design import latin_hypercube, one_at_a_time
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, table_schema
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune


def design_table(study: Tune, known: Mapping[str, Sequence[Configuration]] | None = None) -> pd.DataFrame:
    """Return the design: per case the baseline, the `known` configurations, and drawn ones up to the design's size.

    Each case has its own random generator, so its design does not change when other cases are excluded. With one factor
    at a time, the levels alone make the design.

    Raises:
        StudyError: If the feasible space of a case is smaller than its design.
    """
    drawn_at: dict[str, list[Configuration]] = {}
    for case in study.cases:
        rng = np.random.default_rng([study.seed, case_seed(case)])
        if study.design.configurations is None:
            drawn_at[case] = one_at_a_time(study, case)
            continue
        first = list((known or {}).get(case, []))
        count = study.design.configurations - len(first)
        others = latin_hypercube(study, count, case, rng, beside=first) if count else []
        drawn_at[case] = [*first, *others]
    return configurations_table(study, drawn_at)


def configurations_table(study: Tune, configurations: Mapping[str, Sequence[Configuration]]) -> pd.DataFrame:
    """Return the rows that a round measures: per case the baseline, then its configurations, with their factors."""
    rows = [
        design_row(study, case, configuration, feasible=study.keeps_rules(configuration, case))
        for case, chosen in configurations.items()
        for configuration in [study.baseline_configuration(), *chosen]
    ]
    return pd.DataFrame(rows, columns=table_schema(DESIGN_COLUMNS, study).names)


def design_row(study: Study, case: str, configuration: Configuration, *, feasible: bool) -> dict[str, object]:
    """Return the row of a configuration in a table of `DESIGN_COLUMNS` and factors."""
    identity = configuration_id(configuration)
    return {
        "case": case,
        "configuration_id": identity,
        "is_baseline": identity == study.baseline_id(case),
        "feasible": feasible,
        "durability": study.durability_of(configuration).name,
        **configuration,
    }
