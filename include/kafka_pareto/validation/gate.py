"""Examine a round's repetitions: the tables for the suites, and the gate's verdict. No I/O of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kafka_pareto.analysis.wording import counted, share
from kafka_pareto.campaign.candidates import Candidate, candidates_of
from kafka_pareto.campaign.records import ExpectationResult, Repetition, ValidationSummary
from kafka_pareto.campaign.suites import suites_of
from kafka_pareto.campaign.tables import repetition_columns, repetition_row, repetitions_frame, table_schema
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.racing import planned_candidates
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.study import Study
from kafka_pareto.validation.expectations import ROW_ID, Examination, Finding

_TYPES = {"integer": ["int"], "float": ["float", "int"], "categorical": ["str"]}
_WHOLE_TABLE = ("schema", "completeness")
_NAMED = 20


@dataclass(frozen=True)
class Verdict:
    """The result of examining a round's repetitions.

    `rejected` has the reason for each rejected repetition, `problems` those that stop the campaign.
    """

    findings: list[Finding]
    rejected: dict[str, str]
    accepted: list[Repetition]
    problems: list[str]
    summary: ValidationSummary


@dataclass(frozen=True)
class Earlier:
    """The summaries and accepted repetitions of the rounds before."""

    summaries: Sequence[ValidationSummary]
    accepted: Sequence[Repetition]


def examine(
    repetitions: Sequence[Repetition],
    design: pd.DataFrame,
    study: Study,
    examination: Examination,
    earlier: Earlier | None = None,
) -> Verdict:
    """Validate the repetitions of one round and judge them, with the earlier ones, by the tolerance.

    A table without the right schema is not examined further: its rows cannot be judged.
    """
    earlier = earlier or Earlier([], [])
    round_number = len(earlier.summaries)
    suites, parameters = suites_of(study.declaration), suite_parameters(study, round_number)
    planned = planned_repetitions(design, repetitions, study, round_number)
    findings = examination.check("schema", suites["schema"], table_as_read(repetitions, study), parameters)
    if not any(finding.is_critical for finding in findings):
        stored = completeness_table(planned, repetitions)
        findings += examination.check("completeness", suites["completeness"], stored, parameters)
        table = derived_table(repetitions, planned, study, round_number)
        for suite, rows in (("repetitions", table), ("valid_repetitions", table[table["outcome"] == "valid"])):
            if len(rows):
                findings += examination.check(suite, suites[suite], rows, parameters)
    return _verdict(repetitions, planned, study, findings, earlier)


def suite_parameters(study: Study, round_number: int = 0) -> dict[str, Any]:
    """Return the values of the suites' `$…` in this study and round."""
    return {
        "columns": table_schema(repetition_columns(study.declaration), study).names,
        "factors": list(study.varied_factors),
        "rounds": [round_number],
        "types": {name: _TYPES[factor.type] for name, factor in study.varied_factors.items()},
        **study.rule_parameters(),
    }


def planned_repetitions(
    design: pd.DataFrame, repetitions: Sequence[Repetition], study: Study, round_number: int = 0
) -> list[str]:
    """Return the IDs of all planned repetitions; adaptive ones from the stored repetitions."""
    planned = []
    for case in design["case"].unique().tolist():
        candidates = candidates_of(design[design["case"] == case], study)
        stored = {r.repetition_id: r for r in repetitions if r.case == case}
        for block, active in enumerate(planned_candidates(candidates, list(stored.values()), study)):
            planned += [
                PlannedRepetition("design", round_number, case, each, block, 0).repetition_id for each in active
            ]
    return planned


def table_as_read(repetitions: Sequence[Repetition], study: Study) -> pd.DataFrame:
    """Return the repetitions as recorded, with any factors of any type."""
    rows = [repetition_row(repetition) for repetition in repetitions]
    columns = None if rows else table_schema(repetition_columns(study.declaration), study).names
    table = pd.DataFrame(rows, columns=columns)
    present = [name for name in study.varied_factors if name in table]
    return table.astype(dict.fromkeys(present, object))


