"""Step `compare`: compare each part's levels with the reference, from accepted repetitions."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.bottleneck.shares import Limit, limit_of
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import rejected_columns, repetition_row
from kafka_pareto.comparison.measured import PlannedLevel
from kafka_pareto.comparison.part_comparison import Curve, compare_part
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.tables import part_text
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.parts import VARIANT, Grid, Series, Variants

logger = logging.getLogger(__name__)


def run(campaign: Campaign) -> Manifest:
    """Compare the levels of each part, and store one record for each.

    Raises:
        ArtifactError: If a repetition or the table of rejected ones cannot be read.
    """
    study, keys = compare_study(campaign.study), campaign.keys
    ceilings = campaign.find_record(keys.ceilings(), Ceilings)
    parts = []
    for case in study.cases:
        accepted = accepted_repetitions(campaign, case)
        parts.append(compared_part(study, case, accepted, _limits(campaign, case, accepted, ceilings)))
        logger.info("%s", part_text(parts[-1]))
    predicted = with_predictions(study, parts)
    written = [campaign.write_record(keys.comparison(part.part), part) for part in predicted]
    levels = sum(len(part.levels) for part in parts)
    return campaign.manifest("compare", written, {"parts": len(written), "levels": levels})


def with_predictions(study: Compare, parts: Sequence[PartComparison]) -> list[PartComparison]:
    """Add the predictions of the study's model, if it has one."""
    means = {part.part: {level.configuration_id: level.means for level in part.levels} for part in parts}
    found = []
    for part in parts:
        configurations = {configuration_id(each): each for each in study.levels_of(part.part)}
        predicted = [study.predicted(configurations[level.configuration_id], means) for level in part.levels]
        # JSON has no infinity.
        finite = [{name: value if math.isfinite(value) else None for name, value in each.items()} for each in predicted]
        levels = [level.model_copy(update={"predicted": each}) for level, each in zip(part.levels, finite, strict=True)]
        found.append(part.model_copy(update={"levels": levels}))
    return found


def accepted_repetitions(campaign: Campaign, case: str) -> list[Repetition]:
    """Read all repetitions of a part that the gate did not reject, whatever their outcome.

    Raises:
        ArtifactError: If one, or the table of rejected ones, cannot be read.
    """
    key, columns = campaign.keys.validation("rejected.parquet"), rejected_columns(campaign.study.declaration)
    rejected = set(campaign.read_table(key, columns).repetition_id)
    return [each for each in campaign.read_measurements([case], [0]) if each.repetition_id not in rejected]


def _limits(
    campaign: Campaign, case: str, repetitions: Sequence[Repetition], ceilings: Ceilings | None
) -> dict[str, Limit]:
    """Find the bottleneck of each valid repetition again, using the ceilings, which the driver does not know."""
    driver, study = runtime_of(campaign.study), compare_study(campaign.study)
    found: dict[str, Limit] = {}
    for level in study.levels_of(case):
        setting = driver.load_setting(campaign, case, level)
        for each in repetitions:
            if setting and each.outcome == "valid" and each.configuration_id == configuration_id(level):
                found[each.repetition_id] = limit_of(each.quantities, setting, ceilings)
    return found


def compared_part(
    study: Compare, case: str, repetitions: list[Repetition], limits: Mapping[str, Limit] | None = None
) -> PartComparison:
    """Compare the levels of one part by its accepted repetitions."""
    part, driver = study.part(case), study.declaration
    levels = study.levels_of(case)
    shown, settings = levels, list[Configuration | None]([None] * len(levels))
    if isinstance(part, Variants):
        shown = [{VARIANT: name} for name in part.variants]
        of_reference = [name for name in part.factors if name in part.fixed]
        settings = [
            {name: level[name] for name in sets or of_reference}
            for level, sets in zip(levels, part.settings, strict=True)
        ]
    reference = study.baseline_configuration(case)
    compared_factors = [part.factor] if isinstance(part, Series) else list(reference)
    planned = [
        PlannedLevel(
            configuration_id(level), as_shown, all(level[name] == reference[name] for name in compared_factors), sets
        )
        for level, as_shown, sets in zip(levels, shown, settings, strict=True)
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
    factors = list(part.factors)
    reference_values = {name: reference[name] for name in factors}
    if isinstance(part, Variants):
        factors = [VARIANT]
        reference_values = next(dict(each.configuration) for each in planned if each.is_reference)
    return compare_part(
        kind="grid" if isinstance(part, Grid) else "series" if isinstance(part, Series) else "table",
        part=case,
        factors=factors,
        fixed={name: reference[name] for name in part.fixed if name not in part.factors},
        reference=reference_values,
        planned=planned,
        blocks=study.protocol.repetitions,
        repetitions=derived,
        quantities=[*driver.quantities, *driver.derived_quantities],
        compared=study.compared,
        published=published,
        scaling=_curve(study.throughputs_by_clients, factors),
        bands=_curve(study.latencies_by_size, factors),
        limits=limits,
        ranges={name: (low, high) for name, (low, high) in part.ranges.items()} if isinstance(part, Series) else None,
    )


def _curve(known: Mapping[str, tuple[str, ...]], factors: list[str]) -> Curve | None:
    return Curve(factors[0], known[factors[0]]) if len(factors) == 1 and factors[0] in known else None
