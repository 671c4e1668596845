"""Decides what becomes of tests for which a program is missing: they are skipped, but in CI they fail."""

from __future__ import annotations

import os

import pytest


def is_required() -> bool:
    """Says whether all that tests need must be there: in CI."""
    return bool(os.environ.get("CI") or os.environ.get("KAFKA_PARETO_REQUIRE_ALL"))


def needs(is_there: object, reason: str) -> pytest.MarkDecorator:
    """Returns the mark of a test that needs something: where it is not there, the test is skipped, or fails in CI."""
    return pytest.mark.skipif(not is_there and not is_required(), reason=reason)


def require(what: str, reason: str) -> None:
    """Skips the test, or fails it in CI, if there is a reason why this cannot be tested."""
    if reason and is_required():
        pytest.fail(f"{what} cannot be tested: {reason}")
    if reason:
        pytest.skip(reason)
