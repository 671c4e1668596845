"""Reads why rounds stopped from records of schema version 3, which held it as a sentence."""

from __future__ import annotations

import re
from typing import Any

_CODES = {
    r"rounds \d+ and \d+ raised the measured hypervolume by (?P<rise>.+)% together, "
    r"less than rounds\.least_rise_fraction \((?P<least_rise>.+)%\)": "rise_too_small",
    r"round \d+ is the study's last \(rounds\.maximum\)": "last_round",
    "no configuration that was not measured is expected to add anything": "nothing_left",
}


def stop_of_version_3(found: Any) -> Any:
    """Returns the code and the numbers of a sentence; whatever is no sentence is returned as it is.

    The numbers have as many digits as the sentence had.

    Raises:
        ValueError: If no release wrote such a sentence.
    """
    if not isinstance(found, str):
        return found
    if not found:
        return None
    for pattern, code in _CODES.items():
        if told := re.fullmatch(pattern, found):
            percents = told.groupdict()
            return {"code": code, **{f"{name}_fraction": float(value) / 100 for name, value in percents.items()}}
    raise ValueError("is no reason to stop of version 3")
