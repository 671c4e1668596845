"""Gates of equal and of worse settings on real brokers: `python -m benchmarks.gate_false_alarms`.

Each gate measures `quick` at one record size under its default conditions. Candidates differ from Kafka's defaults
either in a setting without effect here, so a broken condition is a false alarm, or by batches of one record, which must
break one. Each gate is appended to the CSV when it ends; the same command adds gates until there are as many as wanted.
The first gate of each run does not count, because its brokers are new.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.gate.gate_study import gate_study
from kafka_pareto.gate.result import GateResult
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import gate
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import load_named_study
from kafka_pareto.study.tune import tune_study

FILE = DATA / "gate_false_alarms.csv"
CASE, BROKERS, BLOCKS = "1024", 3, 20
REFERENCE: Mapping[str, PropertyValue] = {"linger.ms": 5}
CANDIDATES: Mapping[str, Mapping[str, PropertyValue]] = {
    "equal": {"max.request.size": 1_048_577},
    "worse": {"batch.size": 1},
}


def main(
    equal: Annotated[int, typer.Option(help="gates of settings without effect", min=0)] = 40,
    worse: Annotated[int, typer.Option(help="gates of batches of one record", min=0)] = 10,
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing gates, and print the verdicts."""
    with clear_errors():
        if not only_table:
            _measure({"equal": equal, "worse": worse}, file)
        print("\n".join(report(pd.read_csv(file))))


def report(measured: pd.DataFrame) -> list[str]:
    """Return the table of verdicts by kind of candidate."""
    counted = measured[measured.counts]
    lines = ["| candidate | gates | hold | broken | undecided | blocks, mean |", "|---|---|---|---|---|---|"]
    for name, gates in counted.groupby("candidate"):
        by_verdict = [int((gates.verdict == verdict).sum()) for verdict in ("holds", "broken", "undecided")]
        cells = [name, len(gates), *by_verdict, f"{gates.blocks.mean():.1f}"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _measure(wanted: Mapping[str, int], file: Path) -> None:
    known = pd.read_csv(file) if file.exists() else pd.DataFrame({"candidate": [], "counts": []})
    have = known[known.counts.astype(bool)].candidate.value_counts()
    missing = [*chain.from_iterable(repeat(name, max(count - have.get(name, 0), 0)) for name, count in wanted.items())]
    if not missing:
        return
    settings = load_settings()
    quick = tune_study(with_overrides(load_named_study(settings.studies, "quick"), cases=[CASE]))
    quick = quick.model_copy(update={"gate": quick.gate.model_copy(update={"blocks": BLOCKS})})
    with (
        tempfile.TemporaryDirectory(prefix="kafka-pareto-gates-") as folder,
        Brokers(BROKERS, settings, jmx_configuration=None, gc_log=False) as running,
    ):
        here = {
            "bootstrap_servers": running.bootstrap_servers,
            "own_cluster_id": running.cluster_id,
            "store_folder": Path(folder),
        }
        # The two kinds alternate as far as possible, so that both meet brokers of the same age.
        for number, name in enumerate([missing[0], *_spread(missing)]):
            study = gate_study(quick, REFERENCE, {**REFERENCE, **CANDIDATES[name]}).model_copy(update={"seed": number})
            result = gate.run(
                study,
                f"g{number}",
                settings.model_copy(update=here),
                reference="defaults",
                candidate=name,
                corpus=None,
            )
            row = {"candidate": name, "counts": number > 0, **_row(result)}
            pd.DataFrame([row]).to_csv(file, mode="a", header=not file.exists(), index=False)
            print(f"gate {number} of {len(missing)}: {name}: {result.verdict} after {row['blocks']} blocks", flush=True)


def _spread(names: list[str]) -> list[str]:
    """Return the names with each kind spread evenly over the whole."""
    places = dict.fromkeys(names, 0)
    keyed = []
    for name in names:
        keyed.append(((places[name] + 0.5) / names.count(name), name))
        places[name] += 1
    return [name for _, name in sorted(keyed)]


def _row(result: GateResult) -> dict[str, object]:
    (case,) = result.cases
    row: dict[str, object] = {"verdict": result.verdict, "blocks": case.blocks}
    for each in case.conditions:
        row |= {f"{each.objective}_{name}": value for name, value in (("low", each.low), ("high", each.high))}
    return row


if __name__ == "__main__":
    typer.run(main)
