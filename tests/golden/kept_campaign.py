"""The kept campaigns of `benchmarks/data/campaigns/` as stores of the release that measured them.

Written as plain JSON and Parquet, with nothing of the library: that reads these stores, and has to go on doing so.
What was not kept (fronts, scores, plan, fingerprints, A/A studies) is made up where a step cannot do without.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

CAMPAIGNS = Path(__file__).parents[2] / "benchmarks" / "data" / "campaigns"
CAMPAIGN = "kept"
_SCHEMA_VERSION = 3
_OBJECTIVES = ("p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv")
_CONFIGURATION: dict[str, pa.DataType] = {
    "record_size_bytes": pa.int64(),
    "configuration_id": pa.string(),
    "is_baseline": pa.bool_(),
    "feasible": pa.bool_(),
    "durability": pa.string(),
}
_FRONT = {
    **_CONFIGURATION,
    **dict.fromkeys(("durability_accepted", "on_joint_front", "limits_met_estimated"), pa.bool_()),
    **{f"estimated_{objective}": pa.float64() for objective in _OBJECTIVES},
}
_SCORES: dict[str, pa.DataType] = {
    "objective": pa.string(),
    "record_size_bytes": pa.int64(),
    "of_logarithm": pa.bool_(),
    **dict.fromkeys(
        ("r2_train", "r2_held_out", "r2_cross_validated", "mae_held_out", "rmse_held_out", "r2_noise_ceiling"),
        pa.float64(),
    ),
    **dict.fromkeys(("configurations_train", "configurations_held_out"), pa.int64()),
    "learnable": pa.bool_(),
}
# Columns of a repetition that `keep_campaign` left out because they were the same or empty throughout.
_LEFT_OUT: dict[str, Any] = {
    "outcome": "valid",
    "reason": "",
    "attempts": 1,
    "window": "whole_run",
    "records_requested": 1000,
    "records_sent": 1000,
    "end_offset_growth": 1000,
    "printed_mib_s": None,
    "produce_throttle_max_ms": 0.0,
}


class KeptCampaign:
    """One kept campaign, written into a folder."""

    def __init__(self, folder: Path, study: str) -> None:
        self._root = folder / study / CAMPAIGN
        text = (CAMPAIGNS / study / "study.yaml").read_text()
        self._study = yaml.safe_load(text)
        self._factors = list(self._study["factors"])
        rows = pd.read_csv(CAMPAIGNS / study / "repetitions.csv", keep_default_na=False, na_values=[""])
        # Kept with six digits, and the gate holds the two rates to one another more closely than that.
        throughput_mib_s = rows.throughput_records_s * rows.record_size_bytes / (1 << 20)
        self._rows = rows.astype({"is_baseline": bool}).assign(throughput_mib_s=throughput_mib_s)
        self.sizes: list[int] = self._study["record_sizes_bytes"]
        self.cases = [str(size) for size in self.sizes]
        self.rounds = int(self._rows["round"].max()) + 1
        self._put("study.yaml", text.encode())

    def write(self) -> None:
        """Everything that validation, confirmation and report read."""
        for row in self._rows.to_dict("records"):
            self._put_repetition({str(name): value for name, value in row.items()})
        plan = {"repetitions": len(self._rows), "duration_s": 3600.0, "sent_gib": 10.0, "peak_disk_gib": 1.0}
        self._put_json("plan.json", plan)
        design = self._rows[self._rows.phase == "design"]
        for number in range(self.rounds):
            self._put_table(f"round={number:02d}/01_design.parquet", design[design["round"] == number], _CONFIGURATION)
        self._put_scores()
        for size in self.sizes:
            self._put_size(size)

    def _put_size(self, size: int) -> None:
        self._put_json(f"fingerprints/{size}.json", _fingerprint(size))
        self._put_json(f"round=00/02_measurements/{size}_sizing.json", self._sizing(size))
        choice = self._rows[(self._rows.phase == "choice") & (self._rows.record_size_bytes == size)]
        means = choice.groupby("configuration_id")[["latency_p95_ms", "throughput_mib_s"]].mean()
        front = choice[~choice.is_baseline].drop_duplicates("configuration_id").sort_values("configuration_id")
        front = front.assign(
            estimated_p95_latency_ms=front.configuration_id.map(means.latency_p95_ms),
            estimated_throughput_mib_s=front.configuration_id.map(means.throughput_mib_s),
            estimated_latency_cv=0.1,
            estimated_throughput_cv=0.1,
        )
        for number in range(self.rounds):
            self._put_table(f"round={number:02d}/05_front/{size}.parquet", front, _FRONT)
        chosen_as = pd.Series([["measured_non_dominated"]] * len(front), index=front.index)
        candidates = {**_FRONT, "chosen_as": pa.list_(pa.string())}
        self._put_table(f"06_confirmation/{size}/candidates.parquet", front.assign(chosen_as=chosen_as), candidates)

    def _put_repetition(self, row: dict[str, Any]) -> None:
        size, block, phase = row["record_size_bytes"], row["block"], row["phase"]
        identity = f"{phase}-r{row['round']:02d}-{size}-b{block:03d}-{row['configuration_id']}"
        configuration = {name: row.pop(name) for name in self._factors}
        known = {name: None if pd.isna(value) else value for name, value in row.items()}
        known["generator_bound"] = known.get("generator_bound") or ""
        content = {**_LEFT_OUT, **known, "repetition_id": identity, "configuration": configuration}
        folder = f"round={row['round']:02d}/02_measurements/{size}"
        if phase != "design":
            folder = f"06_confirmation/{size}/repetitions"
        self._put_json(f"{folder}/{identity}.json", content)

    def _sizing(self, size: int) -> dict[str, Any]:
        sizing: dict[str, Any] = {"records": 1000, "warmup_records": 0, "throughput_limit_records_s": None}
        protocol = self._study["protocol"]
        if protocol["kind"] == "steady":
            rates = self._rows.loc[self._rows.record_size_bytes == size, "paced_rate_asked_records_s"]
            sizing |= {"capacity_records_s": float(rates.max()) * 2, "timed": _timed(protocol, float(rates.max()))}
        return sizing

    def _put_scores(self) -> None:
        score = dict.fromkeys(_SCORES, 0.5) | {"of_logarithm": False, "learnable": True}
        score |= {"configurations_train": 12, "configurations_held_out": 4}
        rows = [
            {**score, "objective": objective, "record_size_bytes": size}
            for objective in _OBJECTIVES
            for size in [None, *self.sizes]
        ]
        for number in range(self.rounds):
            self._put_arrow(f"round={number:02d}/04_surrogates/scores.parquet", rows, _SCORES)

    def _put_table(self, name: str, frame: pd.DataFrame, columns: dict[str, pa.DataType]) -> None:
        """The frame's columns, the study's factors, and the same facts in every row of what is not in the frame."""
        facts = dict.fromkeys(("feasible", "durability_accepted", "on_joint_front", "limits_met_estimated"), True)
        rows = [{**facts, "durability": "acks_all_idempotent", **row} for row in frame.to_dict("records")]
        kinds = {factor: _arrow_type(self._study["factors"][factor]["type"]) for factor in self._factors}
        self._put_arrow(name, rows, {**columns, **kinds})

    def _put_arrow(self, name: str, rows: list[dict[Any, Any]], columns: dict[str, pa.DataType]) -> None:
        metadata = {b"kafka_pareto.schema_version": str(_SCHEMA_VERSION).encode()}
        fields = [pa.field(column, kind) for column, kind in columns.items()]
        table = pa.Table.from_pylist(rows, schema=pa.schema(fields, metadata=metadata))
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self._put(name, sink.getvalue().to_pybytes())

    def _put_json(self, name: str, content: dict[str, Any]) -> None:
        self._put(name, json.dumps({"schema_version": _SCHEMA_VERSION, **content}).encode())

    def _put(self, name: str, content: bytes) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _arrow_type(factor_type: str) -> pa.DataType:
    return pa.string() if factor_type == "categorical" else pa.int64()


def _timed(protocol: dict[str, Any], rate_records_s: float) -> dict[str, float]:
    return {
        "warmup_s": protocol["warmup_seconds"],
        "seconds": protocol["seconds"],
        "paced_warmup_s": protocol["paced"]["warmup_seconds"],
        "paced_seconds": protocol["paced"]["seconds"],
        "paced_rate_records_s": rate_records_s,
    }


def _fingerprint(size: int) -> dict[str, Any]:
    return {
        "kafka_version": "4.3",
        "cluster_id": "fake",
        "brokers": ["fake:9092"],
        "topic": f"kafka-pareto.kept.{size}",
        "topic_partitions": 3,
        "replication_factor": 3,
        "min_insync_replicas": 2,
        "client_host": "kept",
        "client_cpu": "a CPU",
        "client_cores": 2,
        "client_kernel": "a kernel",
        "load_and_brokers_share_a_machine": True,
    }
