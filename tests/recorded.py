"""Real repetitions, recorded on a real Kafka 4.3.1 broker, as the project's own records.

`fixtures/cold_burst.csv`: 5 record sizes x (60 Latin-hypercube configurations, and Kafka's defaults) x 10 blocks of
1,000 records, one broker and the load tool on one machine of 2 cores.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures
from kafka_pareto.drivers.producer.quantities import ProducerQuantities
from kafka_pareto.study.constraints import Constraint, ForbiddenRegion
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import Limit
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study

FIXTURES = Path(__file__).parent / "fixtures"
_RECORDING_BEGAN = pd.Timestamp("2026-11-21T00:00:00Z")
RECORDED = Path(__file__).parent.parent / "benchmarks" / "data"
STUDIES = Path(__file__).parent.parent / "include" / "studies"


@cache
def recorded_rows() -> pd.DataFrame:
    """The recording as it is: one row per repetition."""
    return pd.read_csv(FIXTURES / "cold_burst.csv")


@cache
def paper_study() -> Tune:
    """The shipped `paper` study, whose factors the recording varies."""
    return tune_study(load_study(STUDIES / "paper.yaml"))


def recorded_repetitions(
    cases: Sequence[str] = ("8192",), configurations: int = 60, blocks: int = 10, phase: Phase = "design"
) -> list[Repetition]:
    """The first configurations and blocks of the recording, and always the baseline (Kafka's defaults).

    The recorded design drew some configurations twice, the baseline among them; one of each is kept.
    """
    return list(_recorded_repetitions(tuple(int(case) for case in cases), configurations, blocks, phase))


def changed(study: Tune, **changes: Any) -> Tune:
    """The study with other values; rules and limits may be given as texts. Not checked like a file."""
    read = {"limits": Limit.parse, "constraints": Constraint.parse, "forbidden": ForbiddenRegion.parse}
    parsed = {name: [read[name](text) for text in texts] for name, texts in changes.items() if name in read}
    return study.model_copy(update={**changes, **parsed})


@cache
def _recorded_repetitions(
    record_sizes: tuple[int, ...], configurations: int, blocks: int, phase: Phase
) -> list[Repetition]:
    rows = recorded_rows()
    values = ["record_size_bytes", "batch_size_bytes", "linger_ms", "acks", "compression_type", "block"]
    # The baseline has the highest id, so that keeping the last keeps it.
    rows = rows.sort_values("configuration_id").drop_duplicates(values, keep="last")
    wanted = rows.record_size_bytes.isin(record_sizes) & (rows.block < blocks)
    wanted &= (rows.configuration_id < configurations) | (rows.configuration_id == 60)
    # pandas reads "none" as a level here, not as a missing value: the file holds no empty cells.
    return [_repetition(row, phase) for row in rows[wanted].sort_values("started_at_s").to_dict("records")]


@cache
def recorded_grid(path: Path) -> tuple[Repetition, ...]:
    """The repetitions of a recording of that form which names its baseline by its settings: Kafka's defaults."""
    baseline = configuration_id(paper_study().baseline_configuration())
    found = [_repetition(row, "design") for row in pd.read_csv(path).sort_values("started_at_s").to_dict("records")]
    return tuple(row.model_copy(update={"is_baseline": row.configuration_id == baseline}) for row in found)


def _repetition(row: dict[Hashable, Any], phase: Phase) -> Repetition:
    configuration = {
        "batch.size": row["batch_size_bytes"],
        "linger.ms": row["linger_ms"],
        "acks": str(row["acks"]),
        "compression.type": row["compression_type"],
    }
    name = configuration_id(configuration)
    return Repetition(
        repetition_id=f"{phase}-r00-{row['record_size_bytes']}-b{row['block']:03d}-{name}",
        phase=phase,
        round=0,
        case=str(row["record_size_bytes"]),
        configuration_id=name,
        is_baseline=row["configuration_id"] == 60,
        configuration=configuration,
        block=row["block"],
        order_in_block=0,
        outcome="valid",
        attempts=1,
        started_at=(_RECORDING_BEGAN + pd.Timedelta(seconds=row["started_at_s"])).isoformat(),
        wall_s=row["wall_s"],
        client_cpu_s=row["client_cpu_s"],
        load_1m=row["load_1m"],
        cpu_steal_fraction=0.0,
        other_cpu_fraction=0.0,
        quantities=_quantities(row).values(),
    )


def _quantities(row: dict[Hashable, Any]) -> ProducerQuantities:
    return ProducerQuantities(
        window="whole_run",
        records_requested=1000,
        records_sent=1000,
        end_offset_growth=1000,
        throughput_mib_s=row["throughput_records_s"] * row["record_size_bytes"] / (1 << 20),
        figures=LoadFigures(
            throughput_records_s=row["throughput_records_s"],
            printed_mib_s=row["throughput_mib_s"],
            latency_avg_ms=row["latency_avg_ms"],
            latency_max_ms=row["latency_max_ms"],
            latency_p50_ms=float(row["latency_p50_ms"]),
            latency_p95_ms=float(row["latency_p95_ms"]),
            latency_p99_ms=float(row["latency_p99_ms"]),
            latency_p999_ms=float(row["latency_p999_ms"]),
        ),
        client=ClientMetrics(produce_throttle_max_ms=0.0),
    )
