"""The ends of the commands' help: examples and exit codes."""

from __future__ import annotations

EXIT_CODES = (
    "Exit codes: 0 done, 1 a step failed, 2 unknown option, 65 bad input, 75 temporarily unavailable, 77 your "
    "consent is needed, 130 interrupted, 143 terminated."
)
RESULT_CODES = f"{EXIT_CODES} With --exit-code: 0 a change is recommended, 10 no change, 11 inconclusive."

_OTHER_CODES = (
    "65 bad input or unknown option, 70 an error of this program, 75 temporarily unavailable, 77 your consent is "
    "needed, 130 interrupted, 143 terminated."
)
VERIFY_CODES = f"Exit codes: 0 all producers use the settings, 1 some do not, 2 some are inconclusive, {_OTHER_CODES}"
GATE_CODES = (
    "Exit codes: 0 all conditions hold, 1 a condition is broken, 2 undecided within the study's gate.blocks, "
    f"{_OTHER_CODES}"
)


def ends(*examples: str, exit_codes: str = EXIT_CODES) -> str:
    """Return the end of a command's help: its examples, one per line, and the exit codes."""
    return "\n\n".join(["Examples:", *(f"  kafka-pareto {example}" for example in examples), exit_codes])
