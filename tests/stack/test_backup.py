"""A stack whose campaign is interrupted, backed up, and restored in another folder, on other ports."""

from __future__ import annotations

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.storage.store import open_store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.stack.stack import Stack
from tests.small_quick import small_quick
from tests.stack.embedded_stack import CAMPAIGN_BEGINS, embedded_stack

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(900)]


def started_at(stack: Stack, campaign_id: str) -> dict[str, str]:
    """When each repetition of the design began."""
    campaign = Campaign.open(open_store(stack.settings()), "moved", campaign_id)
    repetitions = campaign.read_repetitions(campaign.keys.measurements("1024"))
    return {each.repetition_id: str(each.started_at) for each in repetitions}


def test_a_campaign_continues_on_a_stack_restored_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("moved")
    studies, file = folder / "studies", folder / "stack.tar.gz"
    studies.mkdir()
    content = small_quick() | {"name": "moved", "record_sizes_bytes": [1024]}
    content["confirmation"] |= {"points": 2, "choice_blocks": 1, "gain_blocks": 4, "minimum_blocks": 4}
    (studies / "moved.yaml").write_text(yaml.safe_dump(content))
    with embedded_stack(folder / "first") as first:
        first.environment["KAFKA_PARETO_STUDIES"] = str(studies)
        code, first.output = first.command("up")
        assert code == 0, first.output
        running = first.begin("run", STUDY="moved")
        assert running.stdout is not None
        campaign_id = next(begins[1] for line in running.stdout if (begins := CAMPAIGN_BEGINS.match(line)))
        store, stored = open_store(first.stack.settings()), CampaignKeys("moved", campaign_id).measurements("1024")
        wait_until("repetitions are stored", lambda: len(store.keys(stored)) >= 2, 120)
        code, said = first.command("backup", FILE=str(file))
        assert (code, file.exists()) == (75, False)
        assert "error: the stack is up, so its files may change" in said
        running.kill()
        before = started_at(first.stack, campaign_id)
        assert first.command("down")[0] == 0
        code, said = first.command("backup", FILE=str(file))
        assert code == 0, said
        secrets, cluster_id = (first.state / "secrets.env").read_text(), first.stack.settings().own_cluster_id
    with embedded_stack(folder / "second") as second:
        second.environment["KAFKA_PARETO_STUDIES"] = str(studies)
        code, said = second.command("restore", FILE=str(file))
        assert code == 0, said
        code, said = second.command("up")
        assert code == 0, said
        assert second.stack.settings().own_cluster_id == cluster_id
        assert (second.state / "secrets.env").read_text() == secrets
        code, said = second.command("run", STUDY="moved", CAMPAIGN=campaign_id, timeout_s=500)
        assert code == 0, said
        assert started_at(second.stack, campaign_id).items() >= before.items()
