"""Compare conclusions from stored data with the stored ones, byte for byte, except for intended differences.

Decisions, cards, fronts, reports and the explorer's answers, computed again from a store of an earlier release and
from the kept campaigns. README.md says what to do if a difference is intended.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from tests.golden.recompute import FAST, SLOW, Texts, expected

_FILES_SHOWN, _LINES_SHOWN = 4, 30


@dataclass(frozen=True)
class Difference:
    """An intended difference from the files below `expected/`.

    Attributes:
        where: Pattern of the artifacts that differ, as `<part>/<key>` (`*` matches slashes too).
        before: Regular expression of the stored text.
        now: The replacement, with the expression's groups.
        why: One sentence.
        in_key: The artifact's key differs, not its content.
    """

    where: str
    before: str
    now: str
    why: str
    in_key: bool = False


INTENDED_DIFFERENCES: list[Difference] = []


def with_differences(part: str, stored: Texts, differences: list[Difference]) -> Texts:
    """Returns what is to come out today: the stored artifacts with all that is meant to be different."""
    texts = dict(stored)
    for difference in differences:
        changed = {}
        for key, text in texts.items():
            of_it = fnmatch.fnmatch(f"{part}/{key}", difference.where)
            new_key = re.sub(difference.before, difference.now, key) if of_it and difference.in_key else key
            inside = of_it and not difference.in_key
            changed[new_key] = re.sub(difference.before, difference.now, text, flags=re.M) if inside else text
        texts = changed
    return texts


def differences_text(part: str, wanted: Texts, found: Texts) -> str:
    """Lists the first differences of the first artifacts that differ."""
    differing = [key for key in sorted({*wanted, *found}) if wanted.get(key) != found.get(key)]
    lines = [f"{part}: {len(differing)} of {len({*wanted, *found})} artifacts differ"]
    for key in differing[:_FILES_SHOWN]:
        before, after = (texts.get(key, "").splitlines() for texts in (wanted, found))
        names = (f"expected/{part}/{key}.txt" if key in wanted else "(nothing)", key if key in found else "(nothing)")
        diff = difflib.unified_diff(before, after, *names, lineterm="", n=1)
        lines += [line[:200] for line in islice(diff, _LINES_SHOWN)]
    lines += [f"and {key}" for key in differing[_FILES_SHOWN:]]
    return "\n".join([*lines, "", "tests/golden/README.md tells what to do where this is meant."])


def compare(part: str, found: Texts) -> None:
    wanted = with_differences(part, expected(part), INTENDED_DIFFERENCES)
    assert wanted, f"nothing is stored of {part}"
    if wanted != found:
        pytest.fail(differences_text(part, wanted, found), pytrace=False)


@pytest.fixture(autouse=True)
def _no_tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize("part", FAST)
def test_conclusions_from_stored_data_are_unchanged(part: str, tmp_path: Path) -> None:
    compare(part, FAST[part](tmp_path))


@pytest.mark.servers
@pytest.mark.parametrize("part", SLOW)
def test_reports_of_stored_data_are_unchanged(part: str, tmp_path: Path) -> None:
    compare(part, SLOW[part](tmp_path))


@pytest.mark.fast
@pytest.mark.parametrize("difference", INTENDED_DIFFERENCES, ids=lambda each: each.why)
def test_every_intended_difference_is_one_still(difference: Difference) -> None:
    earlier = INTENDED_DIFFERENCES[: INTENDED_DIFFERENCES.index(difference)]
    for part in (*FAST, *SLOW):
        before = with_differences(part, expected(part), earlier)
        if with_differences(part, before, [difference]) != before:
            return
    pytest.fail(f"matches nothing that is stored; take it out: {difference}")


@pytest.mark.fast
def test_an_intended_difference_changes_only_its_own_place_in_the_expected_result() -> None:
    stored = {"a/cards.txt": "KEEP\nmoved KEEP", "b.json": "KEEP"}
    inside = Difference("reported/a/*", "^KEEP$", "LEAVE", "plainer")
    moved = Difference("reported/*", "^a/", "x/", "a better room", in_key=True)

    assert with_differences("reported", stored, [inside, moved]) == {
        "x/cards.txt": "LEAVE\nmoved KEEP",
        "b.json": "KEEP",
    }
    assert with_differences("decided", stored, [inside, moved]) == stored


@pytest.mark.fast
def test_a_difference_is_shown_with_its_file_and_both_lines() -> None:
    text = differences_text("decided", {"k/decision.json": "a\nold\n", "gone": "x"}, {"k/decision.json": "a\nnew\n"})

    assert "2 of 2 artifacts differ" in text
    assert "--- expected/decided/k/decision.json.txt" in text
    assert "-old\n+new" in text
    assert "+++ (nothing)" in text
