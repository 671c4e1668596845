"""Any study file is a study or a StudyError: never another exception, never a silent change."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.errors import StudyError
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, load_study, parse_study
from tests.recorded import FIXTURES, STUDIES

pytestmark = [pytest.mark.fast, pytest.mark.slow]

TEXTS = [path.read_text() for path in [*STUDIES.glob("*.yaml"), *(FIXTURES / "studies" / "good").glob("*.yaml")]]
TEXTS = sorted(TEXTS, key=len)
CONTENTS = [yaml.safe_load(text) for text in TEXTS]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300_000)
    | st.integers()
    | st.floats()
    | st.sampled_from(["random", "acks", "batch.size", "steady", "1", "all", "latin_hypercube", "record.size <= 5", ""])
    | st.text(max_size=20)
    | st.dates()
    | st.binary(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


def places(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to everything in the content but itself."""
    found = [at] if at else []
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        found += places(value, (*at, key))
    return found


@st.composite
def altered_studies(draw: st.DrawFn) -> str:
    """A study with one to three of its keys dropped, renamed, exchanged or given another value."""
    content = copy.deepcopy(draw(st.sampled_from(CONTENTS)))
    for _ in range(draw(st.integers(1, 3))):
        *path, key = draw(st.sampled_from(places(content)))
        parent = content
        for part in path:
            parent = parent[part]
        change = draw(st.sampled_from(["drop", "rename", "replace", "retype", "exchange"]))
        if change == "replace":
            parent[key] = draw(values)
        elif change == "retype":
            parent[key] = draw(st.sampled_from([str(parent[key]), [parent[key]], {"value": parent[key]}]))
        elif change == "exchange":
            other = draw(st.sampled_from(places(content)))
            parent[key] = copy.deepcopy(_at(content, other))
        else:
            value = parent.pop(key)
            if change == "rename" and isinstance(parent, dict):
                parent[draw(st.text(max_size=8) | st.just(f"{key}s"))] = value
    return yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=draw(st.booleans()))


@st.composite
def altered_texts(draw: st.DrawFn) -> str:
    """The text of a study truncated, with a part removed, or with text inserted."""
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, len(text)))
    end = draw(st.sampled_from([start, len(text)]) | st.integers(start, min(start + 30, len(text))))
    tags = ["!!int x", "!!timestamp x", "!!bool x", "!!set {a}", "&a [*a]", "<<: 5", "2026-13-45", "1:99", "[", "\t"]
    return text[:start] + draw(st.sampled_from(tags) | st.text(max_size=10)) + text[end:]


def _at(content: Any, place: tuple[Any, ...]) -> Any:
    for part in place:
        content = content[part]
    return content


@settings(max_examples=200, derandomize=True, deadline=None)
@given(altered_studies() | altered_texts() | st.text(max_size=200))
def test_any_file_is_a_study_that_survives_freezing_or_one_clear_error(text: str) -> None:
    found = study_or_refusal(text)

    if isinstance(found, StudyError):
        assert found.problems
        assert str(found).startswith("given.yaml: ")
    else:
        assert parse_study(dump_study(found), "frozen") == found


def study_or_refusal(text: str) -> Study | StudyError:
    try:
        return parse_study(text, "given.yaml", FIXTURES / "studies" / "good")
    except StudyError as refused:
        return refused


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name: \x00", b"", b"a: " + b"[" * 1_000], ids=range(4))
def test_bytes_that_are_no_study_are_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "given.yaml"
    path.write_bytes(content)

    with pytest.raises(StudyError) as refused:
        load_study(path)
    assert len(str(refused.value)) < 1000
