"""The report step, run by its command line, over different campaigns, without its tracking server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import TrackingError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.report.reasons import reason_of
from kafka_pareto.steps import report
from tests.step_command import run_step
from tests.tasks.report_campaign import CAMPAIGN, read, small_study, write_confirmed_campaign

pytestmark = [pytest.mark.servers, pytest.mark.studies]  # each redraws all figures, which takes seconds


@pytest.fixture
def unreported(tmp_path: Path) -> Campaign:
    """A confirmed campaign without a report."""
    return write_confirmed_campaign(tmp_path, small_study())


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, str]:
    """A campaign reported by the command line, and what that said."""
    folder = tmp_path_factory.mktemp("reported")
    campaign = write_confirmed_campaign(folder, small_study())
    ran = run_step("report", folder, "--campaign", CAMPAIGN)
    assert ran.returncode == 0, ran.stderr
    return campaign, ran.stdout


def test_the_steps_output_ends_with_its_cards_and_its_manifest(reported: tuple[Campaign, str]):
    campaign, said = reported
    *shown, last = said.splitlines()
    manifest = Manifest.model_validate_json(last)
    assert manifest.counts["cards"] == 2
    assert set(manifest.artifacts) <= set(campaign.store.keys(""))
    assert "\n".join(shown).strip().endswith(read(campaign, "cards.txt").strip())


def test_the_manifest_carries_the_verdicts_for_other_dags_and_a_notice_for_people(reported: tuple[Campaign, str]):
    campaign, said = reported
    manifest = Manifest.model_validate_json(said.splitlines()[-1])
    cards = json.loads(read(campaign, "cards.json"))["cards"]
    decided = manifest.event["cases"]
    assert (manifest.event["study"], manifest.event["campaign"]) == ("paper", CAMPAIGN)
    assert {size: found["verdict"] for size, found in decided.items()} == {
        str(card["case"]): card["verdict"] for card in cards
    }
    for card in cards:
        assert "reasons" not in card  # a sentence is made where it is shown
        found = decided[str(card["case"])]
        recommended = card["verdict"] == "recommended"
        settings = card["pick_properties" if recommended else "baseline_properties"]
        reasons = [reason_of(Decision.model_validate(card))]
        assert (found["properties"], found["reasons"]) == (settings, reasons)
        assert all(reason in manifest.notice.text for reason in reasons)
    assert manifest.notice.kind == ("finished" if manifest.counts["recommended"] else "no_gain")
    assert "\n" not in manifest.notice.subject


def test_figures_are_pictures_and_the_same_evidence_draws_the_same_ones(
    reported: tuple[Campaign, str], unreported: Campaign
):
    campaign, _ = reported
    names = [key for key in campaign.store.keys(campaign.keys.report("figures/")) if key.endswith(".png")]
    figures = [campaign.store.get(name) for name in names]
    report.run(unreported)
    assert len(figures) == 7
    assert all(content.startswith(b"\x89PNG") for content in figures)
    assert [unreported.store.get(name) for name in names] == figures


def test_a_campaign_that_was_not_confirmed_is_named_in_one_clear_line(unreported: Campaign, tmp_path: Path):
    unreported.store.delete(unreported.keys.confirmation("1024", "decision.json"))
    ran = run_step("report", tmp_path, "--campaign", CAMPAIGN)
    assert ran.returncode == 65
    assert "06_confirmation/1024/decision.json: is not in the store" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_outage_of_mlflow_does_not_hide_the_cards(
    unreported: Campaign, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def refuse(*_: object) -> None:
        raise TrackingError("MLflow cannot be reached")

    monkeypatch.setattr(report.campaign_runs, "log_report", refuse)
    with caplog.at_level("INFO"), pytest.raises(TrackingError):
        report.run(unreported)
    assert read(unreported, "cards.txt") in caplog.text


def test_weaker_fronts_are_shown_separately_and_not_recommended(tmp_path: Path):
    campaign = write_confirmed_campaign(tmp_path, small_study(durability=None))
    report.run(campaign)
    assert "Weaker durability than the study accepts" in read(campaign, "report.html")
    for size in campaign.study.cases:
        assert parse_properties(read(campaign, f"{size}/producer.properties"))["acks"] == "all"


def test_two_blocks_report_not_enough_evidence_and_keep_the_baseline(tmp_path: Path):
    study = small_study()
    protocol = study.protocol.model_copy(update={"minimum_valid_repetitions": 2, "repetitions": 2})
    confirmation = study.confirmation.model_copy(update={"choice_blocks": 2, "gain_blocks": 2})
    short = study.model_copy(update={"protocol": protocol, "confirmation": confirmation})
    campaign = write_confirmed_campaign(tmp_path, short, blocks=2)
    manifest = report.run(campaign)
    assert manifest.counts["recommended"] == 0
    verdicts = {card["verdict"] for card in json.loads(read(campaign, "cards.json"))["cards"]}
    assert "keep_not_enough_evidence" in verdicts
    assert "not enough evidence" in read(campaign, "report.html")
    for size in campaign.study.cases:
        assert parse_properties(read(campaign, f"{size}/producer.properties"))["batch.size"] == "16384"
