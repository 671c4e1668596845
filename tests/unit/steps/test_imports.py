"""Measuring steps start fast: slow imports are deferred until used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
HEAVY = (
    "aiohttp",
    "great_expectations",
    "matplotlib",
    "mlflow",
    "pymoo",
    "scipy.stats",
    "sklearn",
    "statsmodels",
    "xgboost",
)


@pytest.mark.parametrize("step", ["measure", "confirm", "check_measure"])
def test_a_step_that_measures_imports_nothing_heavy(step: str) -> None:
    code = f"import sys, tasks.{step}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "\n"
