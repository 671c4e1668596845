"""`kafka-pareto gate`: two settings files measured on a real broker until the study's conditions are decided."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.required import needs
from tests.small_quick import small_quick
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

WORKFLOW = ROOT / "include" / "examples" / "github" / "kafka-settings.yml"
SURE = ["p95_latency_ms < 100000", "throughput_mib_s > 0.0001"]


class Gate:
    """A folder with a study and two settings files, and the command."""

    def __init__(self, folder: Path, broker: RunningBrokers) -> None:
        self.folder, self._broker, self.kafka = folder, broker, broker.bootstrap_servers
        self.store = FolderStore(folder / "kafka-pareto-store")
        (folder / "old.properties").write_text("linger.ms=5\nsasl.jaas.config=x password='hunter2';\n")
        (folder / "new.properties").write_text("linger.ms=20\ncompression.type=lz4\n")

    def write(self, *conditions: str, blocks: int = 8) -> None:
        study = small_quick() | {
            "name": "mine",
            "record_sizes_bytes": [1024],
            "workload": {"topic_partitions": 1, "replication_factor": 1, "min_insync_replicas": 1},
            "gate": {"conditions": list(conditions), "blocks": blocks},
        }
        (self.folder / "mine.yaml").write_text(yaml.safe_dump(study))

    def command(self, *options: str, reference: str = "old.properties") -> list[str]:
        files = ["--candidate", "new.properties", *(["--reference", reference] if reference else [])]
        cluster = ["--kafka", self.kafka, "--ceiling-mib-s", "50", "--ceiling-gib", "1"]
        return [sys.executable, "-m", "kafka_pareto_cli", "gate", "mine.yaml", *files, *cluster, *options]

    def start(self, *options: str, **popen: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*options),
            cwd=self.folder,
            env=self.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **popen,
        )

    def run(self, *options: str, reference: str = "old.properties") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options, reference=reference),
            cwd=self.folder,
            env=self.environment(),
            text=True,
            capture_output=True,
            timeout=300,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
        jars = str(self._broker.settings.kafka_jars)
        return {**kept, "PYTHONPATH": f"{ROOT / 'include'}", "KAFKA_PARETO_KAFKA_JARS": jars}


@pytest.fixture
def gate(tmp_path: Path, single_broker: RunningBrokers) -> Gate:
    return Gate(tmp_path, single_broker)


def test_a_gate_is_killed_resumed_and_holds_with_exit_code_0(gate: Gate) -> None:
    gate.write(*SURE)

    def measured() -> list[str]:
        return [key for key in gate.store.keys("_gates/mine/") if "/repetitions/" in key]

    first = gate.start("--yes")
    wait_until("two repetitions are stored", lambda: len(measured()) > 1, 120)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    before = {key: gate.store.get(key) for key in measured()}
    (gate_id,) = gate.store.folders("_gates/mine/")

    done = gate.run("--yes", "--resume", gate_id, "--junit", "gate.xml", "--annotations")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(gate.store.get(key) == content for key, content in before.items())
    assert "Changed    compression.type none to lz4, linger.ms 5 to 20" in done.stdout
    assert re.search(
        r"^  holds  p95_latency_ms < 100000    [\d.,]+ ms \([\d.,]+ ms to [\d.,]+ ms\)$", done.stdout, re.M
    )
    assert "\nHolds: all conditions hold." in done.stdout
    assert (
        "::notice file=new.properties,title=kafka-pareto gate::1,024 B: p95_latency_ms < 100000: holds" in done.stdout
    )
    suite = ET.parse(gate.folder / "gate.xml").getroot()  # noqa: S314  (our own)
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "0")
    everything = done.stdout + done.stderr + "".join(str(gate.store.get(key)) for key in gate.store.keys("_gates/"))
    assert "hunter2" not in everything


def test_a_broken_condition_ends_with_exit_code_1_and_an_undecided_one_with_2(gate: Gate) -> None:
    gate.write("throughput_mib_s > 100000")
    broken = gate.run("--yes", "--json")
    assert broken.returncode == 1, broken.stderr
    result = json.loads(broken.stdout)
    assert (result["verdict"], result["cases"][0]["conditions"][0]["verdict"]) == ("broken", "broken")
    assert result["cases"][0]["blocks"] < 8
    gate.write("p95_latency_ms < 1.0001 * reference", blocks=4)  # so few that chance cannot decide
    (gate.folder / "new.properties").write_text("linger.ms=5\nmax.request.size=1048577\n")
    undecided = gate.run("--yes")
    assert undecided.returncode == 2, undecided.stdout + undecided.stderr
    assert "\nUndecided: too few blocks (gate.blocks)" in undecided.stdout


@pytest.mark.parametrize(
    ("changes", "options", "code", "message"),
    [
        ({}, ["--speed", "9"], 65, "No such option: --speed"),
        ({"new.properties": "linger.ms=5\n"}, ["--yes"], 65, "--candidate: has the same settings as the reference"),
        (
            {"new.properties": "linger.ms=soon\n"},
            ["--yes"],
            65,
            "--candidate: new.properties: invalid producer settings",
        ),
        ({"new.properties": "acks=1\n"}, ["--yes"], 65, "its durability is acks_1, weaker than acks_all_idempotent"),
        ({}, ["--yes", "--candidate", "none.properties"], 65, "none.properties: cannot be read: No such file"),
        ({}, [], 77, "needs your consent"),
    ],
)
def test_bad_input_ends_with_exit_code_65_and_nothing_is_sent(
    gate: Gate, changes: dict[str, str], options: list[str], code: int, message: str
) -> None:
    gate.write(*SURE)
    for name, text in changes.items():
        (gate.folder / name).write_text(text)
    done = gate.run(*options)
    assert done.returncode == code, done.stdout + done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert not gate.store.keys("_gates/")


def test_without_a_reference_or_active_settings_the_gate_asks_for_a_file(gate: Gate) -> None:
    gate.write(*SURE)
    done = gate.run("--yes", reference="")
    assert done.returncode == 65
    assert "--reference: is missing, and study mine has no active settings for 1,024 B in this store" in done.stderr


@needs(shutil.which("go"), "actionlint is built by Go")
def test_the_example_workflow_is_valid() -> None:
    linter = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
    environment = {**os.environ, "GOTOOLCHAIN": "auto", "CGO_ENABLED": "0"}
    argv = [
        "go",
        "run",
        linter,
        "-shellcheck=",
        "-pyflakes=",
        "-ignore",
        'label "kafka-test" is unknown',
        str(WORKFLOW),
    ]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("condition", "code"), [(SURE[0], 0), ("throughput_mib_s > 100000", 1), ("p95_latency_ms < 1.0001 * reference", 0)]
)
def test_the_example_workflows_step_fails_only_if_a_condition_is_broken(gate: Gate, condition: str, code: int) -> None:
    gate.write(condition, blocks=4 if "reference" in condition else 8)
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["gate"]
    (script,) = (step["run"] for step in job["steps"] if step.get("name") == "Gate")
    program = gate.folder / "bin" / "kafka-pareto"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kafka_pareto_cli "$@"\n')
    program.chmod(0o755)
    (gate.folder / "in-use.properties").write_text("linger.ms=5\n")
    (gate.folder / "producer.properties").write_text("linger.ms=5\nmax.request.size=1048577\n")
    (gate.folder / "client.properties").touch()
    (gate.folder / "base").mkdir()
    shutil.copy(gate.folder / "mine.yaml", gate.folder / "base")
    variables = {name: str(value) for name, value in job["env"].items()}
    variables |= gate.environment() | {"SETTINGS": "producer.properties", "STUDIES": ".", "STUDY": "mine.yaml"}
    variables["KAFKA"] = gate.kafka
    variables["PATH"] = f"{program.parent}:{variables['PATH']}"
    # As the service runs a step of this shell.
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(
        argv, cwd=gate.folder, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "title=kafka-pareto gate::1,024 B: " in done.stdout
    assert (gate.folder / "gate.xml").is_file()
