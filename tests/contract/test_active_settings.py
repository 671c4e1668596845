"""The active settings, in a folder and in a real MinIO, moved by the steps' command lines."""

from __future__ import annotations

import json
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.versions import active_cases, active_settings, add_version, versions, write_files
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store
from kafka_pareto.study.options import Wanted
from tasks.common import run_command
from tests.step_command import run_step
from tests.tasks.accepting import (
    CASE,
    OTHER_CASE,
    STUDY,
    accepted,
    accepting_campaign,
    durable_id,
    in_store,
    other_id,
)

ROOT = Path(__file__).parent.parent.parent


def test_versions_files_and_the_rollback_are_the_same_in_every_store(
    store: Store, reported_store: Path, tmp_path: Path
) -> None:
    campaign = in_store(accepting_campaign(reported_store, tmp_path / "campaign"), store)
    folder = FolderStore(tmp_path / "campaign")
    for key in folder.keys(STUDY):
        store.put(key, folder.get(key))
    assert active_cases(store, STUDY) == []
    assert active_settings(store, STUDY, CASE) is None
    for name in (durable_id(campaign), other_id(campaign)):
        accepted(campaign, Wanted(case=CASE, configuration=name))
    roll_back.run(store, STUDY, CASE)
    kept = versions(store, STUDY, CASE)
    assert [settings.version for settings in kept] == [1, 2, 3]
    assert active_settings(store, STUDY, CASE) == kept[-1]
    assert active_cases(store, STUDY) == [CASE]
    told = parse_properties(store.get(f"_in_force/{STUDY}/{CASE}/producer.properties").decode())
    assert told["linger.ms"] == str(kept[0].properties["linger.ms"])
    with pytest.raises(BadInputError, match=r"versions/00003.json: was written in the meantime"):
        add_version(store, kept[-1].model_copy(update={"reason": "of somebody else"}))
    add_version(store, kept[-1])  # as after an answer that was lost
    before = store.keys("_in_force/")
    write_files(store, STUDY, OTHER_CASE)
    assert store.keys("_in_force/") == before


@pytest.mark.servers
def test_both_steps_run_by_their_argv_and_take_any_words_as_words(reported_store: Path, tmp_path: Path) -> None:
    campaign = accepting_campaign(reported_store, tmp_path)
    picked = [
        f"--campaign={campaign.keys.campaign}",
        f"--case={CASE}",
        f"--configuration={durable_id(campaign)}",
        "--answer=approve",
        "--by=alice",
        "--answered-at=2026-11-22T01:02:03.000004+00:00",
        "--request=manual__2026-11-22T01:02:03+00:00",
        '--reason=--record-size=1 {{ 1+1 }} "quoted"; rm -rf /\n\x1b[31mred',
    ]
    refused = run_step("accept", tmp_path, *picked)
    assert "the system cannot be reached now" in refused.stderr, "there is no cluster here"
    seen = refused.stderr.split("--changes-seen=")[1][:10]
    done = run_step("accept", tmp_path, *picked, f"--changes-seen={seen}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["cases"] == [CASE]
    settings = active_settings(campaign.store, STUDY, CASE)
    assert settings
    assert settings.reason == '--record-size=1 {{ 1+1 }} "quoted"; rm -rf / [31mred'
    assert settings.request == "manual__2026-11-22T01:02:03+00:00"
    gone = run_step("roll_back", tmp_path, f"--case={OTHER_CASE}", "--by=", "--reason=", "--request=")
    assert gone.returncode == EXIT_BAD_INPUT
    assert gone.stderr.startswith("error: --case: 1024: it has no active settings")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["roll_back"], EXIT_BAD_INPUT, "error: --case is missing"),
        (["accept", "--case=1024"], 2, "Error: Missing option '--campaign'"),
        (["accept", "--campaign=c1", "--case=1024"], EXIT_BAD_INPUT, "error: there is no campaign paper/c1 in the"),
        (["accept", "--campaign=c1", "--answered-at=noon"], EXIT_BAD_INPUT, "error: --answered-at=noon: must be"),
        (
            ["accept", "--campaign=c1", "--changes-seen=../up"],
            EXIT_BAD_INPUT,
            "error: --changes-seen=../up: must be",
        ),
    ],
)
def test_an_invalid_argument_is_reported_in_the_last_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    exit_code: int,
    said: str,
) -> None:
    step, *options = arguments
    monkeypatch.setenv("KAFKA_PARETO_STORE_FOLDER", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [step, "--study", STUDY, *options])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # a step's own, not these tests'
    with pytest.raises(SystemExit) as refused:
        run_command(import_module(f"tasks.{step}").main)
    assert refused.value.code == exit_code
    assert capsys.readouterr().err.splitlines()[-1].startswith(said)
