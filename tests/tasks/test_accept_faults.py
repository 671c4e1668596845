"""The active settings when whoever moves it is killed, or is not alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.rollout.client_files import client_files
from kafka_pareto.rollout.versions import active_settings_with_files, file_of, versions
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.options import Wanted
from tests.tasks.accepting import (
    CASE,
    OTHER_CASE,
    STUDY,
    accepted,
    decision_of,
    durable_id,
    exported,
    in_store,
    newest,
    other_id,
    pick,
)

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def is_file(key: str) -> bool:
    """Return whether clients read this file."""
    return key.startswith("_in_force/") and "/versions/" not in key


class KilledBeforeTheFiles(FolderStore):
    """The kernel kills whoever begins to write a producer's file."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        if is_file(key):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put_if(key, content, tag)


def killed(dying: Campaign, wanted: Wanted) -> None:
    child = multiprocessing.get_context("fork").Process(target=accepted, args=(dying, wanted))
    child.start()
    child.join(30)
    assert child.exitcode == -signal.SIGKILL


def killed_between_version_and_files(campaign: Campaign, wanted: Wanted) -> None:
    killed(in_store(campaign, KilledBeforeTheFiles(campaign.store._folder)), wanted)


def test_after_a_kill_between_version_and_files_the_retry_adds_the_files_alone(campaign: Campaign) -> None:
    wanted = Wanted(request="manual__1")
    killed_between_version_and_files(campaign, wanted)
    assert newest(campaign).version == 1
    assert campaign.store.tag(f"_in_force/{STUDY}/{CASE}/producer.properties") is None
    manifest = accepted(campaign, wanted)
    assert (len(versions(campaign.store, STUDY, CASE)), manifest.cases) == (1, [CASE])
    assert exported(campaign)["batch.size"] == str(newest(campaign).properties["batch.size"])


def test_a_refused_run_of_the_other_step_repairs_the_files_too(campaign: Campaign) -> None:
    killed_between_version_and_files(campaign, Wanted())
    with pytest.raises(BadInputError):
        roll_back.run(campaign.store, STUDY, OTHER_CASE)
    assert exported(campaign)["batch.size"] == str(newest(campaign).properties["batch.size"])


def test_a_record_size_that_cannot_be_read_blocks_itself_alone(campaign: Campaign) -> None:
    campaign.store.put(InForceKeys(STUDY, OTHER_CASE).version(1), b"{damaged")
    accepted(campaign, pick(durable_id(campaign)))
    roll_back.run(campaign.store, STUDY, CASE)
    assert newest(campaign).version == 2
    with pytest.raises(ArtifactError, match=r"1024/versions/00001\.json"):
        roll_back.run(campaign.store, STUDY, OTHER_CASE)
    with pytest.raises(ArtifactError, match=r"1024/versions/00001\.json"):
        accepted(campaign, Wanted())


class LosesAnswers(FolderStore):
    """Repeats the request after the write, like an HTTP client that got no answer."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        super().put_if(key, content, tag)
        return super().put_if(key, content, tag)


def test_an_answer_of_the_store_that_was_lost_makes_nobody_faster(campaign: Campaign) -> None:
    losing = in_store(campaign, LosesAnswers(campaign.store._folder))
    assert accepted(losing, Wanted()).cases == [CASE]
    assert roll_back.run(losing.store, STUDY, CASE).cases == [CASE]
    assert newest(campaign).version == 2


class WritingTogether(FolderStore):
    """Nobody writes a version before both have decided which one they write."""

    both = Barrier(2)

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        if not is_file(key):
            self.both.wait(30)
        return super().put_if(key, content, tag)


def test_of_two_concurrent_runs_one_wins_and_the_other_is_asked_to_look_again(campaign: Campaign) -> None:
    together = in_store(campaign, WritingTogether(campaign.store._folder))
    picks = [durable_id(campaign), other_id(campaign)]

    def contend(name: str) -> str:
        try:
            accepted(together, pick(name))
        except BadInputError as error:
            return str(error)
        return name

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(contend, picks))
    [winner] = [name for name in picks if name in outcomes]
    [error] = [text for text in outcomes if text != winner]
    assert "versions/00001.json: was written in the meantime; review the active settings for 65,636 B" in error
    assert [settings.configuration_id for settings in versions(campaign.store, STUDY, CASE)] == [winner]
    assert exported(campaign)["batch.size"] == str(newest(campaign).properties["batch.size"])


class Overtaken(FolderStore):
    """Somebody goes back between a version and its files, and is done with both first."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        other = FolderStore(self._folder)
        if is_file(key) and len(versions(other, STUDY, CASE)) == 1:
            roll_back.run(other, STUDY, CASE)
        return super().put_if(key, content, tag)


def test_files_that_were_overtaken_while_they_were_written_end_as_the_newest_version(campaign: Campaign) -> None:
    accepted(in_store(campaign, Overtaken(campaign.store._folder)), Wanted())
    assert newest(campaign).is_baseline
    assert exported(campaign)["linger.ms"] == str(newest(campaign).properties["linger.ms"])
    assert exported(campaign)["linger.ms"] != str(decision_of(campaign).recommended_properties["linger.ms"])


class OvertakenAndKilled(Overtaken):
    """The kernel kills the one that was overtaken once it has tried to write its file."""

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        written = super().put_if(key, content, tag)
        if is_file(key):
            os.kill(os.getpid(), signal.SIGKILL)
        return written


def test_a_paused_writer_never_leaves_an_older_file_next_to_a_newer_version(
    campaign: Campaign,
) -> None:
    killed(in_store(campaign, OvertakenAndKilled(campaign.store._folder)), Wanted())
    assert newest(campaign).version == 2
    for name in client_files(newest(campaign).driver):
        assert campaign.store.get(f"_in_force/{STUDY}/{CASE}/{name}").decode() == file_of(newest(campaign), name)


def test_a_file_that_a_killed_writer_left_behind_is_written_at_the_next_reading(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    stale = {name: campaign.store.get(f"_in_force/{STUDY}/{CASE}/{name}") for name in client_files("producer")}
    roll_back.run(campaign.store, STUDY, CASE)
    for name, content in stale.items():
        campaign.store.put(f"_in_force/{STUDY}/{CASE}/{name}", content)
    assert exported(campaign)["linger.ms"] == str(decision_of(campaign).recommended_properties["linger.ms"])

    settings = active_settings_with_files(campaign.store, STUDY, CASE)

    assert settings == newest(campaign)
    for name in stale:
        text = campaign.store.get(f"_in_force/{STUDY}/{CASE}/{name}").decode()
        assert "# Version 2 since " in text.splitlines()[1]
        assert text == file_of(newest(campaign), name)
