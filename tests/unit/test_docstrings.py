"""Docstrings begin with their statement, not with a question word."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
FOLDERS = ("include", "dags", "tasks", "plugins", "benchmarks", "docs")
_QUESTION = re.compile(r"(What|Whether|Of|How|Why|Where|When)\b")


@pytest.mark.slow
def test_no_docstring_begins_with_a_question_word() -> None:
    found = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if _QUESTION.match(text):
                    found.append(f"{path.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert found == [], "begin with a verb, and say what comes out"