def completeness_table(planned: Sequence[str], repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Return one row per planned repetition with the number of times it is stored."""
    stored = Counter(repetition.repetition_id for repetition in repetitions)
    return pd.DataFrame({ROW_ID: list(planned), "times_stored": [stored[identity] for identity in planned]})


def derived_table(
    repetitions: Sequence[Repetition], planned: Sequence[str], study: Study, round_number: int = 0
) -> pd.DataFrame:
    """Return the repetitions with derived columns, for expectations that compare two columns."""
    table = repetitions_frame(repetitions, study)
    planned_ids = set(planned)
    table["is_planned"] = [identity in planned_ids for identity in table[ROW_ID]]
    table["repetition_id_by_columns"] = [_id_by_columns(repetition, round_number) for repetition in repetitions]
    table["configuration_id_by_values"] = [configuration_id(repetition.configuration) for repetition in repetitions]
    table["is_baseline_by_id"] = [each.configuration_id == study.baseline_id(each.case) for each in repetitions]
    derived = pd.DataFrame([study.derived_values(repetition_row(each)) for each in repetitions], index=table.index)
    return pd.concat([table, derived], axis="columns")


def rejected_table(repetitions: Sequence[Repetition], rejected: dict[str, str], study: Study) -> pd.DataFrame:
    """Return the rejected repetitions, each with its reason."""
    table = repetitions_frame([r for r in repetitions if r.repetition_id in rejected], study)
    return table.assign(rejected_because=table[ROW_ID].map(rejected).astype("str"))


def _verdict(
    repetitions: Sequence[Repetition], planned: Sequence[str], study: Study, findings: list[Finding], earlier: Earlier
) -> Verdict:
    rejected = _rejected(findings)
    kept = [repetition for repetition in repetitions if repetition.repetition_id not in rejected]
    judged = not any(finding.is_critical for finding in findings if finding.suite == "schema")
    accepted = kept if judged else []
    failed = [repetition for repetition in kept if repetition.outcome == "failed"]
    missing = [row for finding in findings if finding.suite == "completeness" for row in finding.rows]
    lost = {**rejected, **{r.repetition_id: f"failed: {r.reason}" for r in failed}}
    # Over all rounds: in a small round one failure is a large share.
    lost_rows = len(repetitions) - len(kept) + len(failed)
    lost_rows += sum(each.repetitions_rejected + each.repetitions_failed for each in earlier.summaries)
    rows = len(repetitions) + sum(each.repetitions_stored for each in earlier.summaries)
    fraction = lost_rows / rows if rows else 0.0
    tolerated = study.validation.tolerated_rejected_fraction
    problems = _table_problems(findings)
    if fraction > tolerated:
        problems.append(
            f"{lost_rows} of {rows} repetitions ({share(fraction, 1)}) were rejected or failed; the study "
            f"tolerates {share(tolerated, 1)} (validation.tolerated_rejected_fraction):\n{_named(lost)}"
        )
    if not problems:
        problems += _baseline_problems([*earlier.accepted, *accepted], study)
    summary = ValidationSummary(
        passed=not problems,
        repetitions_planned=len(planned),
        repetitions_stored=len(repetitions),
        repetitions_accepted=len(accepted),
        repetitions_rejected=len(repetitions) - len(kept),
        repetitions_failed=len(failed),
        repetitions_lost_records=sum(r.outcome in ("records_lost", "records_duplicated") for r in accepted),
        repetitions_missing=len(missing),
        lost_fraction=fraction,
        tolerated_fraction=tolerated,
        problems=problems,
        expectations=[_result(finding) for finding in findings],
    )
    return Verdict(findings, rejected, accepted, problems, summary)


def _rejected(findings: Sequence[Finding]) -> dict[str, str]:
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        if finding.suite not in _WHOLE_TABLE and finding.is_critical:
            for row in dict.fromkeys(finding.rows):
                reasons.setdefault(row, []).append(finding.reason)
    return {row: "; ".join(texts) for row, texts in reasons.items()}


def _table_problems(findings: Sequence[Finding]) -> list[str]:
    problems = []
    for finding in findings:
        if finding.suite not in _WHOLE_TABLE or not finding.is_critical:
            continue
        if finding.suite == "completeness":
            problems.append(
                f"{counted(len(finding.rows), 'planned repetition')} missing; rerun the measure step of their cases, "
                f"which measures only these:\n{_named(dict.fromkeys(finding.rows, finding.reason))}"
            )
        else:
            named = f":\n{_named(dict.fromkeys(finding.rows, finding.reason))}" if finding.rows else ""
            observed = f" ({finding.observed})" if finding.observed else ""
            problems.append(f"{finding.reason}{observed}{named}")
    return problems


def _baseline_problems(accepted: Sequence[Repetition], study: Study) -> list[str]:
    measured = {r.case for r in accepted if r.outcome == "valid" and r.is_baseline}
    if without := [case for case in study.cases if case not in measured]:
        cases = ", ".join(map(case_label, without))
        return [f"the baseline has no valid repetition for {cases}, so comparisons are impossible"]
    return []


def _named(reasons: dict[str, str]) -> str:
    lines = [f"  {row}: {reason}" for row, reason in list(reasons.items())[:_NAMED]]
    if len(reasons) > _NAMED:
        lines.append(f"  … and {len(reasons) - _NAMED} more")
    return "\n".join(lines)


def _id_by_columns(repetition: Repetition, round_number: int) -> str:
    candidate = Candidate(repetition.configuration_id, repetition.is_baseline, {})
    case, block = repetition.case, repetition.block
    return PlannedRepetition("design", round_number, case, candidate, block, 0).repetition_id


def _result(finding: Finding) -> ExpectationResult:
    values = {name: value for name, value in vars(finding).items() if name != "rows"}
    return ExpectationResult(**values, failed_rows=len(finding.rows))
