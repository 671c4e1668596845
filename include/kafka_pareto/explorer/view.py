"""Build the explorer's view of one case: every configuration, estimated and measured.

Every number comes from an artifact; unknown ones are None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from kafka_pareto.analysis.noise_study import change_text, noise_lines
from kafka_pareto.analysis.pareto import losses_of, non_dominated
from kafka_pareto.analysis.trials import may_be_recommended
from kafka_pareto.analysis.wording import role_text, share
from kafka_pareto.explorer.snapshot import Snapshot
from kafka_pareto.kafka.known_properties import PRODUCER_DURABILITIES
from kafka_pareto.report.card_layout import CardParts, card_parts
from kafka_pareto.report.latency_breakdown import Row
from kafka_pareto.report.reasons import reason_of
from kafka_pareto.rollout.client_files import client_files
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.constraints import ForbiddenRegion, Rule
from kafka_pareto.study.declaration import Objective
from kafka_pareto.study.declarations import all_objectives, label_of, objective_named
from kafka_pareto.study.factors import CategoricalFactor, FactorValue
from kafka_pareto.study.objectives import ObjectiveName

_FRONT_POINTS_SHOWN = 120

Values = dict[ObjectiveName, float | None]


class Measured(BaseModel):
    """The measurements of a configuration, from the design and the rounds or from the choice blocks."""

    values: Values
    repetitions: int


class Point(BaseModel):
    """One configuration.

    Attributes:
        rules_broken: As in `CaseView.rules`.
        advised_by: Who advises it.
        round: The round that drew it; None if only the search proposed it.
        design: Its trial from the design and the rounds.
        confirmed: Its trial from the choice blocks.
        estimated: By the last search's surrogates.
        chosen_as: Why it was confirmed, in words.
    """

    configuration_id: str
    factors: dict[str, FactorValue]
    durability: str
    rules_broken: list[str]
    advised_by: list[str]
    is_baseline: bool
    round: int | None
    design: Measured | None
    confirmed: Measured | None
    estimated: Values | None
    on_estimated_front: bool
    on_measured_front: bool
    chosen_as: list[str]


class FactorAxis(BaseModel):
    """A factor as an axis: ordered levels if categorical, else numeric, with an optional log scale."""

    name: str
    levels: list[str]
    log_scale: bool


class ObjectiveWords(BaseModel):
    """The display of an objective; latencies and rates have a logarithmic axis."""

    label: str
    unit: str
    maximised: bool
    is_spread: bool
    logarithmic: bool


class CaseView(BaseModel):
    """One case of one campaign.

    Attributes:
        points: Measured or confirmed configurations, and a readable sample of the estimated front.
        estimated_front_points: Size of the whole estimated front.
        rules: The study's constraints and forbidden regions.
        durabilities: Selectable minimums; empty for a driver without durability.
        card: The decision's card; None until the confirmation ends.
        awaits_report: Whether the case is decided, but the report, which adds the protocol and the baseline's
            stability, is not yet written.
        files: Names of the client files.
        noise_table: The A/A study; empty without one, like `noise_sentences`.
    """

    study: str
    campaign: str
    case: str
    case_label: str
    objectives: dict[ObjectiveName, ObjectiveWords]
    axes: list[FactorAxis]
    points: list[Point]
    estimated_front_points: int
    weakest_durability: str
    durabilities: list[str]
    rules: list[str]
    limits: list[str]
    baseline_id: str
    in_force_id: str | None
    in_force_version: int | None
    pick_id: str | None
    recommended_id: str | None
    awaits_report: bool
    reasons: list[str]
    card: CardParts | None
    files: list[str]
    noise_table: list[Row]
    noise_sentences: list[str]
    problems: list[str]


def case_view(snapshot: Snapshot) -> CaseView:
    """Return the view of one case."""
    study, decision, keys = snapshot.study, snapshot.decision, snapshot.campaign.keys
    return CaseView(
        study=keys.study,
        campaign=keys.campaign,
        case=snapshot.case,
        case_label=case_label(snapshot.case),
        objectives={name: _words(objective_named(name)) for name in study.objective_names},
        axes=_axes(snapshot),
        points=_points(snapshot),
        estimated_front_points=len(_joint_front(snapshot)),
        weakest_durability=study.weakest_durability().name,
        durabilities=[each.name for each in PRODUCER_DURABILITIES] if study.declaration.states_durability else [],
        rules=_texts(study.rules()),
        limits=[str(limit) for limit in study.limits],
        baseline_id=study.baseline_id(),
        in_force_id=decision.in_force.configuration_id if decision and decision.in_force else None,
        in_force_version=decision.in_force.version if decision and decision.in_force else None,
        pick_id=decision.pick_configuration_id if decision else None,
        recommended_id=decision.recommended_configuration_id if decision else None,
        awaits_report=decision is not None and snapshot.context is None,
        reasons=[reason_of(decision)] if decision else [],
        card=card_parts(decision, snapshot.context, keys.campaign) if decision else None,
        files=list(client_files(study.driver)),
        noise_table=_noise_table(snapshot),
        noise_sentences=noise_lines(snapshot.noise, study.protocol.variability) if snapshot.noise else [],
        problems=list(snapshot.problems),
    )


def _words(objective: Objective) -> ObjectiveWords:
    unit, is_spread = objective.unit, bool(objective.spread_of)
    logarithmic = not is_spread and (unit == "ms" or unit.endswith("/s"))
    return ObjectiveWords(
        label=objective.label, unit=unit, maximised=objective.maximised, is_spread=is_spread, logarithmic=logarithmic
    )


def _axes(snapshot: Snapshot) -> list[FactorAxis]:
    return [
        FactorAxis(
            name=name,
            levels=[str(level) for level in factor.levels] if isinstance(factor, CategoricalFactor) else [],
            log_scale=not isinstance(factor, CategoricalFactor) and factor.scale == "log",
        )
        for name, factor in snapshot.study.factors.items()
    ]


def _points(snapshot: Snapshot) -> list[Point]:
    """Return every configuration once, measured ones first."""
    trials, confirmed = _by_id(snapshot.trials), _by_id(snapshot.confirmed)
    joint_front = _joint_front(snapshot)
    on_front = set(joint_front.configuration_id)
    # Candidates keep the estimates they were chosen by; the front may be from a later round.
    estimated = {**_by_id(snapshot.front), **_by_id(snapshot.candidates)}
    thinned = _thinned(joint_front, snapshot.study.declaration.plane[0])
    shown = {**trials, **confirmed, **_by_id(snapshot.candidates), **_by_id(thinned)}
    measured_front = measured_front_ids(snapshot)
    rules, variables = snapshot.study.rules(), snapshot.study.variables(snapshot.case)
    points = []
    for name in shown:
        row = trials.get(name) or confirmed.get(name) or estimated[name]
        candidate = estimated.get(name)
        points.append(
            Point(
                configuration_id=name,
                factors={factor: row[factor] for factor in snapshot.study.factors},
                durability=row["durability"],
                rules_broken=_texts(rule for rule in rules if not rule.holds(row, variables)),
                advised_by=list(snapshot.advised_by.get(name, [])),
                is_baseline=row["is_baseline"],
                round=snapshot.round_of.get(name),
                design=_measured(trials.get(name)),
                confirmed=_measured(confirmed.get(name)),
                estimated=_values(candidate, "estimated_") if candidate else None,
                on_estimated_front=name in on_front,
                on_measured_front=name in measured_front,
                chosen_as=[role_text(role) for role in (candidate or {}).get("chosen_as", [])],
            )
        )
    return points


def _texts(rules: Iterable[Rule]) -> list[str]:
    return [f"the forbidden region {rule}" if isinstance(rule, ForbiddenRegion) else str(rule) for rule in rules]


def _joint_front(snapshot: Snapshot) -> pd.DataFrame:
    """Return the front over all accepted durabilities; the report has those of weaker ones."""
    return snapshot.front[snapshot.front.on_joint_front.astype(bool)]


def _thinned(front: pd.DataFrame, along: ObjectiveName) -> pd.DataFrame:
    """Return points evenly spaced along an objective, with both ends, because a search over ranges finds thousands."""
    ordered = front.sort_values([f"estimated_{along}", "configuration_id"])
    places = np.unique(np.linspace(0, len(front) - 1, min(len(front), _FRONT_POINTS_SHOWN)).round().astype(int))
    return ordered.iloc[places]


def measured_front_ids(snapshot: Snapshot) -> set[str]:
    """Return the non-dominated IDs among the confirmed, or among all measured if none is confirmed yet.

    Only eligible configurations compete. A lucky single repetition of the design does not compete with confirmed ones.
    """
    measured = snapshot.confirmed if len(snapshot.confirmed) else snapshot.trials
    usable = measured[(measured.repetitions_valid > 0).astype(bool)]
    if len(usable):
        usable = usable[may_be_recommended(usable, snapshot.study)]
    return set(usable.configuration_id[non_dominated(losses_of(usable))]) if len(usable) else set()


def _by_id(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        row["configuration_id"]: {str(name): value for name, value in row.items()} for row in frame.to_dict("records")
    }


def _measured(row: Mapping[str, Any] | None) -> Measured | None:
    return None if row is None else Measured(values=_values(row), repetitions=row["repetitions_valid"])


def _values(row: Mapping[str, Any], prefix: str = "") -> Values:
    known = (each.name for each in all_objectives() if f"{prefix}{each.name}" in row)
    found = {objective: row[f"{prefix}{objective}"] for objective in known}
    return {objective: float(value) if np.isfinite(value) else None for objective, value in found.items()}


def _noise_table(snapshot: Snapshot) -> list[Row]:
    if snapshot.noise is None:
        return []
    blocks = f"blocks to detect {share(snapshot.noise.wanted_effect_fraction)}"
    rows = [
        (
            label_of(each.objective),
            _change(each.noise_floor_fraction),
            _change(each.minimum_detectable_effect_fraction),
            "-" if each.blocks_for_wanted_effect is None else f"{each.blocks_for_wanted_effect:,}",
        )
        for each in snapshot.noise.objectives
    ]
    return [("Objective", "noise floor", "smallest detectable change", blocks), *rows]


def _change(fraction: float | None) -> str:
    return "-" if fraction is None else change_text(fraction)
