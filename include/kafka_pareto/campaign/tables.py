"""Parquet schemas of a campaign's tables: fixed columns, and one per objective and factor of the study."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_origin

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.storage.record import SCHEMA_VERSION, other_version
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import CategoricalFactor
from kafka_pareto.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

_VERSION_KEY = b"kafka_pareto.schema_version"
_OF_THE_RECORD_ALONE = {"schema_version", "configuration", "broken_rules", "upsets", "quantities", "timeline"}
_ARROW_TYPES: dict[Any, pa.DataType] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def repetition_columns(driver: Driver) -> dict[str, pa.DataType]:
    """Return the columns of a repetition: the head's, then the driver's quantities."""
    kinds = {name: field.annotation for name, field in Repetition.model_fields.items()}
    head = {
        name: pa.string() if get_origin(kind) is Literal else _ARROW_TYPES[kind]
        for name, kind in kinds.items()
        if name not in _OF_THE_RECORD_ALONE
    }
    return head | {each.name: _ARROW_TYPES[each.type] for each in driver.quantities}


def rejected_columns(driver: Driver) -> dict[str, pa.DataType]:
    """Return the columns of a rejected repetition."""
    return {**repetition_columns(driver), "rejected_because": pa.string()}


_CONFIGURATION_COLUMNS: dict[str, pa.DataType] = {
    "case": pa.string(),
    "configuration_id": pa.string(),
    "is_baseline": pa.bool_(),
    "feasible": pa.bool_(),
    "durability": pa.string(),
}
DESIGN_COLUMNS = _CONFIGURATION_COLUMNS
TRIAL_COLUMNS: dict[str, pa.DataType] = {
    **_CONFIGURATION_COLUMNS,
    "repetitions_valid": pa.int64(),
    "repetitions_lost_records": pa.int64(),
    "repetitions_failed": pa.int64(),
    "attempts": pa.int64(),
    "{objective}": pa.float64(),
    "repetition_ids": pa.list_(pa.string()),
}
PRIOR_TRIAL_COLUMNS: dict[str, pa.DataType] = {
    **TRIAL_COLUMNS,
    "prior_campaign": pa.string(),
    "age_days": pa.float64(),
    "weight": pa.float64(),  # weight of one of its repetitions; one of today's has weight 1
}
SCORE_COLUMNS: dict[str, pa.DataType] = {
    "objective": pa.string(),
    "case": pa.string(),  # null: pooled over cases
    "of_logarithm": pa.bool_(),  # the scale of every R² and of its ceiling; the errors are in the objective's own unit
    "r2_train": pa.float64(),
    "r2_held_out": pa.float64(),
    "r2_cross_validated": pa.float64(),
    "mae_held_out": pa.float64(),
    "rmse_held_out": pa.float64(),
    "r2_noise_ceiling": pa.float64(),
    "coverage_cross_validated": pa.float64(),  # of means: the share of unseen trials in their 90 % intervals
    "configurations_train": pa.int64(),
    "configurations_held_out": pa.int64(),
    "learnable": pa.bool_(),
}
FRONT_COLUMNS: dict[str, pa.DataType] = {
    **_CONFIGURATION_COLUMNS,
    "durability_accepted": pa.bool_(),
    "on_joint_front": pa.bool_(),  # of all accepted durabilities together; the other rows are their class's own
    "limits_met_estimated": pa.bool_(),
    "estimated_{objective}": pa.float64(),
}
HYPERVOLUME_COLUMNS: dict[str, pa.DataType] = {
    "case": pa.string(),
    "generation": pa.int64(),
    "evaluations": pa.int64(),
    "hypervolume": pa.float64(),
}
CANDIDATE_COLUMNS: dict[str, pa.DataType] = {**FRONT_COLUMNS, "chosen_as": pa.list_(pa.string())}
_INTERVAL_COLUMNS = dict.fromkeys(("estimated_{mean}_low", "estimated_{mean}_high"), pa.float64())
FRONT_INTERVAL_COLUMNS = FRONT_COLUMNS | _INTERVAL_COLUMNS
"""A front as it is stored: with the ends of the estimates' 90 % intervals."""
CANDIDATE_INTERVAL_COLUMNS = CANDIDATE_COLUMNS | _INTERVAL_COLUMNS


