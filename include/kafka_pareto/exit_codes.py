"""Exit codes of steps and commands; 65, 75 and 77 follow sysexits.h."""

from __future__ import annotations

from collections.abc import Mapping

EXIT_USAGE = 2  # an option is unknown, missing or malformed
EXIT_BAD_INPUT = 65  # the user must fix the input; a retry cannot help
EXIT_TEMPORARY = 75  # a later retry may succeed
EXIT_NO_CONSENT = 77  # the user must give consent; a retry cannot help

EXIT_OF_OUTCOME: Mapping[str, int] = {"changed": 0, "kept": 10, "undecided": 11}
"""Optional exit codes of `make run` and `make result` by the campaign's outcome."""
