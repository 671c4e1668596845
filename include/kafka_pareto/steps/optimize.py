"""Step `optimize`: NSGA-III over the surrogates of one case."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import FRONT_INTERVAL_COLUMNS, HYPERVOLUME_COLUMNS, SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError
from kafka_pareto.search.pareto_search import search, with_class_fronts
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.surrogates.calibration import Calibrations, with_intervals
from kafka_pareto.surrogates.surrogate import Surrogate, SurrogateIndex, load_surrogate

logger = logging.getLogger(__name__)


def run(campaign: Campaign, case: str, round_number: int = 0) -> Manifest:
    """Search one case, and write its fronts and the hypervolume of every generation.

    All accepted durabilities are searched together for the joint front, then each reachable class separately, because
    the report shows weaker guarantees separately. With strategy `rounds`, an objective that the surrogates have not
    learned for this case is excluded from the search and judged by measurement.

    Raises:
        BadInputError: If the study has no such case, or no configuration meets its rules.
        ArtifactError: If the trials or surrogates are missing, damaged or of another schema version.
    """
    study, keys = campaign.tune, campaign.keys
    if case not in study.cases:
        raise BadInputError(f"--case: {case}: must be one of the study's: {', '.join(study.cases)}")
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    measured = trials[trials["case"] == case]
    surrogates = _surrogates(campaign, round_number)
    for objective in sorted(set(study.objective_names) - set(surrogates)):
        logger.info("%s: has no surrogate, so the search excludes it", objective)
    if study.strategy == "rounds":
        surrogates = _learned(campaign, surrogates, case, round_number)

    found = search(study, case, surrogates, measured)
    front = with_class_fronts(study, case, surrogates, measured, found)
    # Models of earlier releases have none.
    calibrations = campaign.find_record(keys.surrogates("calibration.json", round_number), Calibrations)
    front = with_intervals(study, front, calibrations.objectives if calibrations else {})
    hypervolume = float(found.hypervolume["hypervolume"].iloc[-1])
    weaker = int((~front["durability_accepted"]).sum())
    logger.info(
        "%s: %s configurations on the front%s after %s evaluations; estimated hypervolume %.4f",
        case_label(case),
        f"{len(found.front):,}",
        f" (plus {weaker:,} with weaker durability)" if weaker else "",
        f"{found.evaluations:,}",
        hypervolume,
    )
    artifacts = [
        campaign.write_table(keys.front(case, round_number), front, FRONT_INTERVAL_COLUMNS),
        campaign.write_table(
            keys.hypervolume(case, round_number), found.hypervolume, HYPERVOLUME_COLUMNS, factors=False
        ),
    ]
    counts: dict[str, int | float] = {
        "front": len(found.front),
        "front_weaker_durability": weaker,
        "evaluations": found.evaluations,
        "hypervolume": round(hypervolume, 6),
    }
    return campaign.manifest("optimize", artifacts, counts, [case])


def _surrogates(campaign: Campaign, round_number: int) -> dict[ObjectiveName, Surrogate]:
    keys = campaign.keys
    index = campaign.read_record(keys.surrogates("encoding.json", round_number), SurrogateIndex)
    files = {objective: keys.surrogates(f"{objective}.ubj", round_number) for objective in index.models}
    return {
        objective: load_surrogate(campaign.store.get(key), key, objective, index) for objective, key in files.items()
    }


def _learned(
    campaign: Campaign, surrogates: dict[ObjectiveName, Surrogate], case: str, round_number: int
) -> dict[ObjectiveName, Surrogate]:
    """Return the objectives judged learnable for this case, or overall if it has no own verdict."""
    key = campaign.keys.surrogates("scores.parquet", round_number)
    scores = campaign.read_table(key, SCORE_COLUMNS, factors=False)
    learned = {
        objective: surrogate
        for objective, surrogate in surrogates.items()
        if _is_learnable(scores[scores["objective"] == objective], case)
    }
    if not learned:
        logger.info("%s: no objective is learnable yet, so the search uses all estimates unchanged", case_label(case))
        return surrogates
    for objective in sorted(set(surrogates) - set(learned)):
        logger.info("%s: %s is not learnable, so the search excludes it", case_label(case), objective)
    return learned


def _is_learnable(scores: pd.DataFrame, case: str) -> bool:
    own = scores[scores["case"] == case]
    verdicts = own if own["r2_cross_validated"].notna().any() else scores[scores["case"].isna()]
    return bool(verdicts["learnable"].any())
