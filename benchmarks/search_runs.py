"""Store the strategies' requests on the table benchmark: `python -m benchmarks.search_runs <strategy> …`.

Writes one file per strategy and recorded grid, `benchmarks/data/search/<grid>/<strategy>.json`: for each seed, the
configurations and blocks in the order asked. Every figure is made from these files. A file holds hashes of what it was
made with, and is refused if one does not match any more. Comments, docstrings, layout, imports, log lines and the texts
of errors do not count: they cannot change what a strategy asks for, and a run takes minutes.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track

from benchmarks.strategies import strategy
from benchmarks.strategies.grids import FIRST, GRIDS, Grid, recorded_grids
from benchmarks.strategies.table import Answer

RUNS = Path(__file__).parent / "data" / "search"
SEEDS = 20
BUDGETS = {"one_shot": 910, "rounds_of_four": 120, "botorch_nehvi": 120}
BUDGET = 240
_STRATEGIES = Path(__file__).parent / "strategies"
_LIBRARY = Path(__file__).parent.parent / "include" / "kafka_pareto"
_PACKAGES_OF_ROUNDS = ("numpy", "scikit-learn", "moocore")
_PACKAGES = {
    "rounds": _PACKAGES_OF_ROUNDS,
    "rounds_of_four": _PACKAGES_OF_ROUNDS,
    "one_shot": ("numpy", "xgboost", "pymoo"),
    "optuna_nsga3": ("optuna",),
    "optuna_tpe": ("optuna",),
    "botorch_nehvi": ("botorch", "torch"),
}
_OF_THE_STUDY = {"factors", "constraints", "forbidden", "limits", "durability", "baseline", "design", "rounds"}
_LEARNED_FROM = (
    "analysis/hypervolume",
    "analysis/pareto",
    "analysis/trials",
    "campaign/candidates",
    "campaign/design",
    "decision/confirmation_candidates",
    "measurement/blocks",
)
# The modules that decide what a strategy asks for: those of `benchmarks/strategies`, and those of the library.
_ROUNDS = (
    ["own"],
    ["search/acquisition", "surrogates/gaussian_process", "surrogates/sentinel_shift", *_LEARNED_FROM],
)
_CODE: dict[str, tuple[list[str], list[str]]] = {
    "rounds": _ROUNDS,
    "rounds_of_four": _ROUNDS,
    "one_shot": (
        ["own", "plain"],
        [
            "search/acquisition",
            "surrogates/surrogate",
            *_LEARNED_FROM,
            "search/nsga3",
            "search/pareto_search",
            "search/surrogate_problem",
            "study/configuration_space",
        ],
    ),
    "random": (["plain"], ["search/acquisition"]),
    "latin_hypercube": (["plain"], ["search/acquisition", "campaign/design"]),
    "optuna_nsga3": (["optuna_samplers", "answers"], []),
    "optuna_tpe": (["optuna_samplers", "answers"], []),
    "botorch_nehvi": (
        ["botorch_nehvi", "answers", "plain"],
        ["search/acquisition", "analysis/hypervolume", "surrogates/gaussian_process"],
    ),
}

NAMES = tuple(_CODE)


def stored(name: str, grid: Grid = FIRST) -> dict[int, list[Answer]]:
    """Return what a strategy asked for on a grid, by seed.

    Raises:
        SystemExit: If nothing is stored, or it was made with another study, recording or code.
    """
    path, fix = RUNS / grid.name / f"{name}.json", f"python -m benchmarks.search_runs {name} --grid {grid.name}"
    if not path.exists():
        raise SystemExit(f"error: {path} is missing; make it with {fix}")
    content = json.loads(path.read_text())
    changed = [what for what, value in made_with(name, grid).items() if content["made_with"].get(what) != value]
    if changed:
        raise SystemExit(f"error: {path} was made with another {' and '.join(changed)}; run {fix}")
    if len(content["runs"]) != SEEDS:
        raise SystemExit(f"error: {path} holds {len(content['runs'])} seeds, not {SEEDS}; run {fix}")
    return {int(seed): [Answer(*pair) for pair in run] for seed, run in content["runs"].items()}


def made_with(name: str, grid: Grid = FIRST) -> dict[str, str]:
    """Return hashes of the recording, of the study, and of the modules that decide what the strategy asks for."""
    own, of_the_library = _CODE[name]
    files = [_STRATEGIES / f"{module}.py" for module in ("table", *own)]
    files += [_LIBRARY / f"{module}.py" for module in of_the_library]
    return {
        "code": _sha256(*(bare_code(path.read_text()).encode() for path in files)),
        "recording": _sha256(grid.file.read_bytes()),
        "study": _sha256(json.dumps(_asked_by_the_study(grid), sort_keys=True).encode()),
    }


def bare_code(source: str) -> str:
    """Return a module's code in one layout, without imports, comments, docstrings, log lines and errors' texts."""
    return ast.unparse(_BareCode().visit(ast.parse(source)))


class _BareCode(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop a docstring or a log line."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        is_log = isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith(("log.", "logger."))
        return None if is_text or is_log else node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        """Keep that an error is raised, and its class."""
        return ast.Raise(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)

    def visit_Import(self, _: ast.Import) -> None:
        """Drop an import: a module that moved asks for the same."""

    def visit_ImportFrom(self, _: ast.ImportFrom) -> None:
        """Drop an import: as above."""


def _asked_by_the_study(grid: Grid) -> dict[str, Any]:
    return grid.study().model_dump(mode="json", include=_OF_THE_STUDY)


def main(
    names: Annotated[list[str], typer.Argument(help="strategies, by their names in benchmarks/strategies")],
    seeds: Annotated[int, typer.Option(help="how many seeds, from 0 on")] = SEEDS,
    budget: Annotated[int | None, typer.Option(help="repetitions for each seed")] = None,
    grid: Annotated[str, typer.Option(help=f"{' or '.join(GRIDS)}; by default every recorded grid")] = "",
) -> None:
    """Run strategies on the recorded grids and store what they asked for."""
    if grid and grid not in GRIDS:
        raise SystemExit(f"error: --grid {grid}: the grids are {', '.join(GRIDS)}")
    if grid and not GRIDS[grid].file.exists():
        raise SystemExit(f"error: --grid {grid}: not recorded yet; run python -m benchmarks.record_grid")
    for each, name in itertools.product([GRIDS[grid]] if grid else recorded_grids(), names):
        folder = RUNS / each.name
        folder.mkdir(parents=True, exist_ok=True)
        run = partial(_run, each, name, budget or BUDGETS.get(name, BUDGET))
        with ProcessPoolExecutor(2) as pool:
            runs = dict(
                zip(range(seeds), track(pool.map(run, range(seeds)), f"{each.name}: {name}", seeds), strict=True)
            )
        versions = {package: version(package) for package in _PACKAGES.get(name, ("numpy",))}
        content = {"strategy": name, "made_with": made_with(name, each), "versions": versions, "runs": runs}
        (folder / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _run(grid: Grid, name: str, budget: int, seed: int) -> list[tuple[int, int]]:
    given = grid.answers(strategy(name), seed, budget)
    return [(each.configuration, each.block) for each in given]


def _sha256(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16]


if __name__ == "__main__":
    typer.run(main)
