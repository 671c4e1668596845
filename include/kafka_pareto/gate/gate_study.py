"""Turn a study that tunes into one that measures two settings files."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.analysis.gains import SHARE_OF_A_CV, SIGNIFICANCE
from kafka_pareto.analysis.repetition_values import is_mean
from kafka_pareto.analysis.sequential import fewest_blocks
from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.decision.harm import harm_margin
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import Condition
from kafka_pareto.study.study_file import checked
from kafka_pareto.study.tune import Tune

# Of the search, which a gate does not have.
_NOT_USED = ("constraints", "forbidden", "limits", "warm_start", "advice")


def gate_study(study: Tune, reference: Mapping[str, PropertyValue], candidate: Mapping[str, PropertyValue]) -> Tune:
    """Return the study with the reference as its baseline and, as factors, what the candidate changes.

    Each factor has two levels: the reference's value, then the candidate's. Unset settings have their defaults. The
    conditions and the number of blocks become part of the study.

    Raises:
        BadInputError: If the candidate changes nothing, or its durability is weaker than the study accepts.
        StudyError: If the study's blocks are too few to decide all conditions.
    """
    of_reference, of_candidate = (study.model_copy(update={"baseline": dict(each)}) for each in (reference, candidate))
    before, after = of_reference.all_settings({}), of_candidate.all_settings({})
    changed = {name: (before[name], value) for name, value in after.items() if before[name] != value}
    if not changed:
        raise BadInputError("--candidate: has the same settings as the reference, so there is nothing to check")
    accepted, promised = of_reference.weakest_durability(), of_candidate.durability_of({})
    if promised < accepted:
        raise BadInputError(
            f"--candidate: its durability is {promised.name}, weaker than {accepted.name}, which the study requires "
            "(durability; by default the reference's)"
        )
    content = study.model_dump(exclude_none=True, exclude=set(_NOT_USED))
    content |= {"baseline": dict(reference), "factors": {name: _factor(*values) for name, values in changed.items()}}
    content["confirmation"]["compare_advice"] = "if_better"  # "always" needs advice
    content["gate"] = {"conditions": conditions_of(study), "blocks": study.gate.blocks}
    found = checked(type(study), content, f"{study.name} with the settings to check")
    fewest = max(map(fewest_blocks, levels_of(found)))
    if found.gate.blocks < fewest:
        rule = f"must be at least {fewest} to decide {len(found.gate.conditions)} conditions"
        raise StudyError(f"{study.name}.yaml", [f"gate.blocks: {found.gate.blocks}: {rule}"])
    return found


def candidate_of(study: Tune) -> Candidate:
    """Return the candidate of a study made by `gate_study`."""
    configuration = {name: factor.extremes()[-1] for name, factor in study.factors.items()}
    return Candidate(configuration_id(configuration), is_baseline=False, configuration=configuration)


def conditions_of(study: Tune) -> list[Condition]:
    """Return the study's conditions; by default, that no mean is worse by the confirmation's margin of harm."""
    if study.gate.conditions:
        return study.gate.conditions
    margin = harm_margin(study.confirmation)
    bounds = {mean: round(1 - margin if is_maximised(mean) else 1 + margin, 12) for mean in study.means}
    return [Condition(objective=mean, bound=bound, of_reference=True) for mean, bound in bounds.items()]


def levels_of(study: Tune) -> list[float]:
    """Return the error level of each condition in each case.

    All conditions and all cases share 5 %, and so does the test for failures in each case, whose level is the last; a
    CV across repetitions has a tenth of another condition's share.
    """
    means = [is_mean(each.objective, study.protocol.variability) for each in study.gate.conditions]
    shares = [*(1.0 if each else SHARE_OF_A_CV for each in means), 1.0]
    return [SIGNIFICANCE * share / (sum(shares) * len(study.cases)) for share in shares]


def _factor(before: PropertyValue, after: PropertyValue) -> dict[str, object]:
    levels = [str(each).lower() if isinstance(each, bool) else each for each in (before, after)]
    return {"type": "integer" if isinstance(levels[0], int) else "categorical", "levels": levels}
