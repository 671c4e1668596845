"""What strategies asked for on the table benchmark, stored: `python -m benchmarks.search_runs <strategy> …`.

One file per strategy in `benchmarks/data/search/`: for each seed the configurations and blocks in the order asked,
from which every figure is made. A file names the hashes of what it was made with; one that no longer match is refused.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from benchmarks.strategies import STRATEGIES, strategy
from benchmarks.strategies.table import GRID, Answer, recorded_table, table_study

RUNS = Path(__file__).parent / "data" / "search"
SEEDS = 20
BUDGETS = {"one_shot": 910}
BUDGET = 240
_LIBRARY = Path(__file__).parent.parent / "include" / "kafka_pareto"
_PACKAGES = {
    "rounds": ("numpy", "scikit-learn", "moocore"),
    "one_shot": ("numpy", "xgboost", "pymoo"),
    "optuna_nsga3": ("optuna",),
    "optuna_tpe": ("optuna",),
    "botorch_nehvi": ("botorch", "torch"),
}
_OF_THE_STUDY = {
    "factors",
    "constraints",
    "forbidden",
    "limits",
    "durability",
    "baseline",
    "design",
    "rounds",
    "search",
}
_OWN_CODE = {
    "rounds": ("proposal.py", "posterior.py", "hypervolume.py", "design.py", "trials.py"),
    "one_shot": (
        "optimization.py",
        "search_algorithm.py",
        "search_problem.py",
        "search_space.py",
        "surrogate.py",
        "selection.py",
        "design.py",
        "trials.py",
    ),
    "latin_hypercube": ("design.py",),
}


def stored(name: str) -> dict[int, list[Answer]]:
    """What a strategy asked for, by seed.

    Raises:
        SystemExit: If nothing is stored, or it was made with another study, recording or code.
    """
    path = RUNS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"error: {path} is missing; make it with python -m benchmarks.search_runs {name}")
    content = json.loads(path.read_text())
    changed = [what for what, value in made_with(name).items() if content["made_with"].get(what) != value]
    if changed:
        raise SystemExit(
            f"error: {path} was made with another {' and '.join(changed)}; "
            f"make it anew with python -m benchmarks.search_runs {name}"
        )
    return {int(seed): [Answer(*pair) for pair in run] for seed, run in content["runs"].items()}


def made_with(name: str) -> dict[str, str]:
    """Hashes of everything that decides what the strategy asks for."""
    module = find_spec(STRATEGIES[name].split(":")[0])
    assert module is not None  # noqa: S101 (a name of the registry)
    own = [_LIBRARY / file for file in _OWN_CODE.get(name, ())]
    code = [Path(module.origin or ""), Path(__file__).parent / "strategies" / "table.py", *own]
    return {
        "code": _sha256(*(path.read_bytes() for path in code)),
        "recording": _sha256(GRID.read_bytes()),
        "study": _sha256(table_study().model_dump_json(include=_OF_THE_STUDY).encode()),
    }


def main(
    names: Annotated[list[str], typer.Argument(help="strategies, by their names in benchmarks/strategies")],
    seeds: Annotated[int, typer.Option(help="how many seeds, from 0 on")] = SEEDS,
    budget: Annotated[int | None, typer.Option(help="repetitions for each seed")] = None,
) -> None:
    """Runs strategies on the table and stores what they asked for."""
    RUNS.mkdir(parents=True, exist_ok=True)
    for name in names:
        run = partial(_run, name, budget or BUDGETS.get(name, BUDGET))
        with ProcessPoolExecutor(2) as pool:
            runs = dict(zip(range(seeds), track(pool.map(run, range(seeds)), name, seeds), strict=True))
        versions = {package: version(package) for package in _PACKAGES.get(name, ("numpy",))}
        content = {"strategy": name, "made_with": made_with(name), "versions": versions, "runs": runs}
        (RUNS / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _run(name: str, budget: int, seed: int) -> list[tuple[int, int]]:
    given = recorded_table().answers(strategy(name), table_study(), seed, budget)
    return [(each.configuration, each.block) for each in given]


def _sha256(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16]


if __name__ == "__main__":
    typer.run(main)
