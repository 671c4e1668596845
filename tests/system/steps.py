"""Runs the pipeline's steps as users' machines do: by their argv, each in its own process."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.folder_store import FolderStore
from tests.recorded import STUDIES
from tests.small_quick import small_quick

ROOT = Path(__file__).parent.parent.parent


class StepRunner:
    """Steps over a folder store and a folder of studies, against brokers that count as the installation's own."""

    def __init__(self, folder: Path, brokers: Brokers | None = None) -> None:
        self.store_folder = folder / "store"
        self.studies = folder / "studies"
        self.studies.mkdir(parents=True, exist_ok=True)
        self.campaign_id = f"c{secrets.token_hex(4)}"  # topics of several tests share a cluster
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "OMP_NUM_THREADS") if name in os.environ},
            "PYTHONPATH": f"{ROOT}:{ROOT / 'include'}",
            "KAFKA_PARETO_STORE_FOLDER": str(self.store_folder),
            "KAFKA_PARETO_STUDIES": str(self.studies),
            "KAFKA_PARETO_BOOTSTRAP_SERVERS": brokers.bootstrap_servers if brokers else "",
            "KAFKA_PARETO_OWN_CLUSTER_ID": brokers.cluster_id if brokers else "",
            **{name: value for name, value in os.environ.items() if name == "KAFKA_PARETO_KAFKA_JARS"},
        }

    def write_study(self, name: str, base: str = "quick", **changes: Any) -> None:
        """A study in the runner's folder: a shipped one with some keys replaced (dicts are merged)."""
        content = yaml.safe_load((STUDIES / f"{base}.yaml").read_text())
        if base == "quick":
            confirmation = {"points": 3, "choice_blocks": 2, "gain_blocks": 5, "minimum_blocks": 5}
            confirmation |= {"final_blocks": 2, "more_blocks": 0}
            content = small_quick() | {"confirmation": confirmation}
        content |= {"name": name}
        for key, value in changes.items():
            content[key] = content.get(key, {}) | value if isinstance(value, dict) else value
        (self.studies / f"{name}.yaml").write_text(yaml.safe_dump(content))

    def start(self, step: str, study: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts a step of the runner's campaign and returns immediately."""
        return subprocess.Popen(
            [sys.executable, "-m", f"tasks.{step}", "--study", study, "--campaign", self.campaign_id, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, step: str, study: str, *arguments: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        """Runs a step to its end; one that takes too long is killed, and what it started with it."""
        process = self.start(step, study, *arguments)
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def manifest(self, step: str, study: str, *arguments: str, timeout_s: float = 300) -> dict[str, Any]:
        """Runs a step that must succeed, and returns what it says on its last line."""
        done = self.run(step, study, *arguments, timeout_s=timeout_s)
        assert done.returncode == 0, f"{step} failed:\n{done.stdout}\n{done.stderr}"
        manifest: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return manifest

    def campaign(self, study: str) -> Campaign:
        """The campaign as the steps left it."""
        return Campaign.open(FolderStore(self.store_folder), study, self.campaign_id)