def table_schema(columns: dict[str, pa.DataType], study: Study | None = None) -> pa.Schema:
    """Return a table's Arrow schema, with a study's factors; `{objective}` and `{mean}` stand for one column each."""
    fields = [pa.field(name, kind) for given, kind in columns.items() for name in _names(given, study)]
    for name, factor in (study.varied_factors if study else {}).items():
        integer = factor.type == "integer"
        kind = pa.string() if isinstance(factor, CategoricalFactor) else pa.int64() if integer else pa.float64()
        fields.append(pa.field(name, kind))
    return pa.schema(fields, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def _names(name: str, study: Study | None) -> list[str]:
    if study and "{objective}" in name:
        return [name.format(objective=each) for each in study.objective_names]
    return [name.format(mean=each) for each in study.means] if study and "{mean}" in name else [name]


def require_distinct_columns(study: Study) -> None:
    """Reject a study with a factor named like another column of a repetition."""
    names = repetition_columns(study.declaration)
    if taken := [name for name in study.varied_factors if name in names]:
        raise BadInputError(
            f"study {study.name}: factors: {taken[0]}: every repetition has a column of this name; rename it"
        )


def encode_table(frame: pd.DataFrame, columns: dict[str, pa.DataType], study: Study | None = None) -> bytes:
    """Encode the frame as Parquet; its columns must match the schema, in any order."""
    schema = table_schema(columns, study)
    if set(frame.columns) != set(schema.names):
        difference = sorted(set(frame.columns) ^ set(schema.names))
        raise ArtifactError(f"the table's columns do not match its schema; they differ in {', '.join(difference)}")
    try:
        table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ArtifactError(f"the table's values do not match its schema: {error}") from error
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(schema.metadata), buffer)
    return buffer.getvalue()


def decode_table(content: bytes, key: str, columns: dict[str, pa.DataType], study: Study | None = None) -> pd.DataFrame:
    """Decode the Parquet artifact `key`; raises ArtifactError if damaged, incomplete or of another schema version."""
    try:
        # No Arrow threads: one still holding Python's bytes at exit would abort the process.
        with pq.ParquetFile(io.BytesIO(content), pre_buffer=False) as file:
            table = file.read(use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise ArtifactError(f"{key}: is not a readable Parquet file ({error})") from error
    found = (table.schema.metadata or {}).get(_VERSION_KEY, b"none").decode()
    if found != str(SCHEMA_VERSION):
        raise ArtifactError(other_version(key, found))
    schema = table_schema(columns, study)
    # An optional quantity may have been declared after the table was written.
    for name in [each.name for each in study.declaration.quantities if each.may_be_missing] if study else []:
        if name in schema.names and name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise ArtifactError(f"{key}: has no column {', '.join(missing)}")
    frame: pd.DataFrame = table.select(schema.names).to_pandas()
    return frame


def repetition_row(repetition: Repetition) -> dict[str, Any]:
    """Return the repetition as a flat row: head, quantities, factors."""
    head = repetition.model_dump(exclude=_OF_THE_RECORD_ALONE)
    return {**head, **repetition.quantities, **repetition.configuration}


def repetitions_frame(repetitions: Sequence[Repetition], study: Study) -> pd.DataFrame:
    """Return repetitions as a table."""
    rows = [repetition_row(repetition) for repetition in repetitions]
    schema = table_schema(repetition_columns(study.declaration), study)
    frame: pd.DataFrame = pa.Table.from_pylist(rows, schema=schema).to_pandas()
    return frame
