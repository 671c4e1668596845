"""Run one step of the study `paper` by its command line, as a task does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run_step(
    step: str, store_folder: Path, *arguments: str, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the step over a store in this folder, and return how it ended."""
    environment = {
        "PATH": os.environ["PATH"],
        "OMP_NUM_THREADS": os.environ["OMP_NUM_THREADS"],
        "PYTHONPATH": f"{ROOT / 'include'}:{ROOT}",
        "KAFKA_PARETO_STORE_FOLDER": str(store_folder),
        **({"HOME": str(home)} if home else {}),
    }
    argv = [sys.executable, "-m", f"tasks.{step}", "--study", "paper", *arguments]
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
