"""Exit codes of steps and commands; 65, 75 and 77 follow sysexits.h."""

from __future__ import annotations

from collections.abc import Mapping

EXIT_USAGE = 2  # an option is unknown, missing or malformed
EXIT_BAD_INPUT = 65  # the user must fix the input; a retry cannot help
EXIT_SOFTWARE = 70  # an error of this program, where 1 has a meaning of its own
EXIT_TEMPORARY = 75  # a later retry may succeed
EXIT_NO_CONSENT = 77  # the user must give consent; a retry cannot help

EXIT_OF_GATE: Mapping[str, int] = {"holds": 0, "broken": 1, "undecided": 2}
"""Exit codes of `kafka-pareto gate` by its verdict."""

EXIT_OF_USE: Mapping[str, int] = {"in use": 0, "not in use": 1, "inconclusive": 2}
"""Exit codes of `kafka-pareto verify`, by the worst of a topic's producers."""

EXIT_OF_OUTCOME: Mapping[str, int] = {"changed": 0, "kept": 10, "undecided": 11}
"""Optional exit codes of `make run` and `make result` by the campaign's outcome."""
