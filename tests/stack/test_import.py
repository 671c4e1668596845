"""A campaign that ran without the stack, brought to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.storage.store import open_store
from tests.golden.kept_campaign import write_kept_campaign
from tests.stack.embedded_stack import EmbeddedStack

pytestmark = [pytest.mark.stack, pytest.mark.studies]


def test_its_explorer_lists_campaigns_of_a_local_run(stack: EmbeddedStack, tmp_path: Path) -> None:
    campaign = write_kept_campaign(tmp_path / "store", "quick")
    command = [sys.executable, "-m", "kafka_pareto_cli", "import", str(tmp_path / "store")]
    done = subprocess.run(
        command, cwd=stack.project, env=stack.environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["imported quick kept", f"Explorer  {stack.stack.airflow_url}/kafka-pareto/"]
    again = subprocess.run(
        [*command, "--json"], cwd=stack.project, env=stack.environment, capture_output=True, timeout=120, check=True
    )
    assert json.loads(again.stdout) == {
        "imported": ["quick kept"],
        "explorer": f"{stack.stack.airflow_url}/kafka-pareto/",
    }
    theirs, keys = open_store(stack.stack.settings()), campaign.keys
    assert ("quick", "kept") in [(entry.study, entry.campaign) for entry in list_campaigns(theirs)]
    assert theirs.keys("quick/kept/") == campaign.store.keys("quick/kept/")
    assert theirs.get(keys.frozen_study()) == campaign.store.get(keys.frozen_study())
    for key in theirs.keys("quick/kept/"):  # other tests look at the stack, too
        theirs.delete(key)
