"""Step `compare`: what each part's levels come to beside the reference, from the repetitions that the gate accepted."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import rejected_columns, repetition_row
from kafka_pareto.comparison.measured import PlannedLevel
from kafka_pareto.comparison.part_comparison import Curve, compare_part
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.tables import part_text
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.parts import Grid

logger = logging.getLogger(__name__)


def run(campaign: Campaign) -> Manifest:
    """Compares the levels of each part, and stores one record for each.

    Raises:
        ArtifactError: If a repetition or the table of rejected ones cannot be read.
    """
    study, keys = compare_study(campaign.study), campaign.keys
    rejected_key, columns = keys.validation("rejected.parquet"), rejected_columns(study.declaration)
    rejected = set(campaign.read_table(rejected_key, columns).repetition_id)
    written, levels = [], 0
    for case in study.cases:
        measured = campaign.read_measurements([case], [0])
        accepted = [each for each in measured if each.repetition_id not in rejected]
        part = compared_part(study, case, accepted)
        logger.info("%s", part_text(part))
        written.append(campaign.write_record(keys.comparison(case), part))
        levels += len(part.levels)
    return campaign.manifest("compare", written, {"parts": len(written), "levels": levels})


def compared_part(study: Compare, case: str, repetitions: list[Repetition]) -> PartComparison:
    """Compares the levels of one part, as its study declares it.

    Args:
        study: The campaign's study.
        case: The part.
        repetitions: Those of the part that the gate accepted, with any outcome.
    """
    part, driver = study.part(case), study.declaration
    planned = [
        PlannedLevel(name := configuration_id(level), level, name == study.baseline_id(case))
        for level in study.levels_of(case)
    ]
    derived = [
        each.model_copy(update={"quantities": {**each.quantities, **study.derived_quantities(repetition_row(each))}})
        for each in repetitions
    ]
    published = {
        level.configuration_id: {
            name: number for name, numbers in part.published.items() if (number := numbers[place]) is not None
        }
        for place, level in enumerate(planned)
    }
    factors, reference = list(part.factors), study.baseline_configuration(case)
    return compare_part(
        kind="grid" if isinstance(part, Grid) else "table",
        part=case,
        factors=factors,
        fixed={name: reference[name] for name in part.fixed},
        reference={name: reference[name] for name in factors},
        planned=planned,
        blocks=study.protocol.repetitions,
        repetitions=derived,
        quantities=[*driver.quantities, *driver.derived_quantities],
        compared=study.compared,
        published=published,
        scaling=_curve(study.throughputs_by_clients, factors),
        bands=_curve(study.latencies_by_size, factors),
    )


def _curve(known: Mapping[str, tuple[str, ...]], factors: list[str]) -> Curve | None:
    return Curve(factors[0], known[factors[0]]) if len(factors) == 1 and factors[0] in known else None
